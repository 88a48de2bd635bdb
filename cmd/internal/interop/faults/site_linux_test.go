package faults

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Cells wait most of the time.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	twin.Built(m)
}

// launch starts a process that ends with the test.
func launch(cmd *exec.Cmd) error { return oracle.StartWith(cmd, syscall.SIGKILL) }

// patience is the time limit on a busy machine for events that usually happen
// soon.
const patience = 2 * time.Minute

// A site is the environment of a daemon: the files that it reads, and on a file system that may be
// broken the files that it keeps.
type site struct {
	t    *testing.T
	conf string // configuration, which is not broken
	dir  string // all that the daemon writes

	source  string // the collector that it asks, as a host specification
	port    int    // of the daemon, if it has one
	webPort int    // of the page of pcp up

	damaged  map[string]bool // archives that must be left alone
	prepared bool            // its directory has the files that the daemon needs
	hook     *hook           // receives its alerts
	ns       *netns          // in which its processes run, nil for that of the test
	exe      string          // the program, "" for the usual one
	env      []string
}

// newSite makes a place for a daemon that asks a collector.
func newSite(t *testing.T, source string) *site {
	t.Helper()
	conf, err := os.MkdirTemp("", "faults") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(conf) })
	s := &site{t: t, conf: conf, dir: filepath.Join(conf, "d"), source: source, port: oracle.FreePort(t), webPort: oracle.FreePort(t)}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for name, place := range map[string]string{
		"PCP_SYSCONF_DIR": conf, "PCP_VAR_DIR": s.dir + "/var", "PCP_RUN_DIR": s.dir + "/run", "PCP_TMP_DIR": s.dir + "/tmp", "PCP_LOG_DIR": s.dir + "/log",
		"PCP_ARCHIVE_DIR": s.dir + "/log/pmlogger", "PCP_PMCDCONF_PATH": conf + "/pmcd.conf", "PCP_PMIECONTROL_PATH": conf + "/control",
	} {
		fmt.Fprintf(&text, "%s=%s\n", name, place)
	}
	s.write("pcp.conf", text.String())
	s.makeDirs()
	return s
}

// makeDirs makes the directories that an installation has.
func (s *site) makeDirs() {
	s.t.Helper()
	for _, name := range []string{"run", "tmp/pmlogger", "tmp/pmie", "tmp/pmproxy", "log/pmlogger", "var/config/pmda", "var/pmproxy", "state"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
}

// write writes a file of the configuration and returns its path.
func (s *site) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.conf, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// mount puts a file system of some bytes where the daemon writes.
func (s *site) mount(bytes int) {
	s.t.Helper()
	if os.Geteuid() != 0 {
		s.t.Skip("only root can mount a small file system")
	}
	if err := unix.Mount("tmpfs", s.dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", bytes)); err != nil {
		s.t.Skipf("no file system can be mounted here: %v", err)
	}
	s.t.Cleanup(func() {
		if err := unix.Unmount(s.dir, unix.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	})
	s.makeDirs()
}

// readOnly has the file system refuse changes, or accept them again.
func (s *site) readOnly(on bool) {
	s.t.Helper()
	flags := uintptr(unix.MS_REMOUNT)
	if on {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("tmpfs", s.dir, "tmpfs", flags, ""); err != nil {
		s.t.Fatal(err)
	}
}

// filler is the file that takes the space.
func (s *site) filler() string { return filepath.Join(s.dir, "filler") }

// fill takes all space that is left, and the rest of each file's last page is too short to matter.
func (s *site) fill() {
	s.t.Helper()
	f, err := os.OpenFile(s.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		s.t.Fatal(err)
	}
}

// empty gives the space back.
func (s *site) empty() {
	s.t.Helper()
	if err := os.Remove(s.filler()); err != nil {
		s.t.Fatal(err)
	}
}

// files returns the regular files that the daemon keeps.
func (s *site) files() (paths []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != s.filler() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return paths
}

// A limit is a resource limit of a process, in the form of ulimit.
type limit struct {
	option string // "n" or "v"
	value  int
}

// A process is a daemon that runs.
type process struct {
	s      *site
	cmd    *exec.Cmd
	out    *buffer
	exited chan struct{}
}

// A buffer keeps the output of a process.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a program of ours.
func (s *site) start(limits []limit, tool string, args ...string) *process {
	s.t.Helper()
	path := s.exe
	if path == "" {
		path = twin.Tool(s.t, tool)
	} else if tool != "pcp" {
		path = filepath.Join(filepath.Dir(s.exe), tool)
	}
	if len(limits) > 0 {
		script := ""
		for _, l := range limits {
			script += fmt.Sprintf("ulimit -%s %d && ", l.option, l.value)
		}
		args = append([]string{"-c", script + `exec "$0" "$@"`, path}, args...)
		path = "/bin/sh"
	}
	if s.ns != nil {
		args = append([]string{fmt.Sprintf("--net=/proc/%d/ns/net", s.ns.cmd.Process.Pid), path}, args...)
		path = "nsenter"
	}
	p := &process{s: s, cmd: exec.Command(path, args...), out: new(buffer), exited: make(chan struct{})}
	p.cmd.Dir = s.conf
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "HOME=" + s.dir, "XDG_STATE_HOME=" + s.dir + "/state", "XDG_RUNTIME_DIR=", "PCP_CONF=" + s.conf + "/pcp.conf", "GOTRACEBACK=all",
	}, s.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := launch(p.cmd); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		if p.alive() {
			p.cmd.Process.Kill()
			<-p.exited
		}
		if s.t.Failed() {
			s.t.Logf("%s printed:\n%.12000s", p.name(), p.said())
		}
	})
	return p
}

func (p *process) name() string { return strings.Join(p.cmd.Args, " ") }

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// said returns the output of the process, and its logs.
func (p *process) said() string {
	text := p.out.String()
	for _, path := range p.s.files() {
		if b, err := os.ReadFile(path); err == nil && (strings.HasSuffix(path, ".log") || strings.HasSuffix(path, ".log.prev")) {
			text += fmt.Sprintf("-- %s\n%s", path, b)
		}
	}
	return text
}

// signal sends a signal.
func (p *process) signal(sig syscall.Signal) {
	p.s.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && p.alive() {
		p.s.t.Fatal(err)
	}
}

// await waits for a condition while the daemon is alive.
func (p *process) await(what string, is func() error) {
	p.s.t.Helper()
	err := is()
	for end := time.Now().Add(patience); err != nil; err = is() {
		if !p.alive() {
			p.s.t.Fatalf("%s: the daemon ended: %v", what, p.cmd.ProcessState)
		}
		if time.Now().After(end) {
			p.signal(syscall.SIGQUIT)
			<-p.exited
			p.s.t.Fatalf("%s: did not happen: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ends waits until the process has ended, and returns its status.
func (p *process) ends(what string) int {
	p.s.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT)
		<-p.exited
		p.s.t.Fatalf("%s: the daemon does not end", what)
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop ends a daemon as the service manager does.
func (p *process) stop() {
	p.s.t.Helper()
	p.signal(syscall.SIGTERM)
	if status := p.ends("after SIGTERM"); status != 0 {
		p.s.t.Errorf("after SIGTERM the status is %v", p.cmd.ProcessState)
	}
	p.calm()
}

// kill ends it as the machine does that crashes.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.ends("after SIGKILL")
}

// calm checks that the program has not broken.
func (p *process) calm() {
	p.s.t.Helper()
	text := p.said()
	for _, sign := range []string{"panic:", "fatal error:", "\ngoroutine ", "SIGSEGV", "SIGBUS", "unexpected fault address"} {
		if strings.Contains(text, sign) {
			p.s.t.Errorf("the program breaks (%q)", sign)
			return
		}
	}
}

// refused waits for a daemon that cannot start, and checks that one sentence has the reason, with
// one of these words.
func (p *process) refused(what string, words ...string) {
	p.s.t.Helper()
	status := p.ends(what)
	p.calm()
	said := strings.TrimSpace(p.said())
	if status <= 0 {
		p.s.t.Errorf("%s: status %v", what, p.cmd.ProcessState)
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(said), strings.ToLower(w)) {
			return
		}
	}
	p.s.t.Errorf("%s: it should say one of %q", what, words)
}
