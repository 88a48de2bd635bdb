// The race detector allocates itself.

//go:build !race

package pmie

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// recordTen makes an archive of ten metrics, half of them counters of four instances.
func recordTen(tb testing.TB, records int) (path string) {
	tb.Helper()
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	im, err := importer.Start(filepath.Join(tb.TempDir(), "ten"), importer.Options{Host: "ten", TimeZone: "UTC"})
	check(err)
	indom := pcp.NewInDom(60, 1)
	for i := range 4 {
		check(im.AddInstance(indom, fmt.Sprintf("sd%c", 'a'+i), int32(i)))
	}
	var handles []importer.Handle
	for i := range 10 {
		desc := pcp.Desc{PMID: pcp.NewPMID(60, 0, i), Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: pcp.InDomNull}
		insts := []string{""}
		if i%2 == 1 {
			desc.Type, desc.Sem, desc.InDom, insts = pcp.TypeU64, pcp.SemCounter, indom, []string{"sda", "sdb", "sdc", "sdd"}
		}
		name := fmt.Sprintf("ten.m%d", i)
		_, err := im.AddMetric(name, desc)
		check(err)
		for _, inst := range insts {
			h, err := im.Handle(name, inst)
			check(err)
			handles = append(handles, h)
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range records {
		for i, h := range handles {
			check(h.PutUint(uint64(n * (i + 1))))
		}
		check(im.Write(start.Add(time.Duration(n) * time.Second)))
	}
	check(im.End())
	return im.Path()
}

const tenRules = `
ten.m0 > 1000000 -> print "%v";
ten.m2 + 2 * ten.m4 - 1 > 1000000 && ten.m0 < 5 -> print "%v";
some_inst (ten.m1 > 100000 && ten.m3 > 3) -> print "%i";
all_inst (rising (ten.m5 > 100000)) || falling (ten.m6 > 1000000) -> print "%i";
avg_sample ten.m8 @0..4 > 1000000 -> print "%v";
sum_inst ten.m7 / 4 > 1000000 || count_inst (ten.m7 #sda #sdb > 3) > 5 -> print "%h";
50 %_inst (match_inst "a|b" (ten.m9 > 1000000)) -> print "%i";
ruleset ten.m0 > 1000000 -> print "a" else rate ten.m2 < 0 -> print "b" otherwise -> print 1 hour "c";
`

// TestEvaluateAllocs checks that evaluations without an action do not allocate.
func TestEvaluateAllocs(t *testing.T) {
	e, err := New(t.Context(), Config{Archives: []string{recordTen(t, 500)}, Out: io.Discard, Err: io.Discard, Interval: time.Second, Quiet: true, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if sound, err := e.Load(t.Context(), strings.NewReader(tenRules), "rules"); err != nil || !sound {
		t.Fatal(sound, err)
	}
	task := e.tasks[0]
	once := func() {
		if err := e.evaluate(task); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		once()
	}
	e.now = 1e9
	once() // prints
	if n := testing.AllocsPerRun(300, once); n > 0 {
		t.Errorf("an evaluation allocates %v times", n)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	path := recordTen(b, 1000)
	for b.Loop() {
		e, err := New(b.Context(), Config{Archives: []string{path}, Out: io.Discard, Err: io.Discard, Interval: time.Second, Quiet: true, Zone: time.UTC})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Load(b.Context(), strings.NewReader(tenRules), "rules"); err != nil {
			b.Fatal(err)
		}
		if err := e.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
	b.ReportAllocs()
}

// BenchmarkPlan measures rules that have much in common, with plans and with trees.
func BenchmarkPlan(b *testing.B) {
	path := recordTen(b, 1000)
	rules := strings.Repeat(tenRules, 25)
	for _, unplanned := range []bool{false, true} {
		b.Run(fmt.Sprintf("unplanned=%v", unplanned), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := New(b.Context(), Config{Archives: []string{path}, Interval: time.Second, Quiet: true, Zone: time.UTC})
				if err != nil {
					b.Fatal(err)
				}
				e.unplanned = unplanned
				if _, err := e.Load(b.Context(), strings.NewReader(rules), "rules"); err != nil {
					b.Fatal(err)
				}
				if err := e.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
				e.Close()
			}
		})
	}
}
