package backend

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutputLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, said := plainLog()
		var b bytes.Buffer
		o := &outputLimiter{out: &b, log: log, agent: "chatty"}
		write := func(s string) {
			t.Helper()
			if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("Write of %d bytes = %d, %v: the agent would notice", len(s), n, err)
			}
		}
		line := strings.Repeat("x", 999) + "\n"
		for range 200 {
			write(line)
		}
		kept := maxAgentOutput / 1000
		if want := strings.Repeat(line, kept); b.String() != want {
			t.Errorf("%d bytes are kept, want %d", b.Len(), len(want))
		}
		write("short\n")
		time.Sleep(outputInterval)
		synctest.Wait()
		want := fmt.Sprintf("level=WARN msg=\"agent's standard error: more than is kept was dropped\" agent=chatty bytes=%d kept=65536 within=1m0s\n", (200-kept)*1000+6)
		if said.String() != want {
			t.Errorf("log is %s, want %s", said.String(), want)
		}

		// Then it has room again, and an agent that stays within it is not
		// mentioned.
		b.Reset()
		said.Reset()
		for range 10 {
			write(strings.Repeat(line, 60))
			time.Sleep(outputInterval)
			synctest.Wait()
		}
		if b.Len() != 600*1000 || said.Len() != 0 {
			t.Errorf("%d bytes are kept, want 600000; log is %s", b.Len(), said.String())
		}

		// A line without end is cut, and the log's own does not continue it.
		b.Reset()
		write(strings.Repeat("y", 3*maxAgentOutput))
		o.flush()
		if want := strings.Repeat("y", maxAgentOutput) + "\n"; b.String() != want {
			t.Errorf("%d bytes are kept of a line without end, want %d and an end", b.Len(), maxAgentOutput)
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputLimiterFullDisk must not end the agent, whose pipe would break.
func TestOutputLimiterFullDisk(t *testing.T) {
	log, _ := plainLog()
	o := &outputLimiter{out: fullDisk{}, log: log}
	if n, err := o.Write([]byte("help\n")); n != 5 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	o.flush()
}

// plainLog returns a logger without times, and its output.
func plainLog() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && groups == nil {
			return slog.Attr{}
		}
		return a
	}})), &b
}
