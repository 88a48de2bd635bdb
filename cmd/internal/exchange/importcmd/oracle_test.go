package importcmd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/exchange/importcmd"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// run runs the command and returns its output.
func run(stdin string, env map[string]string, args ...string) (stderr string, status int) {
	var out bytes.Buffer
	get := func(name string) string { return env[name] }
	status = importcmd.Command.Run(context.Background(), &cli.Env{
		Name: "pcp import", Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out,
		Getenv: get, Version: "6.0.3", Command: importcmd.Command,
	})
	return out.String(), status
}

// pmrep runs the real pmrep.
func pmrep(t *testing.T, args ...string) string {
	t.Helper()
	script, err := os.ReadFile("/usr/bin/pmrep")
	if err != nil {
		t.Skip("pmrep is not installed")
	}
	out := oracle.Python(t, nil, string(script), args...)
	if out.Exit != 0 || out.Stdout == "" {
		t.Fatalf("pmrep: exit %d: %s", out.Exit, out.Stderr)
	}
	return out.Stdout
}

// TestPmrepOracle imports the real pmrep's output for an archive: the real
// pmlogcheck accepts the result, and pmrep's output for it is the same.
func TestPmrepOracle(t *testing.T) {
	oracle.Require(t)
	from := "/var/lib/pcp/testsuite/archives/20130706"
	if _, err := os.Stat(from + ".index"); err != nil {
		t.Skip("the QA suite of PCP is not installed: ", err)
	}
	metrics := []string{"kernel.all.load", "hinv.ncpu", "kernel.uname.sysname", "hinv.cpu.vendor", "mem.util.used", "disk.dev.total"}
	args := []string{"-o", "csv", "-Z", "UTC", "-t", "60", "-s", "30"}
	csv := pmrep(t, append(append(args, "-a", from), metrics...)...)
	for _, version := range []string{"2", "3"} {
		base := filepath.Join(t.TempDir(), "x")
		if out, status := run(csv, map[string]string{"TZ": "UTC"}, "csv", "-h", "h", "--archive-version", version, "-", base); status != 0 || strings.Count(out, "\n") != 1 {
			t.Fatalf("exit %d: %s", status, out)
		}
		if out := oracle.Run(t, "pmlogcheck", base); out.Exit != 0 || out.Stdout+out.Stderr != "" {
			t.Errorf("pmlogcheck: exit %d: %s%s", out.Exit, out.Stdout, out.Stderr)
		}
		if out := oracle.Run(t, "pmdumplog", "-a", base); out.Exit != 0 || out.Stderr != "" || !strings.Contains(out.Stdout, `value "Linux"`) {
			t.Errorf("pmdumplog: exit %d: %s", out.Exit, out.Stderr)
		}
		if version == "2" {
			continue // pmrep takes its time
		}
		again := pmrep(t, append(append(args, "-u", "-r", "-a", base), metrics...)...)
		if got, want := lines(again), lines(csv); len(got) < 10 || !common(got, want) {
			t.Errorf("pmrep of the archive:\n%.2000s\nof the first:\n%.2000s", again, csv)
		}
	}
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// common reports whether all lines of got are in want.
func common(got, want []string) bool {
	have := make(map[string]bool)
	for _, l := range want {
		have[l] = true
	}
	for _, l := range got {
		if !have[l] {
			return false
		}
	}
	return true
}
