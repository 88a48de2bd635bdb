package pmie

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)

// recordGaps makes an archive of metrics m0 to m5 with one value and d0 to d5 over disks, of which every second
// one is a counter. Values are missing, for long after some marks; counters go back, disks appear and
// disappear.
func recordGaps(t testing.TB, rnd *rand.Rand, records int) (path string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	im, err := importer.Start(filepath.Join(t.TempDir(), "gaps"), importer.Options{Host: "gaps", TimeZone: "UTC"})
	check(err)
	indom := pcp.NewInDom(60, 1)
	disks := []string{"sda", "sdb", "sdc", "sdd"}
	for i, name := range disks {
		check(im.AddInstance(indom, name, int32(i)))
	}
	type cell struct {
		h       importer.Handle
		counter bool
		last    uint64
	}
	var singles, multiples []*cell
	types := []pcp.Type{pcp.TypeU32, pcp.TypeU64, pcp.Type64, pcp.Type32, pcp.TypeDouble, pcp.TypeU64}
	for i := range 12 {
		desc := pcp.Desc{PMID: pcp.NewPMID(60, 0, i), Type: types[i%6], Sem: pcp.SemInstant, InDom: pcp.InDomNull}
		if i%2 == 1 {
			desc.Sem = pcp.SemCounter
		}
		name, insts := fmt.Sprintf("gaps.m%d", i), []string{""}
		if i >= 6 {
			desc.InDom, name, insts = indom, fmt.Sprintf("gaps.d%d", i-6), disks
		}
		_, err := im.AddMetric(name, desc)
		check(err)
		for _, inst := range insts {
			h, err := im.Handle(name, inst)
			check(err)
			c := &cell{h: h, counter: i%2 == 1}
			if i < 6 {
				singles = append(singles, c)
			} else {
				multiples = append(multiples, c)
			}
		}
	}
	put := func(c *cell) {
		v := uint64(rnd.IntN(10))
		if c.counter {
			if c.last += v; rnd.IntN(60) == 0 {
				c.last = v // it starts again
			}
			v = c.last
		}
		check(c.h.PutUint(v))
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	away, noDisk := -1, -1 // between two marks
	for n := range records {
		if n > 0 && n%150 == 0 {
			check(im.PutMark())
			start = start.Add(time.Duration(n%3) * 2 * time.Second)
			away, noDisk = rnd.IntN(2*len(singles)), rnd.IntN(2*len(disks))
		}
		for i, c := range singles {
			if i != away && rnd.IntN(30) > 0 {
				put(c)
			}
		}
		for i, c := range multiples {
			if i%len(disks) != noDisk {
				put(c)
			}
		}
		check(im.Write(start.Add(time.Duration(n) * time.Second)))
	}
	check(im.End())
	return im.Path()
}

// A ruleMaker makes rules with everything that a plan can evaluate, and some that it
// cannot.
type ruleMaker struct{ *rand.Rand }

func (g ruleMaker) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g ruleMaker) metric(disks bool) string {
	if !disks {
		return fmt.Sprintf("gaps.m%d", g.IntN(6))
	}
	return fmt.Sprintf("gaps.d%d", g.IntN(6)) + g.pick("", "", "", " #sda #sdd", " #sdb #sda")
}

// number returns an expression with a value for each disk, or with one value.
func (g ruleMaker) number(disks bool, depth int) string {
	if depth <= 0 {
		return g.metric(disks)
	}
	switch g.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", g.number(disks, depth-1), g.pick("+", "-", "*", "/"), g.pick("2", "0.5", "3", "$minute", g.number(false, 0)))
	case 2:
		return "(- " + g.number(disks, depth-1) + ")"
	case 3:
		if !disks {
			return g.pick("sum", "avg", "max", "min") + "_inst " + g.metric(true)
		}
	case 4:
		if !disks {
			return "count_inst (" + g.truth(true, depth-1) + ")"
		}
	case 5:
		return g.pick("sum", "avg", "max", "min") + "_sample " + g.metric(disks) + g.pick(" @0..2", " @1..3", " @2..3")
	case 6:
		return g.metric(disks) + g.pick(" @1", " @3")
	case 7:
		return g.pick("rate ", "instant ") + g.metric(disks)
	}
	return g.metric(disks)
}

func (g ruleMaker) truth(disks bool, depth int) string {
	if depth <= 0 {
		return fmt.Sprintf("%s %s %d", g.metric(disks), g.pick("<", ">", "<=", ">=", "==", "!="), g.IntN(10))
	}
	switch g.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("(%s) %s (%s)", g.truth(disks, depth-1), g.pick("&&", "||"), g.truth(disks, depth-1))
	case 2:
		return "! (" + g.truth(disks, depth-1) + ")"
	case 3:
		return g.pick("rising", "falling") + " (" + g.truth(disks, depth-1) + ")"
	case 4:
		if !disks {
			return g.pick("some_inst", "all_inst", "60 %_inst") + " (" + g.truth(true, depth-1) + ")"
		}
	case 5:
		if disks {
			return g.pick("match_inst", "nomatch_inst") + ` "[ac]$" (` + g.truth(disks, depth-1) + ")"
		}
	case 6:
		return g.pick("some_sample", "all_sample", "50 %_sample") + " (" + g.metric(disks) + " @0..2 > 3)"
	}
	return fmt.Sprintf("%s %s %d", g.number(disks, depth), g.pick("<", ">", "<=", ">=", "==", "!="), g.IntN(10))
}

// TestPlan checks that plans have the same results as trees.
func TestPlan(t *testing.T) {
	const records = 2000
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		path := recordGaps(t, rnd, records)
		g := ruleMaker{rnd}
		var text strings.Builder
		for i := range 60 {
			cond := g.truth(false, i%4)
			if i%3 == 0 {
				cond = "some_inst (" + g.truth(true, i%4) + ")"
			}
			fmt.Fprintf(&text, "%s -> print \"%d: %%h %%i %%v\";\n", cond, i)
		}
		type outcome struct {
			out, messages string
			stats         Stats
			seen          []deliver.Evaluation
		}
		var plans, kept, planned int
		once := func(unplanned bool) (o outcome) {
			var out, messages bytes.Buffer
			e, err := New(t.Context(), Config{
				Archives: []string{path}, Out: &out, Err: &messages, Interval: time.Second, Quiet: true, Zone: time.UTC, ReadAhead: !unplanned,
				Observe: func(ev deliver.Evaluation) { o.seen = append(o.seen, ev) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.alone = unplanned
			if _, err := e.Load(t.Context(), strings.NewReader(text.String()), "rules"); err != nil {
				t.Fatal(err)
			}
			var last *eval.Plan
			e.cfg.Watch = func(Stats) {
				p := e.get.tasks[0].plan
				if p == nil {
					return
				}
				if p != last {
					plans++
					for _, c := range p.Conds {
						if c != nil {
							planned++
						}
					}
				}
				kept, last = kept+1, p
			}
			if err := e.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.out, o.messages, o.stats = out.String(), messages.String(), e.Stats()
			return o
		}
		want, got := once(true), once(false)
		if want.messages != got.messages {
			t.Errorf("seed %d: messages %q, want %q", seed, got.messages, want.messages)
		}
		if want.stats != got.stats {
			t.Errorf("seed %d: %+v, want %+v", seed, got.stats, want.stats)
		}
		if want.out != got.out {
			a, b := strings.Split(got.out, "\n"), strings.Split(want.out, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("seed %d, line %d: %s\nwant %s\nof\n%s", seed, i, a[i], b[i], &text)
				}
			}
			t.Fatalf("seed %d: %d lines, want %d", seed, len(a), len(b))
		}
		same := func(a, b deliver.Evaluation) bool {
			return a.Rule == b.Rule && a.State == b.State && a.Time.Equal(b.Time) && slices.EqualFunc(a.Matches, b.Matches, func(a, b deliver.Match) bool {
				return a.Instance == b.Instance && a.Value == b.Value
			})
		}
		if !slices.EqualFunc(want.seen, got.seen, same) {
			t.Errorf("seed %d: evaluations differ", seed)
		}
		if plans < 4 || planned < 20*plans || kept < records/2 {
			t.Errorf("seed %d: %d plans of %d rules, in force for %d of %d evaluations", seed, plans, planned, kept, records)
		}
		if strings.Count(want.out, "\n") < 1000 {
			t.Errorf("seed %d: %d lines", seed, strings.Count(want.out, "\n"))
		}
	}
}
