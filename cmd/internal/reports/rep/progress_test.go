package rep

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// slow is an output that takes ten seconds for each write.
type slow struct{ bytes.Buffer }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(10 * time.Second)
	return s.Buffer.Write(p)
}

// TestProgress checks the progress of a long report, shown on a terminal if the report is written elsewhere. The line is
// cleared.
func TestProgress(t *testing.T) {
	base := filepath.Join(t.TempDir(), "machine")
	twin.Fixture(t, "machine", base)
	run := func(out, errs bool) (shown string) {
		synctest.Test(t, func(t *testing.T) {
			var report slow
			var messages bytes.Buffer
			vars := map[string]string{"TZ": "UTC", "PCP_CONF": "/dev/null", "TERM": "xterm"}
			env := &cli.Env{
				Name: "pcp rep", Program: "pcp", Args: []string{"-a", base, "-t", "0.005", "-s", "4000", "kernel.all.load"}, Version: "0",
				Stdin: strings.NewReader(""), Stdout: &report, Stderr: &messages, Command: Command,
				OutTerminal: func() bool { return out }, ErrTerminal: func() bool { return errs },
				Getenv:    func(name string) string { return vars[name] },
				LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
			}
			if status := Command.Run(context.Background(), env); status != 0 {
				t.Errorf("status %d: %s", status, messages.String())
			}
			shown = messages.String()
		})
		return shown
	}
	if got := run(false, true); !strings.Contains(got, "%\r\x1b[K") || !strings.HasPrefix(got, "\rpcp rep:") {
		t.Errorf("with the report in a file there is %q on the terminal", got)
	}
	if got := run(true, true); got != "" {
		t.Errorf("between the lines of the report there is %q", got)
	}
	if got := run(false, false); got != "" {
		t.Errorf("in a file there is %q", got)
	}
}
