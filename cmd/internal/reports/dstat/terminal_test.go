//go:build unix

package dstat

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// collector serves two metrics, and returns the name of its host. The first counts its fetches.
func collector(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dstat") // a short name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	lns, err := pmcd.Listen(t.Context(), pmcd.ListenConfig{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Uint32
	s, err := pmcd.New(pmcd.Config{
		Listeners: lns,
		Agents: []pmcd.AgentSpec{{Name: "test", Domain: 400, Open: func(*pmcd.Server) (pmda.Agent, error) {
			return pmda.NewTable(pmda.Config{Name: "test", Domain: 400, Metrics: []pmda.Metric{
				{Name: "test.n", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(n.Add(1)), nil }},
				{Name: "test.b", Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil }},
			}})
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "unix:" + socket
}

// A session is a run on a terminal.
type session struct {
	t      *testing.T
	slave  *os.File
	before *term.State
	cancel context.CancelCauseFunc
	done   chan int

	mu   sync.Mutex
	sent bytes.Buffer
	errs bytes.Buffer
}

// open runs dstat on a terminal of the given size, with plugins of the test.
func open(t *testing.T, rows, cols int, vars map[string]string, args ...string) *session {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, slave: slave, done: make(chan int, 1)}
	if s.before, err = term.GetState(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			s.mu.Lock()
			s.sent.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		master.Close()
		slave.Close()
		reading.Wait()
	})
	dir := t.TempDir()
	for path, text := range map[string][]byte{
		"dstat/plugins": []byte("[count]\nwidth = 4\nprinttype = d\nn = test.n\n[wide]\nlabel = a wide one\nwidth = 20\nb = test.b\n"),
		"info/t/test":   description(terminfoMagic, 14, 8),
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	base := getenv(t, map[string]string{"PCP_SYSCONF_DIR": dir, "TERM": "test", "TERMINFO": filepath.Join(dir, "info"), "PCP_HOST": collector(t)})
	size := func(i int) func() int {
		return func() int {
			cols, rows, err := term.GetSize(int(slave.Fd()))
			if err != nil {
				t.Error(err)
			}
			return [...]int{rows, cols}[i]
		}
	}
	env := &cli.Env{
		Name: "pcp dstat", Program: "pcp", Args: args, Stdin: slave, Stdout: slave, Screen: slave, Stderr: &s.errs, Version: "test",
		Getenv: func(name string) string {
			if v, ok := vars[name]; ok {
				return v
			}
			return base(name)
		},
		Rows: size(0), Columns: size(1), OutTerminal: func() bool { return true },
		Command: Command, Commands: []*cli.Command{Command},
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancelCause(t.Context())
	t.Cleanup(func() { s.cancel(nil) })
	go func() { s.done <- Command.Run(ctx, env) }()
	return s
}

// await waits until the terminal has received a text a number of times, and returns all output so far.
func (s *session) await(text string, times int) string {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		sent := s.sent.String()
		s.mu.Unlock()
		if strings.Count(sent, text) >= times {
			return sent
		}
		if time.Now().After(end) {
			s.t.Fatalf("%q does not come %d times: %q", text, times, sent)
		}
	}
}

// leave waits for the end, checks that the terminal is restored, and returns the output on standard error.
func (s *session) leave() string {
	s.t.Helper()
	select {
	case status := <-s.done:
		if status != 0 {
			s.t.Errorf("status %d: %s", status, s.errs.String())
		}
	case <-time.After(20 * time.Second):
		s.t.Fatal("it does not end")
	}
	after, err := term.GetState(int(s.slave.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	if !reflect.DeepEqual(s.before, after) {
		s.t.Errorf("the terminal is %+v, before %+v", after, s.before)
	}
	return s.errs.String()
}

// TestTrimmed checks that a plugin is left out if the terminal is too narrow for it.
func TestTrimmed(t *testing.T) {
	s := open(t, 24, 12, nil, "--nocolor", "--count", "--wide", "0.01", "2")
	errs := s.leave()
	sent := s.await("\n", 3)
	if !strings.Contains(errs, "Terminal width too small, trimming output.") {
		t.Errorf("it says %q", errs)
	}
	if !strings.Contains(sent, "coun") || strings.Contains(sent, "wide") || strings.Contains(sent, "42") || !strings.Contains(sent, ">") {
		t.Errorf("the terminal gets %q", sent)
	}

	s = open(t, 24, 80, nil, "--nocolor", "--count", "--wide", "0.01", "2")
	if errs := s.leave(); errs != "" {
		t.Errorf("it says %q", errs)
	}
	if sent := s.await("42 ", 3); !strings.Contains(sent, "a-wide-one") {
		t.Errorf("the terminal gets %q", sent)
	}
}

// TestHeadings counts the headings, which are repeated for each screenful.
func TestHeadings(t *testing.T) {
	s := open(t, 8, 80, map[string]string{"NO_COLOR": "1"}, "--noupdate", "--count", "0.01", "20")
	s.leave()
	if sent := s.await("coun", 4); strings.Contains(sent, "\033[3") || strings.Contains(sent, "\033[0;3") {
		t.Errorf("there are colours with NO_COLOR: %q", sent)
	}

	s = open(t, 8, 80, nil, "--noheaders", "--noupdate", "--count", "0.01", "20")
	s.leave()
	if n := strings.Count(s.await("\n", 20), "coun"); n > 1 {
		t.Errorf("%d headings without headings", n)
	}
}

// TestInterim checks that a line is overwritten, in colours, until its interval is over, and then
// interrupts the program.
func TestInterim(t *testing.T) {
	s := open(t, 24, 80, nil, "--count", "3")
	sent := s.await(escRestore, 1)
	if !strings.Contains(sent, escSave) || !strings.Contains(sent, darkBlue) {
		t.Errorf("the terminal gets %q", sent)
	}
	s.cancel(errors.New("interrupt signal received"))
	if errs := s.leave(); errs != "" {
		t.Errorf("it says %q", errs)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		sent := s.await(escReset, 1)
		if strings.HasSuffix(sent, "\n"+escReset) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("colours are left on: %q", sent)
		}
	}
}
