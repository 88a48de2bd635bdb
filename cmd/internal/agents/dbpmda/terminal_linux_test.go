package dbpmda_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// openTerminal opens a new pseudo-terminal: the user's end and the program's end.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	// Not blocking, so that there can be a time limit.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	person = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// TestTerminal types at a terminal: lines are edited, and earlier lines are recalled.
func TestTerminal(t *testing.T) {
	person, program := openTerminal(t)
	cmd := exec.Command(link(t, "dbpmda"), "-f", "-n", namesFile(t))
	cmd.Env = append(oracle.Env(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	program.Close()
	const prompt = "dbpmda> "
	seen := ""
	// until reads until the program has prompted n times since the last call.
	until := func(n int) string {
		t.Helper()
		person.SetReadDeadline(time.Now().Add(time.Minute))
		buf := make([]byte, 4096)
		for strings.Count(seen, prompt) < n {
			k, err := person.Read(buf)
			if err != nil {
				t.Fatalf("after %q: %v", seen, err)
			}
			seen += string(buf[:k])
		}
		out := seen
		seen = ""
		return out
	}
	f := func(keys, want string) {
		t.Helper()
		if _, err := person.WriteString(keys); err != nil {
			t.Fatal(err)
		}
		if out := until(1); !strings.Contains(out, want) {
			t.Errorf("%q: got %q, want %q in it", keys, out, want)
		}
	}
	until(1)
	f("open dso pmda_simple.so simple_init 253\r", prompt)
	f("fetch 253.0.0\r", "value 1 ")
	f("\x1b[A\r", "value 2 ")                                             // up: the line before again
	f("timer on\r", prompt)                                               // which puts one between
	f("\x1b[A\x1b[A\r", "value 3 ")                                       // up twice
	f("\x1b[A\x1b[A\x1b[B\r", "Timer: ")                                  // and down once
	f("dezc\x7f\x7fsc 253.0.1\x01\x05\r", "Data Type: 32-bit int  InDom") // rubbed out; to the start, to the end
	if _, err := person.WriteString("quit\r"); err != nil {
		t.Fatal(err)
	}
	if err := await.Exit(t, cmd); err != nil {
		t.Error(err)
	}
}
