//go:build unix

package detach

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test program is the program that detaches, and the daemon.
const role = "DETACH_TEST"

func TestMain(m *testing.M) {
	mode := os.Getenv(role)
	switch {
	case mode == "":
		os.Exit(m.Run())
	case !Done(os.Getenv):
		cfg := Config{Stdout: os.Stdout, Wait: mode == "wait"}
		if err := Start(cfg); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("started")
	default:
		sid, _ := unix.Getsid(0)
		fmt.Println("daemon", sid == os.Getpid(), strings.Join(os.Args[1:], " "))
		if mode == "wait" {
			Ready(os.Getenv)
			fmt.Println("ready", Done(os.Getenv))
		}
	}
}

// run runs the program and returns the output lines of the program and its daemon.
func run(t *testing.T, mode string) []string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(os.Args[0], "one", "two")
	cmd.Env = append(os.Environ(), role+"="+mode)
	cmd.Stdout, cmd.SysProcAttr = w, &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for in := bufio.NewScanner(r); in.Scan(); { // the output ends with the daemon
		lines = append(lines, in.Text())
	}
	return lines
}

// TestStart checks that the daemon has its own session, and the same arguments.
func TestStart(t *testing.T) {
	lines := strings.Join(run(t, "plain"), "\n")
	if !strings.Contains(lines, "started") || !strings.Contains(lines, "daemon true one two") {
		t.Errorf("%s", lines)
	}
}

// TestWait checks that the program waits until its daemon is ready.
func TestWait(t *testing.T) {
	lines := run(t, "wait")
	at := func(text string) int {
		for i, line := range lines {
			if line == text {
				return i
			}
		}
		t.Fatalf("no %q in %q", text, lines)
		return 0
	}
	if at("daemon true one two") > at("started") {
		t.Errorf("it did not wait: %q", lines)
	}
	at("ready false")
}

// TestSettle replaces standard error by another file.
func TestSettle(t *testing.T) {
	old, err := unix.Dup(int(os.Stderr.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		unix.Dup2(old, int(os.Stderr.Fd()))
		unix.Close(old)
	}()
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Settle(f); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(os.Stderr, "to the log")
	if b, err := os.ReadFile(f.Name()); err != nil || string(b) != "to the log" {
		t.Errorf("%q, %v", b, err)
	}
}
