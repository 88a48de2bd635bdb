package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/internal/safefile"
)

// FirstPort is the default TCP port of a logger, if it is free.
const FirstPort = 4330

// MaxPending is the default number of waiting connections.
const MaxPending = 5

// Ports configures the listeners and files of a logger.
type Ports struct {
	Tmp string // PCP_TMP_DIR; map files are in its directory pmlogger
	Run string // PCP_RUN_DIR, the directory of the socket
	// Home is the user's home directory; the socket is below .pcp/run there if it cannot be created
	// in Run. "" means there is none.
	Home string
	// First is the first port to try; 0 means FirstPort.
	First   int
	Local   bool // accept only connections from this host
	Pending int  // waiting connections; 0 means MaxPending
	Primary bool // this is the primary logger
	// Again is set when this process was the primary logger before and has restarted.
	Again bool
	// Warn receives errors that do not matter; nil discards them.
	Warn func(message string)
	// Trace receives details of a running or ended primary logger, and of its files that are
	// removed; nil discards them.
	Trace func(message string)
}

// Endpoints are the listeners of a logger and the files for finding them.
type Endpoints struct {
	Listeners []net.Listener
	Port      int    // TCP port; 0 if there is none
	Socket    string // path, "" if there is none

	dir   string   // directory of the map files
	run   string   // directory of the socket
	paths []string // files that Close removes
	links []string // links that Close removes if they lead to this process
	prim  bool
}

// ErrPrimary is the error for a second primary logger. Its text names the process of the first.
type ErrPrimary struct {
	PID  int
	Link string
}

// Error is the message of pmlogger.
func (e *ErrPrimary) Error() string {
	pid := "<unknown>"
	if e.PID > 0 {
		pid = strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("ERROR: there is already a primary pmlogger running, pid %s linkfile=%s", pid, e.Link)
}

// Listen opens the ports. The caller closes the Endpoints. The only error is an ErrPrimary:
// without a port or a directory the logger can still work, so failures there are only warnings.
func Listen(p Ports) (*Endpoints, error) {
	if p.Warn == nil {
		p.Warn = func(string) {}
	}
	if p.Trace == nil {
		p.Trace = func(string) {}
	}
	e := &Endpoints{dir: filepath.Join(p.Tmp, "pmlogger"), run: p.Run, prim: p.Primary}
	if err := safefile.Mkdir(e.dir, 0o775); err == nil {
		os.Chmod(e.dir, 0o775)
	} else if !errors.Is(err, fs.ErrExist) {
		p.Warn(fmt.Sprintf("error creating port file dir %s: %s", e.dir, pcp.Code(err)))
	}
	if p.Primary {
		if err := e.primary(p); err != nil {
			return nil, err
		}
	}
	if err := e.tcp(p); err != nil {
		p.Warn(err.Error())
	}
	if err := e.unix(p); err != nil {
		p.Warn(err.Error())
	}
	return e, nil
}

// primary returns an error if a primary logger is running, and removes the files of a
// dead one.
func (e *Endpoints) primary(p Ports) error {
	link := e.primaryLink()
	target, err := os.Readlink(link)
	if err != nil {
		if st, err := os.Lstat(link); err == nil && st.Mode().IsRegular() {
			os.Remove(link) // as created by old versions
		}
		return nil
	}
	pid, err := strconv.Atoi(filepath.Base(target))
	if err == nil && pid > 0 {
		p.Trace(fmt.Sprintf("info: found primary symlink -> pid %d", pid))
		if !alive(pid) {
			if os.Remove(link) == nil {
				p.Trace(fmt.Sprintf("info: removed '%s' symlink to stale control file for pid %d", link, pid))
			}
			os.Remove(filepath.Join(e.dir, strconv.Itoa(pid)))
			return nil
		}
	}
	if p.Again {
		return nil
	}
	if _, err := os.Stat(link); err != nil {
		return nil // it is dangling
	}
	return &ErrPrimary{PID: pid, Link: link}
}

func (e *Endpoints) primaryLink() string   { return filepath.Join(e.dir, "primary") }
func (e *Endpoints) primarySocket() string { return filepath.Join(e.run, "pmlogger.primary.socket") }

// tcp listens on the first free port, on IPv4 and, if available, on IPv6.
func (e *Endpoints) tcp(p Ports) error {
	first, pending := p.First, p.Pending
	if first == 0 {
		first = FirstPort
	}
	if pending <= 0 {
		pending = MaxPending
	}
	hosts := [2]string{"", ""}
	if p.Local {
		hosts = [2]string{"127.0.0.1", "::1"}
	}
	for port := first; port <= 65535; port++ {
		v4, err4 := net.Listen("tcp4", net.JoinHostPort(hosts[0], strconv.Itoa(port)))
		v6, err6 := net.Listen("tcp6", net.JoinHostPort(hosts[1], strconv.Itoa(port)))
		if errors.Is(err4, syscall.EADDRINUSE) || errors.Is(err6, syscall.EADDRINUSE) {
			for _, ln := range []net.Listener{v4, v6} {
				if ln != nil {
					ln.Close()
				}
			}
			continue
		}
		for _, ln := range []net.Listener{v4, v6} {
			if ln != nil {
				e.Listeners = append(e.Listeners, ln)
			}
		}
		if err := service.SetBacklog(e.Listeners, pending); err != nil && p.Warn != nil {
			p.Warn("backlog of connections: " + err.Error())
		}
		if v4 == nil && v6 == nil {
			return fmt.Errorf("__pmBind(%d): %s", port, pcp.Code(err4))
		}
		e.Port = port
		return nil
	}
	return fmt.Errorf("no TCP port from %d on is free", first)
}

// unix listens on a socket in the system's directory, or in the user's.
func (e *Endpoints) unix(p Ports) error {
	name := fmt.Sprintf("pmlogger.%d.socket", os.Getpid())
	path := filepath.Join(p.Run, name)
	mode := safefile.SocketMode{Perm: 0o666, Uid: -1, Gid: -1}
	ln, err := safefile.Listen(path, mode)
	if err != nil && p.Home != "" {
		dir := filepath.Join(p.Home, ".pcp", "run")
		if merr := safefile.MkdirAll(dir, 0o775, nil); merr == nil {
			path = filepath.Join(dir, name)
			ln2, err2 := safefile.Listen(path, mode)
			ln, err = ln2, errors.Join(err, err2)
			if err2 == nil {
				err = nil
			}
		}
	}
	if err != nil {
		return fmt.Errorf("__pmBind(%s): %s", path, pcp.Code(err))
	}
	e.Listeners = append(e.Listeners, ln)
	e.Socket = path
	return nil
}

// Publish writes the files by which the logger is found: the map file, with the recorded
// host, the archive and a note ("" for none), and the links of a primary logger.
func (e *Endpoints) Publish(host, archive, note string) error {
	path := filepath.Join(e.dir, strconv.Itoa(os.Getpid()))
	if abs, err := filepath.Abs(archive); err == nil {
		archive = abs
	}
	text := fmt.Sprintf("%d\n%s\n%s\n", e.Port, oneLine(host), oneLine(archive))
	if note != "" {
		text += oneLine(note) + "\n"
	}
	os.Remove(path)
	f, err := safefile.CreateNew(path, 0o644)
	if err != nil {
		return fmt.Errorf("error creating port map file %s: %w", path, pcp.Code(err))
	}
	e.paths = append(e.paths, path)
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("error writing port map file %s: %s", path, pcp.Code(err))
	}
	if !e.prim {
		return nil
	}
	link := e.primaryLink()
	os.Remove(link) // it is dangling, or leads to this process, see primary
	if err := os.Symlink(path, link); err != nil {
		return fmt.Errorf("error creating primary logger symbolic link %s: %s", link, pcp.Code(err))
	}
	e.links = append(e.links, link)
	if e.Socket == "" {
		return nil
	}
	link = e.primarySocket()
	os.Remove(link)
	if err := os.Symlink(e.Socket, link); err != nil {
		return fmt.Errorf("error creating primary logger socket symbolic link %s: %s", link, pcp.Code(err))
	}
	e.links = append(e.links, link)
	return nil
}

// oneLine returns the part of s that fits in a line of a map file.
func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// Close removes the files and closes the listeners.
func (e *Endpoints) Close() {
	for _, link := range e.links {
		if target, err := os.Readlink(link); err == nil && strings.Contains(filepath.Base(target), strconv.Itoa(os.Getpid())) {
			os.Remove(link)
		}
	}
	for _, path := range e.paths {
		os.Remove(path)
	}
	for _, ln := range e.Listeners {
		ln.Close()
	}
	e.links, e.paths = nil, nil
}
