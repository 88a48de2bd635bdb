package logsummary

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// different lists the expected differences, with the reason.
var different = map[string]string{
	// With a wrong index the C tool finds nothing in the second pass.
	"-B badti-2": "a bad index",
}

// randomOptions returns options in a random combination.
func randomOptions(rnd *rand.Rand) []string {
	var opts []string
	for _, o := range []string{"-a", "-b", "-f", "-F", "-H", "-i", "-I", "-l", "-m", "-M", "-N", "-s", "-v", "-x", "-y", "-z"} {
		if rnd.IntN(4) == 0 {
			opts = append(opts, o)
		}
	}
	if rnd.IntN(3) == 0 {
		opts = append(opts, fmt.Sprintf("-p%d", rnd.IntN(12)))
	}
	if rnd.IntN(3) == 0 {
		opts = append(opts, fmt.Sprintf("-B%d", 1+rnd.IntN(7)))
	}
	if rnd.IntN(4) == 0 {
		opts = append(opts, fmt.Sprintf("-S%dsec", rnd.IntN(100)))
	}
	if rnd.IntN(4) == 0 {
		opts = append(opts, fmt.Sprintf("-T%dsec", rnd.IntN(300)))
	}
	return opts
}

// TestSuite compares summaries of the archives of the QA suite with options in
// random combinations.
func TestSuite(t *testing.T) {
	list := twin.Archives(t, 3)
	seed := uint64(1)
	if longtest.Enabled() {
		seed = uint64(time.Now().UnixNano())
	}
	t.Log("seed ", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, a := range list {
		c := twin.Call{Tool: "pmlogsummary", Args: append(randomOptions(rnd), a)}
		if rnd.IntN(4) == 0 {
			c.Env = []string{"PCP_COUNTER_WRAP="}
		}
		if d := twin.Compare(t, c); d != "" {
			key := filepath.Base(a)
			if strings.Contains(strings.Join(c.Args, " "), "-B") {
				key = "-B " + key
			}
			if different[key] == "" {
				t.Errorf("%s %s", c.Env, d)
			}
		}
	}
}

// TestArguments compares the output for all sorts of arguments.
func TestArguments(t *testing.T) {
	twin.Archives(t, 3)
	for _, line := range []string{
		"", "-?", "-V", "-q", "nosuch", "-a nosuch", "-B x small", "-B -1 small", "-B 0 20041125", "-p x small", "-p -1 20041125",
		"-S foo 20041125", "-S @12:00", "-n /nosuch 20041125", "-Z Asia/Tokyo -alI 20041125", "-z -l omnibus_v3", "-A 1s small",
		"-n /var/lib/pcp/pmns/root sample-labels", "20041125 nosuch", "20041125 kernel.all.load nosuch kernel.all.load",
		"20041125 kernel.all.load[1minute]", "20041125 kernel.all.load[\"1 minute\"", "20041125 kernel.all.load[x]", "20041125 foo[",
		"-a sample-labels sample.colour[red,green] sample", "-a sample-labels sample.long.one[x] sample.long.one", "-h localhost small",
		"-iI -Hf 20041125.meta", "multi", "-aiI multi", "multi/20150508.11.44,multi/20150508.11.57", "multi,", "multi,multi-xz", "nosuch,multi", ".",
		"-ayB3 multi-xz", "-l -S @15:46:10 multi", "-y -T 30s multi", "-a multi-vm00,multi-vm01", "-a /etc", "-sv 20041125",
		"-a archive-goodred-20150417", "-a bozo.client_v2", "-B4 count-mark", "-a mark-bug", "-a ok-mv-bigbin", "-a changeinst",
		"-D appl0,appl1,appl2 -ziMm -B5 foo+", "-D appl0,appl1,appl2 -B3 count-mark", "-D appl1 -D appl2 mark-bug", "-D appl0 -B 3 -p 5 changeinst",
		"--all --header --precision=1 --bins=2 --mintime --maxtime --label --minimum --maximum --sum --verbose --samples 20041125",
	} {
		if d := twin.Compare(t, twin.Call{Tool: "pmlogsummary", Dir: twin.SuiteRoot + "/archives", Args: strings.Fields(line)}); d != "" {
			t.Error(d)
		}
	}
}
