package mmv_test

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/internal/agent/mmv"
	"github.com/go-pcp/pcp/pmda"
)

// TestMain makes this program pmdammv if it has that name, so that a real
// collector can start our agent.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "pmdammv" {
		d := pmda.Daemon{Name: "pmdammv", Domain: mmv.Domain, PipeOnly: true, New: func(domain int, log *slog.Logger) (pmda.Agent, error) {
			return mmv.New(mmv.Config{Domain: domain, Log: log})
		}}
		os.Exit(d.Run(context.Background(), pmda.Environment{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		}))
	}
	// A default, which -fuzzminimizetime overrides. Go's own, a minute for each input that reaches new code,
	// leaves no time for anything else: inputs of a few kilobytes have millions of parts to remove.
	flag.Set("test.fuzzminimizetime", "100x")
	os.Exit(m.Run())
}
