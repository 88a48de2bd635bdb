package agentadmin_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentadmin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func agentTool(t *testing.T, env []string, args ...string) (out string, status int) {
	t.Helper()
	var b bytes.Buffer
	status = agentadmin.Command.Run(t.Context(), &cli.Env{
		Name: "pcp agent", Args: args, Stdout: &b, Stderr: &b, Command: agentadmin.Command,
		Getenv: func(name string) string {
			for _, v := range append(os.Environ(), env...) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		},
	})
	return b.String(), status
}

// TestOracle tests an agent written in C, and lists the agent in a real collector.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "simple"}})
	dir := t.TempDir()
	conf := filepath.Join(dir, "pmcd.conf")
	if err := os.WriteFile(conf, []byte("gone 99 pipe binary /bin/gone\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := agentTool(t, d.Env, "test", "--timeout", "60", "-n", d.PMNS, filepath.Join(d.PMDAs, "simple", "pmdasimple"), "-d", "253", "-l", filepath.Join(t.TempDir(), "simple.log"))
	if !strings.Contains(out, "\nsimple: domain 253, 5 metrics, 2 instance domains, 9 values: ") && !strings.HasPrefix(out, "simple: domain 253, 5 metrics") {
		t.Errorf("pcp agent test of the C agent: %s", out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "problem: ") && !strings.Contains(line, "help text") { // its file may not be installed
			t.Error(line)
		}
	}

	if out, status := agentTool(t, nil, "list", "-c", conf, "-h", d.TCP); status != 0 ||
		!strings.Contains(out, "   253  simple           in process  running") ||
		!strings.Contains(out, "    99  gone             pipe        not started  /bin/gone\n") {
		t.Errorf("pcp agent list: status %d\n%s", status, out)
	}

	// The real collector reads the lines that enable writes.
	for _, args := range [][]string{
		{"enable", "-c", conf, "simple"},
		{"enable", "-c", conf, "--notready", "odd", "/bin/true", "-d", "400", "two words", "a#b", `say "x"`},
		{"disable", "-c", conf, "gone"},
	} {
		if out, status := agentTool(t, nil, args...); status != 0 {
			t.Errorf("pcp agent %q: %s", args, out)
		}
		if out := oracle.Run(t, "pmcd", "-v", "-c", conf); out.Exit != 0 || out.Stdout+out.Stderr != "" {
			t.Errorf("after pcp agent %q pmcd -v says %+v", args, out)
		}
	}
}
