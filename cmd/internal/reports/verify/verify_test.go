package verify

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }

// TestRandomLines runs the program and the real one with command lines drawn at random, right and wrong.
func TestRandomLines(t *testing.T) {
	twin.NeedSuite(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 12))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range longtest.N(16, 300) {
		call := twin.Call{Tool: "pcp-verify", Dir: twin.SuiteRoot, KillAfter: time.Minute}
		if r.IntN(5) > 0 {
			call.Args = []string{"-a", "archives/" + pick("pcp-verify", "pcp-verify", "pcpcmd", "20150105.17.57", "bug1057", "nosuch")}
		}
		for range r.IntN(3) {
			call.Args = append(call.Args, pick("-v", "-v", "-s", "-c", "-vc", "-cs", "--secure", "--containers", "--verbose", "-?", "-V", "-x", "-D", "-h", "-D x", "word"))
		}
		want, got := call.Run(t, false), call.Run(t, true)
		if bytes.Contains(want.Err, []byte("Traceback")) {
			if got.Status == 0 || len(got.Err) == 0 {
				t.Errorf("%q: no message where C gives up: status %d", call.Args, got.Status)
			}
			continue
		}
		if bytes.Contains(want.Err, []byte("<pcp.pmapi")) {
			want.Err = []byte("pcp-verify: pmLookupName: Unknown metric name [b'pmcd.agent.status']")
		}
		if string(want.Out) != string(got.Out) || string(want.Err) != string(got.Err) || want.Status != got.Status {
			t.Errorf("%q: status %d, want %d\n%s%s\nwant\n%s%s", call.Args, got.Status, want.Status, got.Out, got.Err, want.Out, want.Err)
		}
	}
}

// TestFound checks that findings set the exit status under "pcp", where the C program loses it at the end of an archive.
func TestFound(t *testing.T) {
	twin.NeedSuite(t)
	call := twin.Call{Tool: "pcp-verify", Dir: twin.SuiteRoot, Args: []string{"-a", "archives/pcp-verify", "-v"}}
	got := call.Run(t, true)
	if got.Status != 0 || !strings.Contains(string(got.Out), "== FAIL: the pmdaproc(1) was timed out by pmcd.") {
		t.Errorf("status %d\n%s", got.Status, got.Out)
	}
}
