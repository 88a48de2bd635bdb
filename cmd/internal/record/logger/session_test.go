package logger

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func TestBytesText(t *testing.T) {
	f := func(n float64, want string) {
		t.Helper()
		if got := bytesText(n); got != want {
			t.Errorf("bytesText(%v) = %q, want %q", n, got, want)
		}
	}
	f(0, "0 bytes")
	f(10239.9, "10239 bytes")
	f(10240, "10.0 Kbytes")
	f(10*1024*1024-1, "10240.0 Kbytes")
	f(10<<20, "10.0 Mbytes")
	f(10<<30-1<<20, "10239.0 Mbytes")
	f(10<<30, "10240 Mbytes")
}

// TestMessage checks the messages of a session after a while.
func TestMessage(t *testing.T) {
	s := &session{folio: "f", host: "bozo"}
	f := func(since time.Duration, want string) {
		t.Helper()
		if got := s.message('Q', since, 20480); !strings.Contains(got, " has been in progress for "+want+" and in that time the pmlogger process has created an archive of 20.0 Kbytes.") {
			t.Errorf("after %v: %s", since, got)
		}
	}
	f(0, "1 seconds")
	f(239*time.Second+time.Second/2, "239 seconds")
	f(4*time.Minute, "4 minutes")
	f(5*time.Minute-time.Second, "5 minutes")
	if got := s.message('D', time.Minute, 600); !strings.Contains(got, "grow at the rate of 35.2 Kbytes per hour or 843.8 Kbytes per day.") {
		t.Error(got)
	}
	if got := s.message('X', time.Minute, 0); strings.Contains(got, "pmafm") || !strings.HasSuffix(got, "\n\nTerminate this PCP recording session now?") {
		t.Error(got)
	}
}

// TestAnswers checks the answers of a dialog program.
func TestAnswers(t *testing.T) {
	f := func(confirm, verb, want, says string) {
		t.Helper()
		var log bytes.Buffer
		s := &session{w: &log, tmp: t.TempDir(), confirm: strings.Fields(confirm), program: "viewer"}
		if got := s.show(t.Context(), verb[0], "text\n"); !strings.HasPrefix(got, want) || !strings.Contains(log.String(), says) {
			t.Errorf("%s: %q, want %q; the log has %q", confirm, got, want, log.String())
		}
		if left, err := os.ReadDir(s.tmp); err != nil || len(left) > 0 {
			t.Errorf("%s: there is %v, %v", confirm, left, err)
		}
	}
	f("echo", "X", "-c -header PCP Archive Recording Session - viewer -file", "")
	f("true", "X", "Yes", "\nError: pmconfirm(1) failed for recording session dialog\nDialog:\ntext\n")
	f("/no/such/program", "?", "Yes", "\nWarning: pmconfirm(1) failed for recording session dialog\nDialog:\ntext\n")
	f("", "?", "Yes", "\nWarning: ")

	var log bytes.Buffer
	s := &session{w: &log, tmp: "/no/such/directory"}
	if got := s.show(t.Context(), 'X', "text"); got != "Yes" || !strings.HasSuffix(log.String(), "Reason? No such file or directory\nDialog:\ntext") {
		t.Errorf("%q, %q", got, log.String())
	}
}

// TestSessionEnds ends sessions from both sides, and waits for their processes.
func TestSessionEnds(t *testing.T) {
	f := func(in string, stop, want error) {
		t.Helper()
		pr, pw, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer pw.Close()
		var log bytes.Buffer
		s := &session{in: pr, w: &log, tmp: t.TempDir(), size: func(context.Context) (int64, error) { return 1, nil }}
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := s.run(ctx, func(err error) { ended <- err })
		if _, err := io.WriteString(pw, in); err != nil {
			t.Fatal(err)
		}
		if stop == nil {
			stop = <-ended
		}
		wait(stop)
		if !errors.Is(stop, want) {
			t.Errorf("%q ends with %v", in, stop)
		}
	}
	f("V0\nQ\n", nil, errSession)
	f("what?\n", nil, errSession)
	f("V0\n", context.Canceled, context.Canceled)
	f("V0\n?\n", context.Canceled, context.Canceled)
}

// TestForeignFile gives -x a file that the program opened itself, as the runtime does.
func TestForeignFile(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	arg := strconv.Itoa(int(f.Fd()))
	status := Command.Run(t.Context(), &cli.Env{
		Name: "pmlogger", Args: []string{"-x", arg, "-l", t.TempDir() + "/log", "a"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &out,
		Getenv: func(string) string { return "" }, Command: Command,
	})
	if status != 1 || !strings.Contains(out.String(), "-x "+arg+" is not an open file") {
		t.Errorf("status %d, %s", status, out.String())
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte("V0\nFfolio\nPprogram\nR\n?\nD\n"))
	f.Add([]byte("Q"))
	f.Add([]byte("F\xff\x00\nX\n"))
	f.Add(bytes.Repeat([]byte("F"), maxRequest+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(b), maxRequest)
		s := &session{w: io.Discard, trace: true}
		for range len(b) + 2 {
			line, err := in.ReadSlice('\n')
			verb := s.take(line, err)
			if len(s.folio) >= maxRequest || len(s.program) >= maxRequest {
				t.Fatalf("%d bytes are taken", len(s.folio))
			}
			switch verb {
			case 0, '?':
				continue
			case 'D', 'Q', 'X':
				return
			}
			t.Fatalf("%q is taken for %q", line, verb)
		}
		t.Fatal("it does not end")
	})
}
