package columns_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestToolsOfC checks that the tools of the C implementation do not notice files of columns in a directory of archives.
func TestToolsOfC(t *testing.T) {
	oracle.Require(t)
	dir := t.TempDir()
	base := filepath.Join(dir, "20260921")
	g := generate(t, base)
	id := g.desc(1, pcp.TypeU32, pcp.InDomNull)
	for i := range 20 {
		g.r.Reset()
		g.r.Time = start
		g.r.Time.Sec += int64(i)
		g.r.AddSet(id)
		g.r.Add(pcp.Uint32Value(uint32(i)).WithInst(pcp.InNull))
		g.must(g.w.WriteResult(&g.r))
	}
	g.close()
	merged := filepath.Join(t.TempDir(), "merged")
	calls := [][]string{
		{"pmdumplog", "-a", base},
		{"pmlogcheck", "-v", base},
		{"pmdumplog", "-l", base},
		{"pmlogsummary", "-z", base},
		{"pminfo", "-f", "-a", dir, "a.m1"},
		{"pmlogextract", base, merged},
	}
	run := func() (list []oracle.Output) {
		t.Helper()
		for _, args := range calls {
			list = append(list, oracle.Run(t, args[0], args[1:]...))
		}
		for _, end := range []string{".0", ".index", ".meta"} {
			if err := os.Remove(merged + end); err != nil {
				t.Fatal(err)
			}
		}
		return list
	}
	before := run()
	if err := columns.Make(context.Background(), base, ""); err != nil {
		t.Fatal(err)
	}
	for i, after := range run() {
		if after != before[i] {
			t.Errorf("%q: with columns:\n%+v\nwithout:\n%+v", calls[i], after, before[i])
		}
		if before[i].Exit != 0 {
			t.Errorf("%q: %+v", calls[i], before[i])
		}
	}
}
