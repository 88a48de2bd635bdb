package ie

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestEvents has rules over metrics of events, their parameters and aggregates in both: over a collector
// and over archives. A metric of events ends its rule, the others continue.
func TestEvents(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	const rules = `
a1 = sample.event.records;
a2 = sample.event.records > 3;
a3 = sample.event.records #'fungus' > 1;
a4 = sample.event.no_indom_records;
a5 = sample.event.highres_records;
a6 = count_inst (sample.event.records > 0);
a7 = sum_inst sample.event.records;
a8 = sample.event.records + sample.long.one;
a9 = rate sample.event.records;
b1 = sample.event.param_string == "fetch #0";
b2 = sample.event.reset_fetch;
b3 = event.flags > 0;
b4 = event.missed;
b5 = sample.event.param_aggregate;
b6 = sample.event.param_aggregate == "x";
b7 = sample.event.param_double + 1;
b8 = sample.aggregate.hullo;
b9 = sample.aggregate.hullo == "hullo world!";
sample.event.records > 3 -> print "%v";
sample.event.no_indom_records == 3 || sample.long.one == 1 -> print "%v";
c1 = sample.long.one;
`
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	varies := regexp.MustCompile(`\d\d:\d\d:\d\d`)
	steady := func(b []byte) string { return string(varies.ReplaceAll([]byte(said(b)), []byte("TIME"))) }
	sources := [][]string{{"-h", d.TCP, "-t", "500msec", "-T", "1200msec", "-q"}}
	for _, name := range []string{"eventrec", "eventrec-old"} {
		sources = append(sources, []string{"-t", "5sec", "-a", filepath.Join("/var/lib/pcp/testsuite/archives", name)})
	}
	for _, source := range sources {
		for _, v := range []string{"-v", "-V", "-W"} {
			call := twin.Call{Tool: "pmie", Args: append(append([]string{v}, source...), file), Env: d.Env, KillAfter: time.Minute}
			want, got := call.Run(t, false), call.Run(t, true)
			what := strings.Join(call.Args, " ")
			if diff := cmp.Diff(steady(want.Out), steady(got.Out)); diff != "" {
				t.Errorf("%s: (-real, +ours):\n%s", what, diff)
			}
			if diff := cmp.Diff(steady(want.Err), steady(got.Err)); diff != "" {
				t.Errorf("%s: (-real, +ours):\n%s", what, diff)
			}
			if got.Status != want.Status {
				t.Errorf("%s: status %d, want %d", what, got.Status, want.Status)
			}
			if !strings.Contains(string(want.Err), "metric sample.event.records has inappropriate type") || !strings.Contains(string(want.Out), "\nb4") {
				t.Errorf("%s: %s\n%s", what, want.Err, want.Out)
			}
		}
	}
}
