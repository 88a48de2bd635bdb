package timectl

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/timecontrol"
)

// TestTerminal runs pcp time at a terminal: it takes single keys, shows the position, and restores the terminal at the end.
func TestTerminal(t *testing.T) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	user := os.NewFile(uintptr(fd), "/dev/ptmx")
	defer user.Close()
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals: %v", err)
	}
	defer program.Close()
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	env := &cli.Env{
		Name: "pcp time", Stdin: program, Stdout: program, Stderr: program, Command: Command,
		Getenv: func(string) string { return "" }, OutTerminal: func() bool { return true }, Columns: func() int { return 100 },
	}
	done := make(chan int, 1)
	go func() { done <- run(t.Context(), env) }()
	seen := ""
	expect := func(re string) []string {
		t.Helper()
		user.SetReadDeadline(time.Now().Add(time.Minute))
		want, buf := regexp.MustCompile(re), make([]byte, 4096)
		for {
			if m := want.FindStringSubmatch(seen); m != nil {
				seen = seen[strings.Index(seen, m[0])+len(m[0]):]
				return m
			}
			n, err := user.Read(buf)
			if err != nil {
				t.Fatalf("want %s, got %q: %v", re, seen, err)
			}
			seen += string(buf[:n])
		}
	}
	port := expect(`port=(\d+)\s`)[1]
	expect(`Keys: space`)
	expect(`archive  stopped  no tool has come yet`)
	c, err := timecontrol.Dial(t.Context(), portOf(":"+port), timecontrol.Message{
		Source: timecontrol.Archive, Delta: time.Second, Position: pcp.Timestamp{Sec: 60}, End: pcp.Timestamp{Sec: 120}, Zone: "UTC", ZoneLabel: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		for {
			m, err := c.Receive(t.Context())
			if err != nil {
				return
			}
			if m.Command == timecontrol.Step {
				c.Ack(m.Position)
			}
		}
	}()
	expect(`archive  stopped  Thu Jan  1 00:01:00 1970 .* 1 tool`)
	io.WriteString(user, "\x1b[C")
	expect(`archive  stopped  Thu Jan  1 00:01:01 1970`)
	io.WriteString(user, ":nonsense\r")
	expect(`"nonsense" is not a command; help lists them`)
	io.WriteString(user, "q")
	select {
	case status := <-done:
		if status != 0 {
			t.Errorf("status %d", status)
		}
	case <-time.After(time.Minute):
		t.Fatal("q does not end it")
	}
	if after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS); err != nil || *after != *before {
		t.Errorf("the terminal is not as before: %v, %v", after, err)
	}
}

// TestNoWindow asks for a window where there is no display.
func TestNoWindow(t *testing.T) {
	var out, errs strings.Builder
	env := &cli.Env{
		Name: "pcp time", Args: []string{"--window"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Command: Command,
		Getenv: func(string) string { return "" },
	}
	const want = "pcp time: no window: there is no browser, or no display to open it on; without --window it is controlled by keys in a terminal\n"
	if status := run(t.Context(), env); status != 1 || errs.String() != want {
		t.Errorf("status %d: %s", status, errs.String())
	}
}
