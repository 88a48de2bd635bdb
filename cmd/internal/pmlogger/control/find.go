package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmapi"
)

// A Logger is a pmlogger that accepts control requests.
type Logger struct {
	PID     int    // Primary for the entry of the primary one
	Port    int    // of TCP
	Name    string // of its port file or instance: the process number, or "primary"
	Host    string // host whose metrics it records; "" if not known
	Archive string // archive that it writes; "" if not known
}

const (
	// primaryName is the name of the port file of the primary pmlogger (PM_LOG_PRIMARY_LINK).
	primaryName = "primary"
	// maxPortFile limits the bytes read of a port file, which has three lines.
	maxPortFile = 3 * 4096
)

// IsLocal reports whether a host specification names this host (__pmIsLocalhost).
func IsLocal(ctx context.Context, host string) (bool, error) {
	if strings.EqualFold(host, "localhost") || strings.HasPrefix(host, "local:") || strings.HasPrefix(host, "unix:") {
		return true, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return false, err
	}
	own, err := lookup(ctx, name)
	if err != nil {
		return false, nil // indistinguishable
	}
	theirs, err := lookup(ctx, host)
	if err != nil {
		return false, err
	}
	for _, addr := range own {
		if slices.Contains(theirs, addr) {
			return true, nil
		}
	}
	return false, nil
}

// Local returns the running pmlogger processes of this host with a port file: all of them, or the
// one with a number, sorted by file name.
func (d *Dialer) Local(pid int) ([]Logger, error) {
	if pid != AllPIDs && pid != Primary && !processExists(pid) {
		return nil, nil
	}
	dir := filepath.Join(d.config().Get("PCP_TMP_DIR"), "pmlogger")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		d.warnf("scandir: %s", errnoText(err))
		return nil, err
	}
	var list []Logger
	for _, e := range entries {
		name := e.Name()
		switch pid {
		case AllPIDs:
			if !isPortFile(name) {
				continue
			}
		case Primary:
			if name != primaryName {
				continue
			}
		default:
			if name != strconv.Itoa(pid) {
				continue
			}
		}
		if l, ok := d.readPortFile(filepath.Join(dir, name), name); ok {
			list = append(list, l)
		}
	}
	return list, nil
}

// warnf reports a message in the format of the C library.
func (d *Dialer) warnf(format string, args ...any) {
	if d.Warn != nil {
		d.Warn("__pmLogFindLocalPorts: " + fmt.Sprintf(format, args...))
	}
}

// errnoText returns the message of the errno that err wraps.
func errnoText(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return pcp.Error(-int32(errno)).Error()
	}
	return err.Error()
}

// isPortFile reports whether a name is that of the primary pmlogger, or begins with the number of a
// running process.
func isPortFile(name string) bool {
	if pid, _ := leadingInt(name); pid > 1 {
		return processExists(pid)
	}
	return name == primaryName
}

// leadingInt is strtol(3), truncated to a C int, and returns the rest of the text.
func leadingInt(s string) (n int, rest string) {
	i := ctext.SkipSpace(s, 0)
	start := i
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	end := ctext.Digits(s, i)
	if end == i {
		return 0, s
	}
	v, _ := strconv.ParseInt(s[start:end], 10, 64) // the limit if it does not fit
	return int(int32(v)), s[end:]
}

// processExists reports whether there is a process, even of another user.
func processExists(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// readPortFile reads the file of a pmlogger: its port, the host of the metrics, and the
// archive, one per line. It reports whether it has a port; it has reported any error.
func (d *Dialer) readPortFile(path, name string) (l Logger, ok bool) {
	b, err := readSmall(path)
	if err != nil {
		d.warnf("pmlogger port file %s: %s", path, errnoText(err))
		return l, false
	}
	if len(b) == 0 {
		d.warnf("pmlogger port file %s empty!", path)
		return l, false
	}
	lines := bufio.NewReader(bytes.NewReader(b))
	line, _ := lines.ReadString('\n')
	var rest string
	if l.Port, rest = leadingInt(line); rest != "\n" {
		d.warnf("pmlogger port file %s: no port number", path)
		return l, false
	}
	l.Name = name
	if l.PID, rest = leadingInt(name); rest != "" {
		if name != primaryName {
			d.warnf("unrecognised pmlogger port file %s", path)
			return l, false
		}
		l.PID = Primary
	}
	for _, field := range []struct {
		what string
		to   *string
	}{{"PMCD host name", &l.Host}, {"archive base pathname", &l.Archive}} {
		line, _ := lines.ReadString('\n')
		if line == "" {
			d.warnf("pmlogger port file %s: no %s", path, field.what)
			break
		}
		*field.to = ctext.String(strings.TrimSuffix(line, "\n"))
	}
	return l, true
}

// readSmall reads a regular file, up to a limit, in a directory that others may write to. It does
// not block on other kinds of files.
func readSmall(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case st.IsDir():
		return nil, syscall.EISDIR
	case !st.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	return io.ReadAll(io.LimitReader(f, maxPortFile))
}

// Remote returns the pmlogger processes that the collector of another host lists.
func Remote(ctx context.Context, c *pmapi.Context, pid int) ([]Logger, error) {
	ids, err := c.LookupName(ctx, "pmcd.pmlogger.port")
	if err != nil {
		return nil, err
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	vs := &res.Sets[0]
	if vs.Err < 0 {
		return nil, vs.Err
	}
	var list []Logger
	for i := range vs.Values {
		inst := int(vs.Values[i].Inst)
		if inst == 1 || pid != AllPIDs && inst != pid { // 1 is historical
			continue
		}
		name, err := c.NameInDom(ctx, desc.InDom, int32(inst))
		if err != nil {
			return nil, err
		}
		list = append(list, Logger{PID: inst, Port: int(int32(vs.Values[i].As(desc.Type).Bits())), Name: name})
		if pid != AllPIDs {
			break
		}
	}
	return list, nil
}
