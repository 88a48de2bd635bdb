package loggerdaily

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/pidof"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
)

// A running is the pmlogger that writes to a directory.
type running struct {
	pid  int // 0: there is none
	file string
	base string // of the archive that it writes, "" if it is not known
}

// mapDir is the directory in which each pmlogger leaves a file, named by its process, with its port, its host
// and its archive.
func (d *daily) mapDir() string { return filepath.Join(d.get("PCP_TMP_DIR"), "pmlogger") }

// maxMap is the maximum size of such a file.
const maxMap = 64 << 10

// readMap returns the host and the archive of such a file.
func readMap(path string) (host, arch string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMap))
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 3 {
		return "", "", fmt.Errorf("%s: %d lines, want at least 3", path, len(lines))
	}
	return lines[1], lines[2], nil
}

// isLogger reports whether a process is a pmlogger.
func (d *daily) isLogger(pid int) bool {
	f := pidof.Finder{Dirs: append([]string{d.get("PCP_BIN_DIR"), d.get("PCP_BINADM_DIR")}, filepath.SplitList(d.env.Getenv("PATH"))...)}
	if own, err := os.Executable(); err == nil {
		f.Own, f.Command = own, "logger"
	}
	return f.Is(pid, "pmlogger")
}

// findLogger finds the pmlogger for a line of a control file.
func (d *daily) findLogger(primary bool, dir string) running {
	if primary {
		return d.findPrimary()
	}
	list, err := filepath.Glob(filepath.Join(d.mapDir(), "[0-9]*"))
	if err != nil {
		list = nil
	}
	slices.Sort(list)
	for _, path := range list {
		host, arch, err := readMap(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		pid, perr := strconv.Atoi(filepath.Base(path))
		text := fmt.Sprintf("... try %s host=%s arch=%s: ", path, host, arch)
		switch {
		case err != nil || perr != nil || resolve(filepath.Dir(arch)) != dir:
			d.debugf("%smatch=0 different directory, skip", text)
			continue
		case !d.isLogger(pid):
			d.debugf("%smatch=2 pmlogger process %d not running, skip", text, pid)
			continue
		}
		d.debugf("%smatch=2 pmlogger process %d identified, OK", text, pid)
		d.debugf("non-primary pmlogger process(es) %d identified, OK", pid)
		return running{pid, path, filepath.Base(arch)}
	}
	d.debugf("No non-primary pmlogger process(es) found")
	return running{}
}

// resolve returns the name of a directory with links resolved, or unchanged if that fails.
func resolve(dir string) string {
	if d, err := filepath.EvalSymlinks(dir); err == nil {
		return d
	}
	return dir
}

func (d *daily) findPrimary() running {
	path := filepath.Join(d.mapDir(), "primary")
	target, err := os.Readlink(path)
	if host, arch, err := readMap(path); err == nil {
		d.debugf("... try %s: host=%s arch=%s", path, host, arch)
	}
	pid, perr := strconv.Atoi(filepath.Base(target))
	switch {
	case err != nil || perr != nil:
		d.debugf("primary pmlogger process PID not found")
		return running{}
	case !d.isLogger(pid):
		d.debugf("primary pmlogger process %d not running", pid)
		return running{}
	}
	d.debugf("primary pmlogger process %d identified, OK", pid)
	r := running{pid: pid, file: filepath.Join(d.mapDir(), strconv.Itoa(pid))}
	if _, arch, err := readMap(r.file); err == nil {
		r.base = filepath.Base(arch)
	}
	return r
}

// Time limits for a pmlogger to switch to a new archive.
const (
	reexecWait = 10 * time.Second
	reexecPoll = 50 * time.Millisecond
)

// rotate makes pmlogger switch to a new archive, unless the current one is from today.
func (w *work) rotate() {
	switch {
	case w.reexec == reexecSkip:
		return
	case w.reexec == reexecForce:
	case strings.HasPrefix(w.logger.base, w.today()):
		w.verbosef("Skip sending SIGUSR2 to %d (reexec already done)", w.logger.pid)
		return
	}
	if w.showMe {
		w.printf("+ pmsignal -s USR2 %d\n", w.logger.pid)
		return
	}
	w.verbosef("Sending SIGUSR2 to reexec %d", w.logger.pid)
	if err := signalReexec(w.logger.pid); err != nil {
		w.warn("cannot signal pmlogger process %d: %s", w.logger.pid, cli.ErrText(err))
		return
	}
	// The old archive must be complete before it is merged.
	before := w.logger.base
	for end := time.Now().Add(reexecWait); time.Now().Before(end); {
		if _, arch, err := readMap(w.logger.file); err == nil && filepath.Base(arch) != before {
			w.logger.base = filepath.Base(arch)
			return
		}
		if !w.isLogger(w.logger.pid) {
			w.debugf("Error: pmlogger process %d has vanished", w.logger.pid)
			return
		}
		if !pacing.Sleep(w.ctx, reexecPoll) {
			return
		}
	}
	if before != "" {
		w.warn("pmlogger process %d has not started a new archive", w.logger.pid)
	}
}
