//go:build linux

package top

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
)

// alone is an environment variable that makes a program of this test pcp top.
const alone = "PCP_TOP_TEST_ALONE"

func TestMain(m *testing.M) {
	if os.Getenv(alone) == "" {
		os.Exit(m.Run())
	}
	out := bufio.NewWriter(os.Stdout)
	env := &cli.Env{
		Name: "pcp top", Program: "pcp", Args: os.Args[1:], Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr, Version: "test",
		Getenv: os.Getenv, LookupEnv: os.LookupEnv, Command: Command, Commands: []*cli.Command{Command},
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		env.Screen = os.Stdout
	}
	status := Command.Run(context.Background(), env)
	if out.Flush() != nil && status == 0 {
		status = 1
	}
	os.Exit(status)
}

// aloneEnv is the environment of a separate process.
func aloneEnv(more ...string) []string {
	return append([]string{
		alone + "=1", "PATH=" + os.Getenv("PATH"), "TZ=UTC", "PCP_CONF=" + os.DevNull, "LANG=C.UTF-8", "TERM=xterm-256color", "PCP_DERIVED_CONFIG=",
	}, more...)
}

// shell runs a script in a shell with its own terminal and job control. $TOP is pcp top.
func shell(t *testing.T, dir, script string, w, h int) *terminal {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = dir, aloneEnv("TOP="+exe)
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.Fatal(err)
	}
	// A duplicate, which can be closed during a read.
	fd, err := syscall.Dup(int(master.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	master.Close()
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "master")
	tt := &terminal{t: t, master: master, slave: slave, emu: vt.NewEmulator(w, h), done: make(chan int, 1)}
	if tt.before, err = term.GetState(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	tt.read()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait() // its exit status is checked later
		tt.done <- cmd.ProcessState.ExitCode()
	}()
	return tt
}

// TestSuspend stops pcp top by ctrl-Z, looks at the terminal, and continues in another
// size.
func TestSuspend(t *testing.T) {
	dir := archive(t, nil)
	tt := shell(t, dir, `set -m
"$TOP" -a host -S @08:06:00 --paused
echo stopped by $?; stty -a | grep -c ' echo '
read line
fg >/dev/null
echo ended by $?`, 80, 24)
	tt.see("rustc")
	tt.press("\x1a")
	s := tt.see("stopped by")
	tt.await("a terminal that echoes", func(s string) bool { return strings.Contains(s, "\n1\n") })
	if strings.Contains(s, "Quit") {
		t.Errorf("the screen of pcp top is still there:\n%s", s)
	}
	// Meanwhile the terminal has got another size.
	if err := pty.Setsize(tt.master, &pty.Winsize{Cols: 120, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	tt.mu.Lock()
	tt.emu.Resize(120, 30)
	tt.mu.Unlock()
	tt.press("\n")
	tt.await("the screen, as wide as the terminal", func(s string) bool {
		lines := strings.Split(s, "\n")
		return strings.Contains(s, "rustc") && strings.Contains(s, "Quit") && len([]rune(lines[0])) > 100
	})
	tt.press("2")
	tt.see("14 processes")
	tt.press("q")
	tt.see("ended by 0")
	tt.leave()
}

// TestHangUp closes the terminal of pcp top, which ends then, even if it ignores the signal.
func TestHangUp(t *testing.T) {
	dir := archive(t, nil)
	tt := shell(t, dir, `trap '' HUP; exec "$TOP" -a host -S @08:06:00 --paused`, 80, 24)
	tt.see("rustc")
	tt.slave.Close()
	tt.master.Close()
	select {
	case <-tt.done:
	case <-time.After(20 * time.Second):
		t.Error("it goes on without a terminal")
	}
}

// serve runs a collector of a host at a socket, until stop is called.
func serve(t *testing.T, socket string) (stop func()) {
	t.Helper()
	lns, err := pmcd.Listen(t.Context(), pmcd.ListenConfig{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{
		Listeners: lns, HostName: "web1",
		Agents: []pmcd.AgentSpec{{Name: "toptest", Domain: toptest.Domain, Agent: toptest.New(time.Now().Add(-time.Hour))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// TestDeadCollector stops and restarts the collector while its screen is shown, and while text is printed.
func TestDeadCollector(t *testing.T) {
	dir, err := os.MkdirTemp("", "top") // a short name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	stop := serve(t, socket)
	tt := open(t, dir, 80, 24, nil, "-h", "unix:"+socket, "-t", "0.2")
	tt.see("nginx")
	stop()
	s := tt.see("no answer for")
	if !strings.Contains(s, "nginx") {
		t.Errorf("the last sample is not shown any more:\n%s", s)
	}
	tt.press("2") // keys are handled meanwhile
	tt.see("processes")
	stop = serve(t, socket)
	tt.await("the next sample", func(s string) bool { return strings.Contains(s, "nginx") && !strings.Contains(s, "no answer") })
	tt.press("q")
	tt.leave()

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-h", "unix:"+socket, "--json", "-t", "0.2", "--view", "disks")
	cmd.Env = aloneEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	objects := bufio.NewReader(out)
	next := func() {
		line, err := objects.ReadBytes('\n')
		if err != nil || !json.Valid(line) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	next()
	stop()
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || !strings.Contains(line, "the collector does not answer") {
		t.Errorf("%q, %v", line, err)
	}
	go io.Copy(io.Discard, said)
	stop = serve(t, socket)
	next()
	// A pipe that is closed ends it, without words.
	out.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		t.Error("it goes on without a reader")
	}
	stop()
}

// TestMissing prints the few metrics of an almost empty source, and ends.
func TestMissing(t *testing.T) {
	h := toptest.New(toptest.Start)
	var all []string
	for _, name := range h.Names() {
		if name != "kernel.all.load" {
			all = append(all, name)
		}
	}
	dir := archive(t, func(h *toptest.Host) { h.Without(all...) })
	for _, view := range []string{"overview", "processes", "cgroups", "disks", "network", "pressure", "chart"} {
		for _, args := range [][]string{{"--once"}, {"--json", "-s", "1"}} {
			status, stdout, stderr := call(t, dir, nil, append(args, "-a", "host", "-S", "@08:06:00", "--view", view)...)
			if status != 0 || stderr != "" || stdout == "" {
				t.Errorf("%s %q: status %d, %q, %q", view, args, status, stdout, stderr)
			}
			if args[0] == "--json" {
				var object map[string]any
				if err := json.Unmarshal([]byte(stdout), &object); err != nil {
					t.Errorf("%s: %v: %s", view, err, stdout)
				}
			} else if bytes.Contains([]byte(stdout), []byte("NaN")) {
				t.Errorf("%s: %s", view, stdout)
			}
		}
	}
}
