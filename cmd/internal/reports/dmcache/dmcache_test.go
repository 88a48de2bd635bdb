package dmcache

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) { twin.Main(m, Command, LVMCommand) }

// TestRandomLines runs the programs and the real ones with command lines drawn at random, right and wrong,
// over an archive of the suite with caches, an archive without caches, and no archive.
func TestRandomLines(t *testing.T) {
	twin.NeedSuite(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 11))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range longtest.N(20, 500) {
		call := twin.Call{
			Tool: pick("pcp-dmcache", "pcp-lvmcache"),
			Env:  []string{"PCP_ARCHIVE=" + pick("archives/dm-io", "archives/dm-io", "archives/dm-io", "archives/dm-io", "archives/dm-io", "archives/20041125.0", "nosuch")},
			Dir:  twin.SuiteRoot, KillAfter: time.Minute,
		}
		for range r.IntN(4) {
			call.Args = append(call.Args, pick("-i", "-i", "--iops", "-R3", "--repeat=2", "-R", "-7", "1_0", "dmcache1", "dmcache2", "dmcache", "-?", "--help", "-V", "-x", "--", "-", "--rep"))
		}
		for range r.IntN(4) {
			call.Env = append(call.Env, pick("PCP_SAMPLES=4", "PCP_SAMPLES=0", "PCP_INTERVAL=3", "PCP_INTERVAL=x", "PCP_HOSTZONE=1",
				"PCP_TIMEZONE=EST5EDT", "PCP_START_TIME=+3", "PCP_START_TIME=foo", "PCP_FINISH_TIME=+8", "PCP_ORIGIN_TIME=+4", "PCP_ALIGN_TIME=5"))
		}
		if skip(call.Args) {
			continue
		}
		if d := twin.Compare(t, call); d != "" {
			t.Errorf("%q: %s", call.Env, d)
		}
	}
}

// skip reports whether -R has an argument at which the C program gives up, or prints its position.
func skip(args []string) bool {
	for i, a := range args {
		if (a == "-R" || a == "--rep") && i+1 < len(args) && args[i+1] != "-7" && args[i+1] != "1_0" {
			return true
		}
	}
	return false
}

// TestRepeat tries -R with numbers other than 0, at which the C program gives up.
func TestRepeat(t *testing.T) {
	twin.NeedSuite(t)
	for _, arg := range []string{"0", "x", ""} {
		call := twin.Call{Tool: "pcp-dmcache", Args: []string{"-R", arg}, Env: []string{"PCP_ARCHIVE=" + filepath.Join(twin.SuiteRoot, "archives", "dm-io")}}
		got := call.Run(t, true)
		want := "pcp-dmcache: -R " + arg + ": after how many samples the header is to be repeated must be a number other than 0\n"
		if got.Status != 1 || len(got.Out) > 0 || string(got.Err) != want {
			t.Errorf("-R %q: status %d, %q %q", arg, got.Status, got.Out, got.Err)
		}
	}
}
