package service

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestMain makes this program the service that a test starts with sockets.
func TestMain(m *testing.M) {
	if os.Getenv("SERVICE_TEST") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("LISTEN_PID") == "me" {
		os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // the parent cannot know it
	}
	lns, err := Listeners(os.Getenv)
	Forget()
	fmt.Printf("%v %d [%s]\n", err, len(lns), os.Getenv("LISTEN_FDS"))
	for _, ln := range lns {
		conn, err := ln.Accept()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Fprintf(conn, "%s %s", ln.Addr().Network(), ln.Addr())
		conn.Close()
	}
	os.Exit(0)
}

// file is implemented by connections that can be passed to another process.
type file interface{ File() (*os.File, error) }

func run(t *testing.T, env []string, sockets ...file) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), "SERVICE_TEST=1"), env...)
	for _, s := range sockets {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

func listeners(t *testing.T) (tcp *net.TCPListener, unix *net.UnixListener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "service") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a.(*net.TCPListener), b.(*net.UnixListener)
}

func TestListeners(t *testing.T) {
	tcp, unix := listeners(t)
	cmd, out := run(t, []string{"LISTEN_PID=me", "LISTEN_FDS=2", "LISTEN_FDNAMES=tcp:unix"}, tcp, unix)
	for _, ln := range []net.Listener{tcp, unix} {
		conn, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 200)
		n, _ := conn.Read(b)
		conn.Close()
		if got, want := string(b[:n]), fmt.Sprintf("%s %s", ln.Addr().Network(), ln.Addr()); got != want {
			t.Errorf("the service on %s says %q", want, got)
		}
	}
	if err := await.Exit(t, cmd); err != nil || out.String() != "<nil> 2 []\n" {
		t.Errorf("service ends with %v and says %s", err, out)
	}
}

func TestListenersNotOurs(t *testing.T) {
	tcp, _ := listeners(t)
	datagram, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer datagram.Close()
	f := func(want string, env []string, sockets ...file) {
		t.Helper()
		cmd, out := run(t, env, sockets...)
		if err := await.Exit(t, cmd); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("with %v the service says %q, want %q", env, out, want)
		}
	}
	f("<nil> 0", nil, tcp)
	f("<nil> 0", []string{"LISTEN_PID=1", "LISTEN_FDS=1"}, tcp)
	f("LISTEN_FDS=many: not a number", []string{"LISTEN_PID=me", "LISTEN_FDS=many"})
	f("LISTEN_FDS=-1: not a number", []string{"LISTEN_PID=me", "LISTEN_FDS=-1"})
	f("file 4 of the service manager (odd): ", []string{"LISTEN_PID=me", "LISTEN_FDS=2", "LISTEN_FDNAMES=:odd"}, tcp, datagram.(*net.UDPConn))
}

// TestFullSocket has a manager that does not read its messages.
func TestFullSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000"}
	m := NewManager(func(name string) string { return env[name] })
	done := make(chan error, 1)
	go func() {
		for range 100_000 {
			if err := m.Alive(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the socket never is full, or: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a full socket keeps the process for a minute")
	}
}

func TestManager(t *testing.T) {
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	m := NewManager(func(name string) string { return map[string]string{"NOTIFY_SOCKET": path}[name] })
	b := make([]byte, 1000)
	want := func(err error, re string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		n, _, err := conn.ReadFrom(b)
		if err != nil || !regexp.MustCompile("^"+re+"$").Match(b[:n]) {
			t.Errorf("message %q, %v, want %s", b[:n], err, re)
		}
	}
	want(m.Ready("serving\nall"), fmt.Sprintf("READY=1\nMAINPID=%d\nSTATUS=serving all", os.Getpid()))
	want(m.Reloading(), "RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*")
	want(m.Stopping(), "STOPPING=1")
	if m.Watchdog() != 0 {
		t.Errorf("nobody watches, but every %v", m.Watchdog())
	}
	want(m.Alive(), "WATCHDOG=1")
	for _, w := range []struct {
		pid, usec, socket string
		want              time.Duration
	}{
		{"", "3000000", path, 1500 * time.Millisecond},
		{strconv.Itoa(os.Getpid()), "2", path, time.Microsecond},
		{"1", "3000000", path, 0},
		{"", "-3", path, 0},
		{"", "99999999999999999", path, 0},
		{"", "3000000", "", 0},
	} {
		env := map[string]string{"NOTIFY_SOCKET": w.socket, "WATCHDOG_PID": w.pid, "WATCHDOG_USEC": w.usec}
		if got := NewManager(func(name string) string { return env[name] }).Watchdog(); got != w.want {
			t.Errorf("%v: Watchdog = %v, want %v", env, got, w.want)
		}
	}
	if err := (Manager{}).Ready(""); err != nil {
		t.Error(err)
	}
	if err := (Manager{socket: filepath.Join(dir, "no")}).Stopping(); err == nil {
		t.Error("nobody was told, and that is no error")
	}
}
