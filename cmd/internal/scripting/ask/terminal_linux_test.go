package ask

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openUser opens a new pseudo-terminal: the user's end, and the path of the program's end.
func openUser(t *testing.T) (user *os.File, path string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	user = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	path = fmt.Sprintf("/dev/pts/%d", n)
	program, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 8, Col: 40}); err != nil {
		t.Fatal(err)
	}
	return user, path
}

// expect reads until the program has printed want.
func expect(t *testing.T, user *os.File, want string) {
	t.Helper()
	user.SetReadDeadline(time.Now().Add(time.Minute))
	seen := ""
	buf := make([]byte, 4096)
	for !strings.Contains(seen, want) {
		n, err := user.Read(buf)
		if err != nil {
			t.Fatalf("want %q, got %q: %v", want, seen, err)
		}
		seen += string(buf[:n])
	}
}

// TestTerminal answers at a terminal: a message by pages, the label of no button, then a label.
func TestTerminal(t *testing.T) {
	user, path := openUser(t)
	type result struct {
		status int
		out    string
	}
	done := make(chan result, 1)
	go func() {
		status, out, _ := call(t, path, "pmquery", "-noframe", "-header", "Many lines",
			"-t", "1", "-t", "2", "-t", "3", "-t", "4", "-t", "5", "-b", "No", "-B", "Yes")
		done <- result{status, out}
	}()
	expect(t, user, "4\r\n-- Enter for more --")
	user.WriteString("\n")
	expect(t, user, "5\r\n[1] No  [2] Yes\r\nNumber or label, Enter for Yes: ")
	user.WriteString("what\n")
	expect(t, user, "There is no button what.\r\n[1] No  [2] Yes\r\nNumber or label, Enter for Yes: ")
	user.WriteString("no\n")
	if got := <-done; got != (result{0, "No\n"}) {
		t.Errorf("got %+v", got)
	}
}

// TestTimeout lets the time of a question pass.
func TestTimeout(t *testing.T) {
	user, path := openUser(t)
	done := make(chan string, 1)
	go func() {
		status, out, errs := call(t, path, "pmconfirm", "-timeout", "1", "-t", "Quick!")
		done <- fmt.Sprintf("%d %q %q", status, out, errs)
	}()
	expect(t, user, "Enter for Continue: ")
	if got, want := <-done, `1 "" "pmconfirm: no answer in time\n"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
