package pmda_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/pmda"
)

// openTerminal returns a pseudo-terminal.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return tty
}

// TestTerminal starts an agent by hand: it prints how to try it, sends no PDU and
// leaves no log behind. Its usage message and sockets work as usual.
func TestTerminal(t *testing.T) {
	tty := openTerminal(t)
	const want = "pmdatest: this is an agent, which a collector starts and talks to through pipes; to try it out: pcp agent test ./pmdatest\n"
	log := filepath.Join(t.TempDir(), "test.log")
	f := func(what string, env pmda.Environment, want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		env.Args, env.Stderr, env.TestName, env.Getenv = append(args, "-l", log), &errs, "./pmdatest", func(string) string { return "" }
		if env.Stdout == nil {
			env.Stdout = &out
		}
		if status := daemon().Run(t.Context(), env); status != 1 || out.Len() > 0 || !strings.HasPrefix(errs.String(), want) {
			t.Errorf("%s: status %d, output %q, errors %q, want 1 and %q", what, status, out.String(), errs.String(), want)
		}
		if _, err := os.Lstat(log); err == nil {
			t.Errorf("%s: it left a log", what)
		}
	}
	none := bytes.NewReader(nil)
	f("input", pmda.Environment{Stdin: tty}, want)
	f("input, -p", pmda.Environment{Stdin: tty}, want, "-p")
	f("output", pmda.Environment{Stdin: none, Stdout: tty}, want)
	f("buffered output", pmda.Environment{Stdin: none, OutTerminal: func() bool { return true }}, want)
	f("help", pmda.Environment{Stdin: tty}, "Usage: pmdatest ", "-?")

	// It serves a socket from a terminal; here it cannot, and logs that.
	var errs bytes.Buffer
	status := daemon().Run(t.Context(), pmda.Environment{
		Args: []string{"-l", log, "-u", filepath.Join(t.TempDir(), "none", "socket")}, Stdin: tty, Stdout: tty, Stderr: &errs,
		Getenv: func(string) string { return "" },
	})
	if b, err := os.ReadFile(log); err != nil || status != 1 || errs.Len() > 0 || !strings.Contains(string(b), "agent ends") {
		t.Errorf("a socket: status %d, errors %q, log %q, %v", status, errs.String(), b, err)
	}
}
