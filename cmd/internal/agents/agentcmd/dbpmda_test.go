package agentcmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// session has the requests of a person debugging an agent; dbpmda(1) shows every answer
// unchanged. It does not request labels of instances while the profile selects none:
// the C library then sends a set without an instance.
const session = `getdesc on
desc 253.0.0
desc 253.0.1
desc 253.1.2
desc 253.2.4
desc 253.9.9
fetch 253.0.0
fetch 253.0.0 253.0.1
profile 253.0 none
profile 253.0 add 1
fetch 253.0.1
profile 253.0 delete 1
fetch 253.0.1
profile 253.0 all
profile 253.0 delete 0
fetch 253.0.1
profile 253.0 none
fetch 253.0.1 253.0.0
profile 253.0 all
profile 253.0 delete 2
fetch 253.0.1 253.9.9
instance 253.0
instance 253.0 1
instance 253.0 green
instance 253.0 "blue"
instance 253.1
instance 253.1 0
instance 253.7
instance 253.0 9
instance 253.0 pink
store 253.0.0 "77"
store 253.0.0 "4294967295"
store 253.0.1 "5"
store 253.0.1 "500"
store 253.0.1 "-5"
store 253.2.4 "5"
store 253.9.9 "5"
fetch 253.0.0 253.0.1
text 253.9.9
text indom 253.7
label context
label domain 253
label indom 253.0
label indom 253.1
label indom 253.7
label cluster 253.0
label cluster 253.9
label item 253.0.1
label item 253.9.9
label instances 253.0
label instances 253.1
label instances 253.7
attr 11 "1000"
attr "username" "pcp"
fetch 253.0.0
status
close
`

// TestOracleDbpmda runs the C debugger of agents on the C agent and on ours.
func TestOracleDbpmda(t *testing.T) {
	oracle.Require(t)
	c := theirs(t) // for its agent and name space
	dir := links(t)
	want := debug(t, c, filepath.Join(c.PMDAs, "simple", "pmdasimple"), c.PMDAs, "253", session)
	got := debug(t, c, filepath.Join(dir, "pmdasimple"), dir, "253", session)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dbpmda (-theirs +ours):\n%s", diff)
	}
	for _, part := range []string{`model="RGB"`, "Bad input to pmstore", "inst:", "253.0.1", "Unknown or illegal instance identifier"} {
		if !strings.Contains(got, part) {
			t.Errorf("dbpmda prints no %q:\n%s", part, got)
		}
	}
}

// varies matches what differs between two runs: addresses, process ids, times, and the values
// of simple.now (second, minute, hour), which dbpmda prints on a store.
var varies = regexp.MustCompile(`253\.2\.4 \[\d\]: \d+ -> |0x[0-9a-f]{6,}|pid: \d+|timestamp: \S+ \S+|\b\d\d:\d\d:\d\d\.\d+`)

// debug makes dbpmda open an agent and execute a session; it returns the output.
func debug(t *testing.T, c side, agent, pmdas, domain, session string) string {
	t.Helper()
	dbpmda := oracle.Path("dbpmda")
	if dbpmda == "" {
		t.Skip("SKIPPED: real PCP has no dbpmda")
	}
	cmd := exec.Command(dbpmda, "-e", "-i", "-f", "-n", c.PMNS)
	cmd.Dir = t.TempDir()
	cmd.Env = append(oracle.Env(), c.Env...)
	cmd.Env = append(cmd.Env, "PCP_PMDAS_DIR="+pmdas)
	// Root, to have permission to read the test's files.
	cmd.Stdin = strings.NewReader("open pipe " + agent + " -d " + domain + " -U root -l agent.log\n" + session)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("dbpmda: %v\n%s", err, out)
	}
	if log, err := os.ReadFile(filepath.Join(cmd.Dir, "agent.log")); err != nil || strings.Contains(string(log), "panic") {
		t.Errorf("log of %s: %v\n%s", agent, err, log)
	}
	return strings.ReplaceAll(varies.ReplaceAllString(string(out), "VARIES"), agent, "AGENT")
}
