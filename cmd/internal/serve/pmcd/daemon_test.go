package pmcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmcd"
)

// program starts this program as pmcd with arguments and an environment, see
// TestMain, with files 3, 4 and so on.
func program(t *testing.T, env []string, files []*os.File, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), detach.Variable+"=1", testArgs+"="+strings.Join(args, "\n"))
	cmd.Env = append(cmd.Env, env...)
	cmd.ExtraFiles = files
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestServiceManager has a service manager open the sockets, and hear of what
// becomes of the daemon.
func TestServiceManager(t *testing.T) {
	dir := tempDir(t)
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	tcp, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	var files []*os.File
	for _, ln := range []interface{ File() (*os.File, error) }{socket, tcp} {
		f, err := ln.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	cmd := program(t, []string{
		"NOTIFY_SOCKET=" + filepath.Join(dir, "notify"), "LISTEN_PID=me", "LISTEN_FDS=2", "WATCHDOG_USEC=100000",
		"PMNS_DEFAULT=" + filepath.Join(dir, "none"), "PCP_RUN_DIR=" + dir,
	}, files, "-f", "-l", filepath.Join(dir, "log"), "-c", writeFile(t, filepath.Join(dir, "conf"), confText))
	said := func(re string) {
		t.Helper()
		b := make([]byte, 1000)
		notify.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := notify.Read(b)
		for err == nil && re != "WATCHDOG=1" && string(b[:n]) == "WATCHDOG=1" {
			n, err = notify.Read(b)
		}
		if err != nil || !regexp.MustCompile("^"+re+"$").Match(b[:n]) {
			t.Errorf("it says %q, %v; want %s", b[:n], err, re)
		}
	}
	isReady := fmt.Sprintf("READY=1\nMAINPID=%d\nSTATUS=serving the metrics of 2 agents", cmd.Process.Pid)
	said(isReady)
	said("WATCHDOG=1")
	for _, spec := range []string{"unix:" + socket.Addr().String(), tcp.Addr().String()} {
		c := ready(t, spec)
		if _, err := c.LookupName(context.Background(), "pmcd.version"); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	cmd.Process.Signal(syscall.SIGHUP)
	said("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*")
	said(isReady)
	cmd.Process.Signal(syscall.SIGTERM)
	said("STOPPING=1")
	if err := await.Exit(t, cmd); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// TestDeafServiceManager has a service manager that no longer reads its notifications. Its socket
// is full soon, and the daemon must end all the same.
func TestDeafServiceManager(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	socket := filepath.Join(dir, "socket")
	cmd := program(t, []string{
		"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=100000", "PMNS_DEFAULT=" + filepath.Join(dir, "none"), "PCP_RUN_DIR=" + dir,
	}, nil, "-f", "-i", "127.0.0.1", "-p", freePort(t), "-s", socket, "-l", filepath.Join(dir, "log"),
		"-c", writeFile(t, filepath.Join(dir, "conf"), confText))
	notify.SetReadDeadline(time.Now().Add(await.Limit))
	if _, err := notify.Read(make([]byte, 1000)); err != nil {
		t.Fatalf("the daemon does not say that it is ready: %v", err)
	}
	conn, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for err == nil {
		conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		_, err = conn.Write([]byte("x"))
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := await.Exit(t, cmd); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// TestUser has a daemon that root started become PCP's user.
func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	dir := tempDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	env := []string{"PMNS_DEFAULT=" + filepath.Join(dir, "none"), "PCP_RUN_DIR=" + dir}
	args := []string{
		"-i", "127.0.0.1", "-p", freePort(t), "-s", socket, "-l", filepath.Join(dir, "log"),
		"-c", writeFile(t, filepath.Join(dir, "conf"), confText), "-U",
	}
	cmd := program(t, env, nil, append(args, "nobody")...)
	ready(t, "unix:"+socket).Close()
	want := regexp.MustCompile(fmt.Sprintf(`(?m)^Uid:\t%[1]s\t%[1]s\t%[1]s\t%[1]s$`, nobody.Uid))
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", cmd.Process.Pid))
		others := slices.DeleteFunc(tasks, func(path string) bool {
			b, err := os.ReadFile(path)
			return err != nil || want.Match(b)
		})
		if len(others) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("threads are still root's: %q", others)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "pmcd.pid")); err != nil || string(b) != fmt.Sprint(cmd.Process.Pid) {
		t.Errorf("the file with its number has %q, %v", b, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := await.Exit(t, cmd); err != nil {
		t.Error(err)
	}
	for _, left := range []string{"socket", "pmcd.pid"} {
		if _, err := os.Lstat(filepath.Join(dir, left)); !os.IsNotExist(err) {
			t.Errorf("it leaves %s behind: %v", left, err)
		}
	}
	cmd = program(t, env, nil, append(args, "nobody-at-all", "-x", writeFile(t, filepath.Join(dir, "fatal"), ""))...)
	if err := await.Exit(t, cmd); err == nil {
		t.Error("a user that does not exist is taken")
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	if !bytes.Contains(log, []byte("cannot find the nobody-at-all user to switch to")) || !bytes.Contains(log, []byte("pmcd not started due to errors!\n")) {
		t.Errorf("log is %s", log)
	}
	fatal, _ := os.ReadFile(filepath.Join(dir, "fatal"))
	if !bytes.HasPrefix(fatal, []byte("NOTE: pmcd not started due to errors!")) || !bytes.Contains(fatal, log[:20]) {
		t.Errorf("-x has %s", fatal)
	}
}

// TestSecondStart has another collector where there is one already.
func TestSecondStart(t *testing.T) {
	dir := tempDir(t)
	lns, err := pmcd.Listen(t.Context(), pmcd.ListenConfig{Ports: []int{0}, Addresses: []string{"127.0.0.1"}, Socket: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	port := 0
	for _, ln := range lns {
		defer ln.Close()
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
			port = tcp.Port
		}
	}
	var out, errs bytes.Buffer
	status := Command.Run(t.Context(), testEnv(&out, &errs, getenv(dir),
		"-f", "-i", "127.0.0.1", "-p", fmt.Sprint(port), "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "log")))
	got := regexp.MustCompile(`(?m)^\[.*\] pmcd\(\d+\) `).ReplaceAllString(errs.String(), "")
	want := fmt.Sprintf(`Error: OpenRequestSocket(%d, 127.0.0.1, inet) __pmBind: Address already in use
Error: pmcd may already be running
Error: OpenRequestSocket(0, %s/s, unix) __pmBind: Address already in use
Error: pmcd may already be running
Error: pmcd: can't open any request ports, exiting
Error: pmcd not started due to errors!
`, port, dir)
	if status != 1 || got != want {
		t.Errorf("it exits with %d and says\n%s, want\n%s", status, got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has a log: %v", err)
	}
}

// TestSocketGone has no directory for the socket, which is not somebody else's.
func TestSocketGone(t *testing.T) {
	err := errors.Join(&net.OpError{Op: "listen", Net: "unix", Addr: &net.UnixAddr{Name: "/gone/s", Net: "unix"}, Err: os.NewSyscallError("bind", syscall.ENOENT)})
	want := []string{"OpenRequestSocket(0, /gone/s, unix) __pmBind: No such file or directory"}
	if got := portFailures(err); !slices.Equal(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// TestStopWhileBusy ends a collector that waits for its port.
func TestStopWhileBusy(t *testing.T) {
	dir := tempDir(t)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	var out, errs bytes.Buffer
	status := Command.Run(ctx, testEnv(&out, &errs, getenv(dir),
		"-f", "-i", "127.0.0.1", "-p", fmt.Sprint(ln.Addr().(*net.TCPAddr).Port), "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "log")))
	if status != 1 || !strings.HasPrefix(errs.String(), "stopped\n") {
		t.Errorf("it exits with %d and says %s", status, &errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "s")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket is still there: %v", err)
	}
}

func TestOptionsFile(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "options"), "# comment\n\n -t 10 -L 70000\n-A\n-f\n-D appl0,pdu\nPMCD_LOCAL=1\nPCP_X=\"a b\"\n-T 3\n")
	env, err := cli.WithOptionsFile(testEnv(new(bytes.Buffer), os.Stderr, getenv(dir), "--options-file="+path, "-T", "1"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-t", "10", "-L", "70000", "-A", "-D", "appl0,pdu", "-T", "3", "--options-file=" + path, "-T", "1"}
	if diff := cmp.Diff(want, env.Args); diff != "" {
		t.Error(diff)
	}
	if env.Getenv("PCP_X") != "a b" || env.Getenv("PCP_RUN_DIR") == "" {
		t.Errorf("variables are %q and %q", env.Getenv("PCP_X"), env.Getenv("PCP_RUN_DIR"))
	}
	set, status, exit := parse(env)
	if exit {
		t.Fatalf("exits with %d", status)
	}
	if set.server.AgentTimeout != 10*time.Second || set.server.MaxPDU != 70000 || set.foreground || !set.local ||
		set.server.Trace != 1 || set.server.Debug != pmcd.DebugPDU|pmcd.DebugIO {
		t.Errorf("settings are %+v", set.server)
	}
	for _, text := range []string{"t 10\n", "=x\n", "A B=c\n"} {
		if _, err := cli.WithOptionsFile(&cli.Env{Args: []string{"--options-file", writeFile(t, path, text)}}); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := cli.WithOptionsFile(&cli.Env{Args: []string{"--options-file=" + filepath.Join(dir, "none")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestWrongOptions has the exit status and the messages of the real one.
func TestWrongOptions(t *testing.T) {
	f := func(want int, last string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		got := Command.Run(t.Context(), testEnv(&out, &errs, getenv(t.TempDir()), args...))
		if got != want || strings.HasSuffix(errs.String(), "Error: pmcd not started due to errors!\n") != (want != 0) || !strings.Contains(errs.String(), last) {
			t.Errorf("pmcd %q: exits with %d and says %s", args, got, &errs)
		}
	}
	f(1, "pmcd: unrecognized debug options specification (nosuch)", "-D", "nosuch")
	f(1, "pmcd: -T requires a positive numeric argument", "-T", "-1")
	f(1, "pmcd: -T requires a positive numeric argument", "-T", "0x10")
	f(1, "pmcd: -t requires a positive numeric argument", "-t", "5x")
	f(1, "Usage: pmcd [options]", "extra")
	f(0, "pmcd: invalid option -- 'Z'", "-Z") // as in C
	f(0, "pmcd: option requires an argument -- 'c'", "-c")
}
