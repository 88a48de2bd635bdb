package shping

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/live/info"
	"github.com/go-pcp/pcp/cmd/internal/live/probe"
	"github.com/go-pcp/pcp/cmd/internal/rules/ie"
	"github.com/go-pcp/pcp/cmd/internal/rules/ie2col"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) {
	twin.Main(m, Command, ie.Command, ie2col.Command, info.Command, probe.Command)
}

// TestRandomLines runs the program and the real one, a script, with command lines drawn at random.
func TestRandomLines(t *testing.T) {
	twin.NeedSuite(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 13))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range longtest.N(12, 100) {
		call := twin.Call{
			Tool: "pcp-shping", Dir: twin.SuiteRoot, KillAfter: time.Minute,
			Env: []string{"PCP_DIR=", "PCP_ARCHIVE=archives/" + pick("pcp-shping", "pcp-shping", "pcp-shping", "pcp-shping", "dm-io")},
		}
		for range r.IntN(3) {
			call.Args = append(call.Args, pick("-l", "--tags", "-c", "--status", "-?", "--help", "http", "dns", "dns-self", "nosuch", "--"))
		}
		for range r.IntN(3) {
			call.Env = append(call.Env, pick("PCP_INTERVAL=30", "PCP_HOSTZONE=1", "PCP_FINISH_TIME=+50", "PCP_START_TIME=+20", "PCP_INTERVAL=1min"))
		}
		if d := twin.Compare(t, call); d != "" {
			t.Errorf("%q: %s", call.Env, d)
		}
	}
}

// TestNoCollector checks for a single error line, where the script prints everything else.
func TestNoCollector(t *testing.T) {
	call := twin.Call{Tool: "pcp-shping", Env: []string{"PCP_HOST=localhost:1"}}
	got := call.Run(t, true)
	if want := "pcp-shping: Cannot connect to PMCD on host \"localhost:1\": Connection refused\n"; got.Status != 1 || string(got.Out) != want {
		t.Errorf("status %d, %q, want %q", got.Status, got.Out, want)
	}
}
