package pmda_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
)

func treeDriver(t testing.TB) string {
	t.Helper()
	oracle.Require(t)
	path := filepath.Join(t.TempDir(), "tree")
	if out, err := exec.Command("cc", "-O2", "-o", path, "testdata/tree.c", "-lpcp_pmda", "-lpcp").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no C compiler, or no headers of PCP: %v\n%s", err, out)
	}
	return path
}

// TestOracleTree looks 10,000 names up both ways with libpcp_pmda and with a
// table. The table returns siblings in its order. The library puts each before
// the others, so its siblings are sorted for the comparison.
func TestOracleTree(t *testing.T) {
	drive := treeDriver(t)
	const n = 10000
	var script strings.Builder
	rows := manyRows(n)
	for i, r := range rows {
		fmt.Fprintf(&script, "insert 400.%d.%d %s\n", i>>10, i&1023, r.Name)
	}
	fmt.Fprintf(&script, "rebuild %d\n", n)
	for i := 0; i < n; i += 3 {
		fmt.Fprintf(&script, "pmid %s\nname 400.%d.%d\n", manyName(i), i>>10, i&1023)
	}
	for _, name := range []string{"many", "many.group7", "many.group7.sub3", "many.nosuch", "man", "many.group", "nosuch"} {
		fmt.Fprintf(&script, "pmid %s\nchildren %s\ntraverse %s\n", name, name, name)
	}
	script.WriteString("name 400.9.1023\nname 401.0.0\npmid many.group0.sub0.leaf0.x\n")

	cmd := exec.Command(drive)
	cmd.Env = oracle.Env()
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	table, err := pmda.NewTable(pmda.Config{Name: "many", Domain: domain, Metrics: rows})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sortChildren(string(out)), sortChildren(answerTree(t, table, script.String()))); d != "" {
		t.Errorf("libpcp_pmda and the table differ (-C +Go):\n%s", d)
	}
}

// answerTree answers a script as tree.c does.
func answerTree(t *testing.T, table *pmda.Table, script string) string {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	for line := range strings.Lines(script) {
		f := append(strings.Fields(line), "")
		switch f[0] {
		case "rebuild":
			leaves, err := table.Children(ctx, "", true)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "size %d\n", len(leaves))
		case "pmid":
			id, err := table.LookupName(ctx, f[1])
			if err != nil {
				fmt.Fprintf(&b, "pmid %s none\n", f[1])
			} else {
				fmt.Fprintf(&b, "pmid %s %v\n", f[1], id)
			}
		case "name":
			var d, c, x int
			fmt.Sscanf(f[1], "%d.%d.%d", &d, &c, &x)
			names, _ := table.Names(ctx, pcp.NewPMID(d, c, x))
			fmt.Fprintln(&b, strings.Join(append(f[:2:2], names...), " "))
		case "children", "traverse":
			list, _ := table.Children(ctx, f[1], f[0] == "traverse")
			words := f[:2:2]
			for _, c := range list {
				switch {
				case f[0] == "traverse":
					words = append(words, c.Name)
				case c.Leaf:
					words = append(words, c.Name+":0")
				default:
					words = append(words, c.Name+":1")
				}
			}
			fmt.Fprintln(&b, strings.Join(words, " "))
		}
	}
	return b.String()
}

func sortChildren(s string) []string {
	var lines []string
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if f[0] == "children" || f[0] == "traverse" {
			slices.Sort(f[2:])
		}
		lines = append(lines, strings.Join(f, " "))
	}
	return lines
}

// BenchmarkOracleTree prints the nanoseconds that the C library takes, for
// comparison with BenchmarkManyNames.
func BenchmarkOracleTree(b *testing.B) {
	out, err := exec.Command(treeDriver(b), "bench", "10000").Output()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() { // the work has been done by the other program
	}
	for line := range strings.Lines(string(out)) {
		var what string
		var ns float64
		if _, err := fmt.Sscan(line, &what, &ns); err != nil {
			b.Fatalf("%q: %v", line, err)
		}
		b.ReportMetric(ns, "C-"+what+"-ns")
	}
}
