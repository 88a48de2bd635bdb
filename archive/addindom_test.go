package archive_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestAddInDom checks that two records of one time can have different instances:
// each has its name in our reader, and in that of the C implementation.
func TestAddInDom(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		w := create(t, archive.WriterConfig{Label: archive.Label{Version: version}})
		desc := metric(1, pcp.TypeU32, pcp.NewInDom(510, 7), pcp.SemInstant)
		must(t, w.Desc(desc, "w.some"))
		put := func(sec int64, insts ...int32) {
			t.Helper()
			res := &pcp.Result{Time: at(sec)}
			res.AddSet(desc.PMID)
			for _, n := range insts {
				v := pcp.Uint32Value(uint32(n))
				v.Inst = n
				res.Add(v)
			}
			must(t, w.WriteResult(res))
		}
		one, two, three := pcp.Instance{Inst: 1, Name: "one"}, pcp.Instance{Inst: 2, Name: "two"}, pcp.Instance{Inst: 3, Name: "three"}
		must(t, w.InDom(at(0), desc.InDom, []pcp.Instance{one, two}))
		put(0, 1, 2)
		must(t, w.AddInDom(at(0), desc.InDom, []pcp.Instance{three, two}))
		put(0, 2, 3)
		must(t, w.InDom(at(1), desc.InDom, []pcp.Instance{three}))
		put(1, 3)
		must(t, w.Close())
		a, err := archive.Open(w.Path())
		must(t, err)
		defer a.Close()
		for _, in := range []pcp.Instance{one, two, three} {
			if name, _ := a.Meta().View(desc.InDom, at(0)).Name(in.Inst); name != in.Name {
				t.Errorf("version %d: instance %d is %q, want %q", version, in.Inst, name, in.Name)
			}
		}
		if _, ok := a.Meta().View(desc.InDom, at(1)).Name(1); ok {
			t.Errorf("version %d: an instance that has gone has a name", version)
		}
		if oracle.Path("pmdumplog") != "" {
			out := oracle.Run(t, "pmdumplog", "-m", w.Path())
			if out.Exit != 0 || strings.Contains(out.Stdout, "???") || strings.Count(out.Stdout, `2 or "two"`) != 2 {
				t.Errorf("version %d: pmdumplog: %+v", version, out)
			}
		}
	}
}
