package agentcmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestOracleGenload gets the types from a real collector, which counts the recorded
// transactions.
func TestOracleGenload(t *testing.T) {
	oracle.Require(t)
	dir := links(t)
	key := fmt.Sprint(0x30000000 | os.Getpid())
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{"txmon 248 pipe binary env PCP_TXMON_KEY=" + key + " " + filepath.Join(dir, "pmdatxmon") + " -d 248 one two"},
		PMNS:   "root {\n\ttxmon\n}\ntxmon {\n\tcount 248:0:0\n}\n",
	})
	run := func(env ...string) string {
		cmd := exec.Command(filepath.Join(dir, "genload"), "-n", "20", "100", "1")
		cmd.Env = append(append(oracle.Env(), "PCP_TXMON_KEY="+key), env...)
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%s%v", out, err)
	}
	if out := run(d.Env...); !strings.HasPrefix(out, "Mean service time for one tx: ") || !strings.HasSuffix(out, "<nil>") {
		t.Errorf("genload: %s", out)
	}
	counts := map[string]int{}
	for _, line := range strings.Split(d.Run(t, "pminfo", "-f", "txmon.count").Stdout, "\n") {
		var i, n int
		var name string
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "inst [%d or %q] value %d", &i, &name, &n); err == nil {
			counts[name] = n
		}
	}
	if counts["one"]+counts["two"] != 20 {
		t.Errorf("counts are %v, want 20 in all", counts)
	}
	d.Stop(t)
	if out := run(d.Env...); !strings.Contains(out, `genload: Cannot connect to PMCD on host "local:": `) ||
		!strings.Contains(out, "Error: Cannot determine transaction type names ... is the txmon PMDA running locally?\nexit status 1") {
		t.Errorf("genload without a collector: %s", out)
	}
}
