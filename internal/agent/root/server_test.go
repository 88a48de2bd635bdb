//go:build unix

package root

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/rootproto"
)

// A lockedBuffer is a log that goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A testServer is a helper with one container, which is this process.
type testServer struct {
	*Server
	path   string
	client *rootproto.Client
	log    *lockedBuffer
	stop   func()
	dir    string
}

func serveTree(t *testing.T, users []int, commands string) *testServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "roottest") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tr := newTree(t)
	tr.docker("d1", "/self", os.Getpid())
	tr.docker("d2", "/stopped", 0)
	tr.docker("d3", "/dead", maxPID)
	s := &testServer{path: filepath.Join(dir, "sub", "s"), log: new(lockedBuffer), dir: dir}
	cfg := tr.config()
	cfg.Log = slog.New(slog.NewTextHandler(s.log, nil))
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	conf := filepath.Join(dir, "pmcd.conf")
	if err := os.WriteFile(conf, []byte(commands), 0o644); err != nil {
		t.Fatal(err)
	}
	if s.Server, err = a.Listen(ServerConfig{Path: s.path, Users: users, Commands: conf}); err != nil {
		t.Fatal(err)
	}
	s.client = rootproto.NewClient(s.path)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		s.client.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
	})
	return s
}

func me() []int { return []int{os.Getuid()} }

func TestServer(t *testing.T) {
	s := serveTree(t, me(), "")
	if info, err := os.Stat(filepath.Dir(s.path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the socket: %v, %v", info, err)
	}
	host, _ := os.Hostname()
	if name, err := s.client.HostName("self"); err != nil && !errors.Is(err, -pcp.Error(syscall.EPERM)) || err == nil && name != host {
		t.Errorf("host name %q, %v", name, err)
	}
	if name, err := s.client.HostNameOf(os.Getpid()); err != nil && !errors.Is(err, -pcp.Error(syscall.EPERM)) || err == nil && name != host {
		t.Errorf("host name of a process %q, %v", name, err)
	}
	if pid, err := s.client.ProcessID("self"); pid != os.Getpid() || err != nil {
		t.Errorf("process %d, %v", pid, err)
	}
	if name, err := s.client.CGroupName("self"); name != "docker/d1" || err != nil {
		t.Errorf("cgroup %q, %v", name, err)
	}
	for _, name := range []string{"stopped", "no-such", "../d1", "d1/../d1", "self\n", strings.Repeat("x", 4000), "self/"} {
		if pid, err := s.client.ProcessID(name); !errors.Is(err, pcp.ErrNoContainer) {
			t.Errorf("%q: process %d, %v", name, pid, err)
		}
	}
	for _, name := range []string{"stopped", "dead"} {
		if host, err := s.client.HostName(name); err == nil {
			t.Errorf("%q: host name %q", name, host)
		}
	}
	for _, pid := range []int{0, -1, -1 << 31, 1 << 30} {
		if host, err := s.client.HostNameOf(pid); err == nil {
			t.Errorf("process %d: host name %q", pid, host)
		}
	}
	s.stop()
	if _, err := os.Stat(s.path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestStart starts and ends processes.
func TestStart(t *testing.T) {
	s := serveTree(t, me(), "cat 1 pipe binary /bin/cat\ncat 2 pipe binary notready /bin/sh -c exit\\ 3\nsleep 3 socket inet 4 /bin/sleep 1000\n")
	p, err := s.client.Start(rootproto.IPCPipe, "cat", "/bin/cat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.In, "hello"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(p.Out, b); err != nil || string(b) != "hello" {
		t.Errorf("through it comes %q, %v", b, err)
	}
	if pid, _, err := s.client.Wait(); pid != 0 || err != nil {
		t.Errorf("%d has ended, %v", pid, err)
	}
	p.In.Close()
	if n, err := p.Out.Read(b); err != io.EOF {
		t.Errorf("at the end comes %q, %v", b[:n], err)
	}
	p.Out.Close()
	if pid, status := s.await(t); pid != p.PID || status != 0 {
		t.Errorf("process %d ended with %d, want %d", pid, status, p.PID)
	}
	if pid, _, err := s.client.Wait(); pid != -1 || err != nil {
		t.Errorf("without any %d has ended, %v", pid, err)
	}

	p, err = s.client.Start(rootproto.IPCSocket, "sleep", "/bin/sleep 1000")
	if err != nil || p.In != nil {
		t.Fatal(p, err)
	}
	if err := s.client.Terminate(p.PID); err != nil {
		t.Error(err)
	}
	if pid, status := s.await(t); pid != p.PID || syscall.WaitStatus(status).Signal() != syscall.SIGTERM {
		t.Errorf("process %d ended with %d, want %d", pid, status, p.PID)
	}
	// A second stop fails.
	if err := s.client.Kill(p.PID); !errors.Is(err, -pcp.Error(syscall.ESRCH)) {
		t.Errorf("kill one that has ended: %v", err)
	}
	p, err = s.client.Start(rootproto.IPCSocket, "sleep", "/bin/sleep   1000")
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := syscall.Kill(p.PID, 0); err != syscall.ESRCH {
		t.Errorf("at the end it runs on: %v", err)
	}
}

// await waits until a process has ended.
func (s *testServer) await(t *testing.T) (pid, status int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		pid, status, err := s.client.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if pid > 0 {
			return pid, status
		}
	}
	t.Fatal("no process ends")
	return 0, 0
}

// TestOthersProcesses has clients request the end of processes of others.
func TestOthersProcesses(t *testing.T) {
	s := serveTree(t, me(), "")
	for _, pid := range []int{os.Getpid(), os.Getppid(), 1, 0, -1, -os.Getpid(), -1 << 31} {
		if err := s.client.Kill(pid); !errors.Is(err, -pcp.Error(syscall.ESRCH)) {
			t.Errorf("kill %d: %v", pid, err)
		}
		if pid < 1 {
			continue // that is a request for any ended process
		}
		if err := s.client.Terminate(pid); !errors.Is(err, -pcp.Error(syscall.ESRCH)) {
			t.Errorf("terminate %d: %v", pid, err)
		}
	}
}

// TestRefusedCommands checks commands that are not started.
func TestRefusedCommands(t *testing.T) {
	s := serveTree(t, me(), "true 1 pipe binary /bin/true\n[access]\nx 2 pipe binary /bin/echo after\n")
	file := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open := file("open/agent", 0o755)
	if err := os.Chmod(filepath.Dir(open), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(s.dir, "link")
	if err := os.Symlink(file("writable", 0o777), link); err != nil {
		t.Fatal(err)
	}
	root := &rootproto.Cred{UID: 0}
	for what, words := range map[string]string{
		"nothing": " ", "a relative path": "bin/true", "what is not there": "/nonexistent/agent", "a directory": "/bin",
		"a device": "/dev/null", "what all can write": file("w", 0o757), "a link to that": link,
		"what lies where all can write": open, "a control character": "/bin/true \x1b[2J",
		"a script that all can write": "/bin/sh " + link, "too many words": "/bin/true" + strings.Repeat(" x", maxWords),
	} {
		if path, err := s.processes.check(strings.Fields(words), root); err == nil {
			t.Errorf("%s: %q is let through as %s", what, words, path)
		}
	}
	if _, err := s.processes.check([]string{"/bin/true"}, root); err != nil {
		t.Errorf("/bin/true: %v", err)
	}
	// A user other than root gets the configured command, word by word.
	other := &rootproto.Cred{UID: 12345}
	for words, want := range map[string]bool{
		"/bin/true": true, "/bin/true x": false, "/bin/false": false, "/bin/echo after": false, "true": false, "": false,
	} {
		if _, err := s.processes.check(strings.Fields(words), other); (err == nil) != want {
			t.Errorf("%q for another user: %v", words, err)
		}
	}
	if err := os.Chmod(s.cfg.Commands, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.processes.check([]string{"/bin/true"}, other); err == nil {
		t.Error("a configuration that all can write is believed")
	}
	for _, label := range []string{"../x", "a b", "-x"} {
		if _, err := s.client.Start(rootproto.IPCPipe, label, "/bin/true"); !errors.Is(err, pcp.ErrGeneric) {
			t.Errorf("label %q: %v", label, err)
		}
	}
	if _, err := s.client.Start(7, "x", "/bin/true"); !errors.Is(err, pcp.ErrGeneric) {
		t.Errorf("connection of kind 7: %v", err)
	}
}

// TestStrangers has users that must not be served.
func TestStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		s := serveTree(t, nil, "")
		if _, err := s.client.ProcessID("self"); !errors.Is(err, pcp.ErrNotConn) {
			t.Errorf("a stranger: %v", err)
		}
		return
	}
	s := serveTree(t, nil, "")
	if err := s.answer(t.Context(), nil, (&rootproto.Stop{Type: rootproto.TypeStopReq, PID: -1}).Append(nil), nil); err == nil {
		t.Error("a request of nobody is answered")
	}
	if why := s.admitted(12345); why == "" {
		t.Error("a stranger is let in")
	}
	// A collector that was root when it connected gets the configured command.
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	req := &rootproto.Start{Type: rootproto.TypeStartReq, IPC: rootproto.IPCPipe, Label: "x", Args: "/bin/true"}
	if err := s.answer(t.Context(), rootproto.NewConn(ours), req.Append(nil), &rootproto.Cred{UID: 12345}); err != nil {
		t.Fatal(err)
	}
	b, _, err := rootproto.NewConn(theirs).Receive(time.Minute, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var r rootproto.Start
	if err := r.Decode(b); err != nil || r.Status != pcp.ErrGeneric {
		t.Errorf("it gets %+v, %v", r, err)
	}
}

// TestHostileClients sends bytes that are not a request. Each client gets its connection closed,
// and others their answers.
func TestHostileClients(t *testing.T) {
	s := serveTree(t, me(), "")
	ints := func(list ...int32) (b []byte) {
		for _, v := range list {
			b = binary.NativeEndian.AppendUint32(b, uint32(v))
		}
		return b
	}
	name := (&rootproto.Container{Type: rootproto.TypeProcessIDReq, Name: "self"}).Append(nil)
	with := func(b []byte, at int, v int32) []byte {
		b = append([]byte(nil), b...)
		copy(b[at:], ints(v))
		return b
	}
	for what, b := range map[string][]byte{
		"noise":               []byte("GET / HTTP/1.0\r\n\r\n and more of this"),
		"zeros":               make([]byte, 100),
		"huge length":         ints(0x9003, 1<<30, 0, 2),
		"negative length":     ints(0x9003, -1, 0, 2),
		"newer version":       with(name, 12, 3),
		"status":              with(name, 8, -1),
		"name beyond the end": with(name, 20, 4000),
		"negative name":       with(name, 20, -5),
		"NUL inside":          []byte(strings.Replace(string(name), "self", "s\x00lf", 1)),
		"unknown type":        with(name, 0, 0x900b),
		"an answer":           with(name, 0, 0x9004),
		"no name":             (&rootproto.Container{Type: rootproto.TypeCGroupNameReq}).Append(nil),
		"greeting":            (&rootproto.Info{}).Append(nil),
	} {
		nc, err := net.Dial("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		nc.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.CopyN(io.Discard, nc, 24); err != nil {
			t.Fatalf("no greeting: %v", err)
		}
		nc.Write(b)
		if answer, err := io.ReadAll(nc); len(answer) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s is answered with % x, %v", what, answer, err)
		}
		nc.Close()
		if pid, err := s.client.ProcessID("self"); pid != os.Getpid() || err != nil {
			t.Fatalf("after %s others get %d, %v", what, pid, err)
		}
	}
}

// TestDescriptors has a client send descriptors along, which must not pile up.
func TestDescriptors(t *testing.T) {
	s := serveTree(t, me(), "")
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
		return len(list)
	}
	nc, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: s.path})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.CopyN(io.Discard, nc, 24); err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	name := (&rootproto.Container{Type: rootproto.TypeProcessIDReq, Name: "self"}).Append(nil)
	ask := func(n int) error {
		fds := make([]int, n)
		for i := range fds {
			fds[i] = int(null.Fd())
		}
		if _, _, err := nc.WriteMsgUnix(name, syscall.UnixRights(fds...), nil); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, nc, 24)
		return err
	}
	if err := ask(1); err != nil {
		t.Fatal(err)
	}
	before := open()
	for range 50 {
		if err := ask(2); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors were open, %d are", before, after)
	}
	if err := ask(100); err == nil {
		t.Error("a hundred descriptors are taken")
	}
	for end := time.Now().Add(time.Minute); open() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors were open, %d are", before, open())
		}
	}
}

// TestManyClients has more clients than the limit.
func TestManyClients(t *testing.T) {
	s := serveTree(t, me(), "")
	var served, refused int
	for range maxClients + 5 {
		nc, err := net.Dial("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.CopyN(io.Discard, nc, 24); err == nil {
			served++
		} else {
			refused++
		}
	}
	if served != maxClients || refused != 5 {
		t.Errorf("%d are served and %d refused", served, refused)
	}
}

func TestListen(t *testing.T) {
	dir := t.TempDir()
	a, err := New(Config{Sockets: dir, Docker: dir, LXC: dir, PodmanData: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Listen(ServerConfig{Path: path}); err == nil {
		t.Error("a file is replaced by a socket")
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file is %q", b)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, p := range []interface{ Append([]byte) []byte }{
		&rootproto.Container{Type: rootproto.TypeProcessIDReq, Name: "self"},
		&rootproto.Container{Type: rootproto.TypeCGroupNameReq, Name: "../x"},
		&rootproto.Stop{Type: rootproto.TypeStopReq, PID: 1, Force: true},
		&rootproto.Start{Type: rootproto.TypeStartReq, IPC: 2, Label: "x", Args: "/nonexistent/program -x"},
	} {
		f.Add(p.Append(nil))
	}
	dir := f.TempDir()
	a, err := New(Config{Sockets: dir, Docker: dir, LXC: dir, PodmanData: dir, CGroup: dir, CGroupCheck: dir})
	if err != nil {
		f.Fatal(err)
	}
	s := &Server{log: a.log, containers: a.containers, cfg: ServerConfig{Users: []int{1}}}
	s.processes.init(s.cfg, a.log)
	// A user other than root, without a configured command: nothing may start.
	sender := &rootproto.Cred{UID: 1}
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs, err := socketPair()
		if err != nil {
			t.Skip(err)
		}
		defer ours.Close()
		defer theirs.Close()
		s.answer(context.Background(), rootproto.NewConn(ours), b, sender)
		if n := len(s.processes.running); n != 0 {
			t.Fatalf("%d processes run", n)
		}
	})
}

// socketPair makes a connection.
func socketPair() (a, b *net.UnixConn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	var conns [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), fmt.Sprint(i))
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
		conns[i] = c.(*net.UnixConn)
	}
	return conns[0], conns[1], nil
}
