package logdiff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/archives/logdiff"
	"github.com/go-pcp/pcp/cmd/internal/archives/logsummary"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) { twin.Main(m, logdiff.Command, logsummary.Command) }

// TestArguments compares reports on archives of the QA suite.
func TestArguments(t *testing.T) {
	twin.Archives(t, 1)
	for i, line := range []string{
		"", "-?", "-V", "a b c", "nosuch", "20041125 nosuch", "diff1 diff2", "-q 1.1 diff1 diff2", "-p 7 diff1 diff2",
		"-p 20 diff1 diff2", "-p 1 diff1 diff2", "-x ^sample -x kernel diff1 diff2", "-x (disk|kernel).*load diff1 diff2",
		"-X /nosuch diff1 diff2", "--skip-missing 20041125 diff1", "--skip-excluded 20041125 diff1", "20041125 diff1",
		"-S @08:07 -T @08:08 -B @08:09 20071023-08-06-36", "-S 10 -E 60 -q 1.01 20071023-08-06-36", "-B 30 -q 1.001 20071023-08-06-36",
		"-z -q 1.5 babylon.percpu_v2", "-Z EST5EDT -q 1 diff1 diff2", "multi/20150508.11.44 multi/20150508.11.57",
		"-q 1.2 -p 5 multi/20150508.11.44 multi/20150508.11.46", "-q 1.0001 -S 30s multi", "-x . diff1 diff2",
		"-q 1.01 sample-labels omnibus_v3", "-q 3 -B 60 all-irix-6.5.25", "-S foo diff1", "-q 1.2 -B 100 -p 10 bigace_v2", "--precision=4 --threshold=2 diff1 diff2",
	} {
		if i%2 == 1 && !longtest.Enabled() {
			continue
		}
		args := strings.Fields(line)
		if d := twin.Compare(t, twin.Call{Tool: "pmdiff", Dir: twin.SuiteRoot + "/archives", Args: args}); d != "" {
			t.Error(d)
		}
	}
}

// TestSuite compares neighbours in the list of archives.
func TestSuite(t *testing.T) {
	list := twin.Archives(t, 12)
	if !longtest.Enabled() && len(list) > 4 {
		list = list[:4]
	}
	for p := range slices.Chunk(list, 2) {
		if d := twin.Compare(t, twin.Call{Tool: "pmdiff", Args: append([]string{"-q", "1.5"}, p...)}); d != "" {
			t.Error(d)
		}
	}
}
