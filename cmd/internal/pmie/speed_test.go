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
	task := e.get.tasks[0]
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
				e.alone = unplanned
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

// recordMany makes an archive of 500 metrics, half of them counters and each fifth over ten disks.
func recordMany(tb testing.TB, records int) (path string) {
	tb.Helper()
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	im, err := importer.Start(filepath.Join(tb.TempDir(), "many"), importer.Options{Host: "many", TimeZone: "UTC"})
	check(err)
	indom := pcp.NewInDom(60, 1)
	for i := range 10 {
		check(im.AddInstance(indom, fmt.Sprintf("sd%c", 'a'+i), int32(i)))
	}
	var handles [][]importer.Handle
	for i := range 500 {
		desc := pcp.Desc{PMID: pcp.NewPMID(60, i/100, i%100), Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: pcp.InDomNull}
		if i%2 == 1 {
			desc.Type, desc.Sem, desc.Units.DimCount = pcp.TypeU64, pcp.SemCounter, 1
		}
		insts := []string{""}
		if i%5 == 4 {
			desc.InDom = indom
			insts = insts[:0]
			for k := range 10 {
				insts = append(insts, fmt.Sprintf("sd%c", 'a'+k))
			}
		}
		name := fmt.Sprintf("many.m%d", i)
		_, err := im.AddMetric(name, desc)
		check(err)
		var list []importer.Handle
		for _, inst := range insts {
			h, err := im.Handle(name, inst)
			check(err)
			list = append(list, h)
		}
		handles = append(handles, list)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range records {
		for i, list := range handles {
			for k, h := range list {
				v := uint64((n*7919 + i*104729 + k*31) % 1000)
				if i%2 == 1 {
					v += uint64(n * (i + k + 1))
				}
				check(h.PutUint(v))
			}
		}
		check(im.Write(start.Add(time.Duration(n) * time.Second)))
	}
	check(im.End())
	return im.Path()
}

// manyRules returns a thousand rules of which few are true at a time, with common parts.
func manyRules() string {
	var text strings.Builder
	one := func(i int) string { return fmt.Sprintf("many.m%d", i-i%5+i%4) } // of one value
	disk := func(i int) string { return fmt.Sprintf("many.m%d", i-i%5+4) }
	for i := range 1000 {
		j, k := i%500, i*7%500
		switch i % 8 {
		case 0:
			fmt.Fprintf(&text, "%s > 998 count/sec -> print \"%%v\";\n", one(j))
		case 1:
			fmt.Fprintf(&text, "%s + 2 * %s > 200000 && %s < 5 -> print \"%%v\";\n", one(j), one(k), one(k))
		case 2:
			fmt.Fprintf(&text, "some_inst (%s > 100000) -> print \"%%i %%v\";\n", disk(j))
		case 3:
			fmt.Fprintf(&text, "rising (%s > 990) && %s > 500 -> print \"up\";\n", one(j), one(k))
		case 4:
			fmt.Fprintf(&text, "avg_sample %s @0..4 > 900000 -> print \"%%v\";\n", one(j))
		case 5:
			fmt.Fprintf(&text, "sum_inst %s / 10 > 50000 || %s == 3 -> print \"%%h\";\n", disk(j), one(k))
		case 6:
			fmt.Fprintf(&text, "count_inst (%s > 10) < 0 || ! (%s >= 0) -> print \"never\";\n", disk(k), one(j))
		default:
			fmt.Fprintf(&text, "50 %%_inst (%s > 200000 && %s > 150000) -> print \"%%i\";\n", disk(j), disk(j))
		}
	}
	return text.String()
}

// BenchmarkThousand measures an evaluation of a thousand rules over an archive of 500 metrics.
func BenchmarkThousand(b *testing.B) {
	const records = 1000
	path := recordMany(b, records)
	rules := manyRules()
	for b.Loop() {
		e, err := New(b.Context(), Config{Archives: []string{path}, Out: io.Discard, Err: io.Discard, Interval: time.Second, Quiet: true, Zone: time.UTC})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Load(b.Context(), strings.NewReader(rules), "rules"); err != nil {
			b.Fatal(err)
		}
		if err := e.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
