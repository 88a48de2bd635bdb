package interop

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// The agent that makes metrics of the output of pmie -x.
const pmdasummary = "/var/lib/pcp/pmdas/summary/pmdasummary"

// summaryRules are rules over metrics that do not change, in addition to those of the
// agent, with their values.
var summaryRules = []struct {
	name, rule string
	want       float64
}{
	{"t.one", "sample.long.one * 7", 7},
	{"t.mean", "avg_inst sample.bin", 500},
	{"t.big", "count_inst (sample.bin > 300)", 6},
	{"t.time", "sample.long.hundred * 3 min", 18000},
	{"t.size", "sample.long.million * 1 Kbyte", 1024e6},
	{"t.is", "sample.long.ten == 10", 1},
	{"t.isNot", "some_inst sample.bin > 900", 0},
}

// TestSummaryAgent has the real agent of summary metrics run the real pmie and ours, under the real
// collector and ours: metrics are the same, and their values make sense.
func TestSummaryAgent(t *testing.T) {
	oracle.Require(t)
	installed, err := os.ReadFile("/var/lib/pcp/pmdas/summary/expr.pmie")
	if err != nil {
		oracle.Missing(t, err.Error())
	}
	if _, err := os.Stat(pmdasummary); err != nil {
		oracle.Missing(t, err.Error())
	}
	dir, err := os.MkdirTemp("", "summary")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // agents are PCP's user
		t.Fatal(err)
	}
	source := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	const ours, real = "ours", "real"
	commands := map[string]string{ours: twin.Tool(t, "pcp") + " ie", real: oracle.Path("pmie")}
	domains := map[string]int{ours: 400, real: 401}
	var lines []string
	var names []string // of metrics, below their roots
	pmns := "root { ours real }\n"
	for root, command := range commands {
		rules := strings.ReplaceAll(string(installed), "\nsummary.", "\n"+root+".")
		var list []string
		for _, line := range strings.Split(rules, "\n") {
			if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, root+".") {
				list = append(list, strings.TrimPrefix(name, root+"."))
			}
		}
		for _, r := range summaryRules {
			rules += fmt.Sprintf("%s.%s = %s;\n", root, r.name, r.rule)
			list = append(list, r.name)
		}
		file := filepath.Join(dir, root)
		if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
		subtrees := make(map[string]string)
		for i, name := range list {
			branch, leaf, _ := strings.Cut(name, ".")
			subtrees[branch] += fmt.Sprintf("\t%s %d:0:%d\n", leaf, domains[root], i)
		}
		pmns += fmt.Sprintf("%s { %s }\n", root, strings.Join(sortedNames(subtrees), " "))
		for branch, leaves := range subtrees {
			pmns += fmt.Sprintf("%s.%s {\n%s}\n", root, branch, leaves)
		}
		lines = append(lines, fmt.Sprintf("%s %d pipe binary %s -U root -d %[2]d -l %[1]s.log %[4]s -U root -h %[5]s -x -t 1sec %[6]s",
			root, domains[root], pmdasummary, command, source.TCP, file))
		names = list
	}
	file := filepath.Join(dir, "names")
	if err := os.WriteFile(file, []byte(pmns), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PMNS_DEFAULT=" + file}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}, Lines: lines, PMNS: pmns, Env: env})
	for _, c := range []collector{{name: "real pmcd", unix: d.Unix}, startOursWith(t, d, ourConf(d, lines), env)} {
		t.Run(c.name, func(t *testing.T) {
			client, err := pmapi.Dial(t.Context(), c.unix)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for _, name := range names {
				theirs := described(t, client, real+"."+name)
				mine := described(t, client, ours+"."+name)
				if unknown := pcp.NewUnits(0, 0, -1, 0, 0, 7); theirs.Units == unknown {
					theirs.Units = pcp.Units{} // the C result for a count divided by another
				}
				mine.PMID = theirs.PMID
				if mine != theirs {
					t.Errorf("%s: %v, want %v", name, mine, theirs)
				}
			}
			for _, r := range summaryRules {
				if got := numberOf(t, client, ours+"."+r.name); got != r.want {
					t.Errorf("%s = %g, want %g", r.rule, got, r.want)
				}
				if r.name != "t.is" && r.name != "t.isNot" { // which is not a number in C
					if got := numberOf(t, client, real+"."+r.name); got != r.want {
						t.Errorf("%s = %g with the real one, want %g", r.rule, got, r.want)
					}
				}
			}
			if v := numberOf(t, client, ours+".cpu.util"); !(v > 0 && v < 1.5) {
				t.Errorf("utilization of processors is %g", v)
			}
			if v := numberOf(t, client, ours+".cpu.busy"); !(v >= 0 && v <= 1) {
				t.Errorf("share of processors that are busy is %g", v)
			}
		})
	}
}

// described waits until there is a descriptor.
func described(t *testing.T, client *pmapi.Context, name string) pcp.Desc {
	t.Helper()
	ids, err := client.LookupName(t.Context(), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var desc pcp.Desc
	wait(t, name, func(ctx context.Context) (err error) {
		desc, err = client.LookupDesc(ctx, ids[0])
		return err
	})
	return desc
}

// numberOf waits until a metric has a value.
func numberOf(t *testing.T, client *pmapi.Context, name string) float64 {
	t.Helper()
	ids, err := client.LookupName(t.Context(), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	v := math.NaN()
	wait(t, name, func(ctx context.Context) error {
		res, err := client.Fetch(ctx, ids)
		switch {
		case err != nil:
			return err
		case res.Sets[0].Err != 0:
			return res.Sets[0].Err
		case len(res.Sets[0].Values) == 0:
			return fmt.Errorf("no values")
		}
		v = res.Sets[0].Values[0].Double()
		return nil
	})
	return v
}

func wait(t *testing.T, what string, try func(ctx context.Context) error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := try(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}
