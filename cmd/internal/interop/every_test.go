package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// unequal are the metrics, by the beginning of their names, whose values are not compared here.
var unequal = map[string]string{
	"pmcd.":        "each collector speaks of itself",
	"proc.":        "package agent/proc compares them, process by process",
	"hotproc.":     "as proc",
	"acct.":        "as proc",
	"cgroup.":      "as proc",
	"sample.":      "counts for itself",
	"simple.":      "counts for itself",
	"trivial.":     "the time of a fetch",
	"event.":       "made up by the collector",
	"pmda.version": "each has its own",

	"kernel.all.run":           "each side runs while it counts",
	"vfs.files.count":          "the files that a collector has open to answer count too",
	"mem.numa.util.mapped":     "0 in the real agent",
	"mem.numa.util.pageTables": "0 in the real agent",
}

// unlabelled are the agents without labels in C. Ours have the label agent, which our collector
// adds to all agents in its process.
var unlabelled = []string{"xfs", "quota", "jbd2", "kvm", "mmv"}

func skipped(name string) bool {
	for prefix := range unequal {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// TestEveryMetric walks all metrics of the real collector with the agents that need no hardware, and looks for
// each at ours: names, descriptors, instances, labels, help texts, and values.
func TestEveryMetric(t *testing.T) {
	names := []string{"pmcd", "linux", "proc", "mmv", "xfs", "jbd2", "kvm", "sample", "simple", "trivial"}
	d := oracle.StartPMCD(t, oracle.Config{Agents: names})
	var conf strings.Builder
	for i, domain := range []int{2, 60, 3, 70, 11, 122, 95, 29, 253, 250} {
		fmt.Fprintf(&conf, "%s\t%d\tdso\t%[1]s_init\t/none/pmda_%[1]s.so\n", names[i], domain)
	}
	conf.WriteString("[access]\nallow \"*\" : all;\n")
	ours := startOurs(t, d, conf.String())
	dial := func(spec string) *pmapi.Context {
		c, err := pmapi.Dial(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	w := walk{t: t, real: dial(d.Unix), ours: dial(ours.unix)}
	for name, err := range w.real.Traverse(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		w.names = append(w.names, name)
	}
	var err error
	if w.ids, err = w.real.LookupName(t.Context(), w.names...); err != nil {
		t.Fatal(err)
	}
	w.descriptors()
	settled(t, w.instances)
	settled(t, w.labels)
	settled(t, w.values)
	t.Logf("%d metrics, %d instance domains, %d values compared", len(w.names), len(w.indoms), w.compared)
	if len(w.names) < 2500 || w.compared < 2000 {
		t.Errorf("%d metrics, %d values: too few to show anything", len(w.names), w.compared)
	}
}

// A walk goes over all metrics of two collectors.
type walk struct {
	t          *testing.T
	real, ours *pmapi.Context
	names      []string
	ids        []pcp.PMID
	descs      []pcp.Desc
	indoms     []pcp.InDom
	compared   int
}

// descriptors compares names and descriptors, and wants help texts.
func (w *walk) descriptors() {
	ctx := w.t.Context()
	ids, err := w.ours.LookupName(ctx, w.names...)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, name := range w.names {
		if ids[i] != w.ids[i] {
			w.t.Errorf("%s is %v, want %v", name, ids[i], w.ids[i])
		}
	}
	w.descs = make([]pcp.Desc, len(w.ids))
	for i, id := range w.ids {
		want, wantErr := w.real.LookupDesc(ctx, id)
		got, err := w.ours.LookupDesc(ctx, id)
		if pcp.Code(err) != pcp.Code(wantErr) || got != want {
			w.t.Errorf("%s: %+v, %v, want %+v, %v", w.names[i], got, err, want, wantErr)
		}
		if w.descs[i] = want; wantErr == nil && want.InDom != pcp.InDomNull && !slices.Contains(w.indoms, want.InDom) {
			w.indoms = append(w.indoms, want.InDom)
		}
		theirs, _ := w.real.LookupText(ctx, id, pcp.TextOneLine)
		if text, err := w.ours.LookupText(ctx, id, pcp.TextOneLine); theirs != "" && (err != nil || text == "") {
			w.t.Errorf("%s: help %q, %v", w.names[i], text, err)
		}
	}
}

// instances compares the members of all instance domains.
func (w *walk) instances(errorf func(string, ...any)) {
	for _, indom := range w.indoms {
		if domain := indom.Domain(); domain == 2 || domain == 3 && indom.Serial() != 10 {
			continue // clients and agents of each collector; processes come and go
		}
		want, wantErr := w.real.GetInDom(w.t.Context(), indom)
		got, err := w.ours.GetInDom(w.t.Context(), indom)
		sort := func(list []pcp.Instance) {
			slices.SortFunc(list, func(a, b pcp.Instance) int { return int(a.Inst) - int(b.Inst) })
		}
		sort(want)
		sort(got)
		if pcp.Code(err) != pcp.Code(wantErr) || !slices.Equal(got, want) {
			errorf("instances of %v: %v, %v, want %v, %v", indom, got, err, want, wantErr)
		}
	}
}

// labels compares the labels of all metrics below those of the context.
func (w *walk) labels(errorf func(string, ...any)) {
	ctx := w.t.Context()
	done := make(map[string]bool)
	for i, id := range w.ids {
		for _, k := range []struct {
			level pcp.LabelFlags
			ident uint32
		}{
			{pcp.LabelDomain, uint32(id.Domain())},
			{pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))},
			{pcp.LabelItem, uint32(id)},
			{pcp.LabelInDom, uint32(w.descs[i].InDom)},
		} {
			key := fmt.Sprintf("%v %d", k.level, k.ident)
			top, _, _ := strings.Cut(w.names[i], ".")
			if done[key] || k.level == pcp.LabelInDom && w.descs[i].InDom == pcp.InDomNull ||
				k.level == pcp.LabelDomain && slices.Contains(unlabelled, top) {
				continue
			}
			done[key] = true
			text := func(c *pmapi.Context) string {
				sets, err := c.Labels(ctx, k.level, k.ident)
				if err != nil {
					return err.Error()
				}
				var b strings.Builder
				for _, s := range sets {
					b.WriteString(s.JSON)
				}
				return b.String()
			}
			if want, got := text(w.real), text(w.ours); got != want {
				errorf("labels of %s, %v: %s, want %s", w.names[i], k.level, got, want)
			}
		}
	}
}

// values fetches each metric from the real collector, ours and the real one again: constant values
// are equal, and a counter is between.
func (w *walk) values(errorf func(string, ...any)) {
	w.compared = 0
	ctx := w.t.Context()
	for i, id := range w.ids {
		if skipped(w.names[i]) {
			continue
		}
		fetch := func(c *pmapi.Context) *pcp.ValueSet {
			res, err := c.Fetch(ctx, []pcp.PMID{id})
			if err != nil {
				w.t.Fatalf("%s: %v", w.names[i], err)
			}
			res.Sets[0].As(w.descs[i].Type)
			return &res.Sets[0]
		}
		before, got, after := fetch(w.real), fetch(w.ours), fetch(w.real)
		if before.Err != after.Err || len(before.Values) != len(after.Values) {
			continue // it changes
		}
		if got.Err != before.Err || len(got.Values) != len(before.Values) {
			errorf("%s: %v, %d values, want %v, %d", w.names[i], got.Err, len(got.Values), before.Err, len(before.Values))
			continue
		}
		for _, v := range got.Values {
			b, okB := instanceOf(before, v.Inst)
			a, okA := instanceOf(after, v.Inst)
			if okB != okA {
				continue
			}
			if !okB {
				errorf("%s: instance %d has a value only here", w.names[i], v.Inst)
				continue
			}
			moves := b.String() != a.String()
			if moves && w.descs[i].Sem != pcp.SemCounter {
				continue // any value between is possible
			}
			w.compared++
			if v.String() == b.String() || v.String() == a.String() {
				continue
			}
			x, ok := v.Float64()
			low, _ := b.Float64()
			high, _ := a.Float64()
			if !moves || !ok || x < low || x > high {
				errorf("%s of %d: %v, want %v to %v", w.names[i], v.Inst, v, b, a)
			}
		}
	}
}

func instanceOf(s *pcp.ValueSet, inst int32) (pcp.Value, bool) {
	for _, v := range s.Values {
		if v.Inst == inst {
			return v, true
		}
	}
	return pcp.Value{}, false
}
