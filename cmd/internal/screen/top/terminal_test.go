//go:build unix

package top

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A terminal is a terminal of the test, with a program on it.
type terminal struct {
	t       *testing.T
	master  *os.File
	slave   *os.File
	mu      sync.Mutex
	emu     *vt.Emulator
	sent    bytes.Buffer
	before  *term.State
	done    chan int
	errs    bytes.Buffer
	reading sync.WaitGroup
}

// open runs pcp top with arguments on a terminal.
func open(t *testing.T, dir string, w, h int, vars map[string]string, args ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	tt := &terminal{t: t, master: master, slave: slave, emu: vt.NewEmulator(w, h), done: make(chan int, 1)}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.Fatal(err)
	}
	if tt.before, err = term.GetState(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	tt.read()
	env := &cli.Env{
		Name: "pcp top", Program: "pcp", Args: args, Stdin: slave, Stdout: slave, Screen: slave, Stderr: &tt.errs, Version: "test",
		Getenv: func(name string) string {
			if v, ok := vars[name]; ok {
				return v
			}
			return map[string]string{"TZ": "UTC", "PCP_CONF": os.DevNull, "LANG": "C.UTF-8", "TERM": "xterm-256color"}[name]
		},
		Command: Command, Commands: []*cli.Command{Command},
	}
	t.Chdir(dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	go func() {
		tt.done <- Command.Run(ctx, env)
	}()
	return tt
}

// read makes the emulator show the output, and the test clean up.
func (tt *terminal) read() {
	tt.reading.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := tt.master.Read(b)
			tt.mu.Lock()
			tt.sent.Write(b[:n])
			tt.emu.Write(b[:n])
			tt.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	// Answers of the emulator are discarded, as on a terminal that knows no questions.
	var answers sync.WaitGroup
	answers.Go(func() { io.Copy(io.Discard, tt.emu) })
	tt.t.Cleanup(func() {
		tt.master.Close()
		tt.slave.Close()
		tt.reading.Wait()
		// The emulator's own Close must not be called while it is read.
		tt.emu.InputPipe().(io.Closer).Close()
		answers.Wait()
	})
}

// screen returns the contents of the screen.
func (tt *terminal) screen() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(tt.emu.String()) {
		b.WriteString(strings.TrimRight(line, " \r\n") + "\n")
	}
	return b.String()
}

// await waits until a text is on the screen, and returns the screen.
func (tt *terminal) await(what string, is func(screen string) bool) string {
	tt.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s := tt.screen()
		if is(s) {
			return s
		}
		if time.Now().After(end) {
			tt.t.Fatalf("%s does not come:\n%s", what, s)
		}
	}
}

func (tt *terminal) see(text string) string {
	tt.t.Helper()
	return tt.await(text, func(s string) bool { return strings.Contains(s, text) })
}

func (tt *terminal) press(keys string) {
	tt.t.Helper()
	if _, err := tt.master.WriteString(keys); err != nil {
		tt.t.Fatal(err)
	}
}

// leave waits for the end, and checks that the terminal is restored.
func (tt *terminal) leave() {
	tt.t.Helper()
	select {
	case status := <-tt.done:
		if status != 0 {
			tt.t.Errorf("the status is %d: %s", status, tt.errs.String())
		}
	case <-time.After(20 * time.Second):
		tt.t.Fatalf("it does not end:\n%s", tt.screen())
	}
	after, err := term.GetState(int(tt.slave.Fd()))
	if err != nil {
		tt.t.Fatal(err)
	}
	if !reflect.DeepEqual(tt.before, after) {
		tt.t.Errorf("the terminal is not as it was: %+v, before %+v", after, tt.before)
	}
	tt.await("the end of the other screen", func(string) bool {
		tt.mu.Lock()
		defer tt.mu.Unlock()
		sent := tt.sent.String()
		for _, pair := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}, {"\x1b[?1002h", "\x1b[?1002l"}, {"\x1b[?2004h", "\x1b[?2004l"}} {
			if strings.LastIndex(sent, pair[0]) > strings.LastIndex(sent, pair[1]) {
				return false
			}
		}
		return true
	})
}

// TestTerminal compares the screen of a terminal emulator during a replay with testdata/screen-*.txt, at three
// sizes. UPDATE=1 writes them.
func TestTerminal(t *testing.T) {
	dir := archive(t, nil)
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct {
		w, h int
		name string
	}{{80, 24, "screen-80x24.txt"}, {120, 40, "screen-120x40.txt"}, {200, 60, "screen-200x60.txt"}} {
		tt := open(t, dir, size.w, size.h, nil, "-a", "host", "-S", "@08:06:00", "--paused")
		path := filepath.Join(data, size.name)
		if os.Getenv("UPDATE") != "" {
			got := tt.see("rustc")
			for again := ""; again != got; { // it may be half drawn
				again = got
				time.Sleep(300 * time.Millisecond)
				got = tt.screen()
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := tt.await(size.name, func(s string) bool { return strings.Contains(s, "rustc") && strings.Contains(s, "Quit") })
		for end := time.Now().Add(5 * time.Second); got != string(want) && time.Now().Before(end); got = tt.screen() {
			time.Sleep(10 * time.Millisecond)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", size.name, diff)
		}
		tt.press("q")
		tt.leave()
	}
}

// TestSession is a session of a user on a terminal.
func TestSession(t *testing.T) {
	dir := archive(t, nil)
	tt := open(t, dir, 80, 24, nil, "-a", "host", "-S", "@08:06:00", "--paused")
	tt.see("rustc")
	tt.press("2")
	tt.see("14 processes")
	tt.press("/nginx")
	tt.see("2 of 14 processes")
	tt.press("\r\x1b[C") // a step forward
	tt.see("08:06:10")
	if err := pty.Setsize(tt.master, &pty.Winsize{Cols: 120, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	tt.mu.Lock()
	tt.emu.Resize(120, 30)
	tt.mu.Unlock()
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(syscall.SIGWINCH) // a kernel sends it only to the terminal's own processes
	}
	tt.see("READ/s")
	tt.press("\x1b[<0;4;2M\x1b[<0;4;2m") // a click on the first tab
	tt.see("Memory")
	// A frame sends only changes.
	tt.mu.Lock()
	was := tt.sent.Len()
	tt.mu.Unlock()
	tt.press("\x1b[B")
	tt.press("\x1b[C")
	tt.see("08:06:20")
	tt.mu.Lock()
	n := tt.sent.Len() - was
	tt.mu.Unlock()
	if n > 6000 {
		t.Errorf("a step sends %d bytes", n)
	}
	tt.press("E\x15shown.csv\r") // the name in place of the offered one
	tt.see("saved in shown.csv")
	if b, err := os.ReadFile(filepath.Join(dir, "shown.csv")); err != nil || strings.Count(string(b), "nginx: worker process") != 2 {
		t.Errorf("the table is %q, %v", b, err)
	}
	tt.press("E\x15shown.csv\r")
	tt.see("file exists")
	tt.press("w")
	tt.see("What changed")
	tt.see("so it is not known what changed")
	tt.press("\x03")
	tt.leave()
}

// TestNoColour tests that there are no colours where none are wanted, and only text where there are no
// screens.
func TestNoColour(t *testing.T) {
	dir := archive(t, nil)
	tt := open(t, dir, 80, 24, map[string]string{"NO_COLOR": "1"}, "-a", "host", "--paused")
	tt.see("nginx")
	tt.press("q")
	tt.leave()
	tt.mu.Lock()
	for _, colour := range []string{"\x1b[3", "\x1b[9", "\x1b[38", ";38;", ";3"} {
		for i, rest := 0, tt.sent.String(); ; {
			at := strings.Index(rest[i:], colour)
			if at < 0 {
				break
			}
			i += at + len(colour)
			if end := strings.IndexAny(rest[i:], "mHABCDJKhlr"); end >= 0 && end < 12 && rest[i+end] == 'm' {
				t.Errorf("colour: %q", rest[max(0, i-4):i+end+1])
			}
		}
	}
	tt.mu.Unlock()
	dumb := open(t, dir, 80, 24, map[string]string{"TERM": "dumb"}, "-a", "host", "-s", "1")
	dumb.see("nginx")
	dumb.leave()
	dumb.mu.Lock()
	defer dumb.mu.Unlock()
	if strings.Contains(dumb.sent.String(), "\x1b") {
		t.Errorf("a dumb terminal gets %q", dumb.sent.String())
	}
}
