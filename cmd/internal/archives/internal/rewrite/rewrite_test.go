package rewrite_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/rewrite"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// rewritten applies rules to an archive that makeArchive makes, and opens the copy.
func rewritten(t *testing.T, version int, cfg rewrite.Config, text string) *archive.Archive {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	makeArchive(t, base, version)
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	rules := rewrite.New(a, cfg)
	if err := rules.Parse("rules", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := rules.Resolve(); err != nil {
		t.Fatal(err)
	}
	w, err := archive.Create(base+"-out", archive.WriterConfig{Label: rules.Label(), ManualIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Rewrite(context.Background(), w, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := archive.Open(base + "-out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// last returns the values of a metric in the last record.
func last(t *testing.T, a *archive.Archive, name string) (values []pcp.Value) {
	t.Helper()
	id, ok := a.Meta().LookupName(name)
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	desc, _ := a.Meta().Desc(id)
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		values = values[:0]
		for _, vs := range res.Sets {
			if vs.PMID != id {
				continue
			}
			for _, v := range vs.Values {
				values = append(values, v.As(desc.Type))
			}
		}
	}
	return values
}

// TestKeepSets changes labels and expects the other labels of their sets.
func TestKeepSets(t *testing.T) {
	for _, c := range []struct{ rule, want, split string }{
		{`label context "hostname" { value -> "barn" }`, `{"hostname":"barn","n":1}`, `{"hostname":"barn"}`},
		{`label context "n" { label -> "a" value -> 7 }`, `{"a":7,"hostname":"cellar"}`, `{"a":7}`},
		{`label context "n" "2" { value -> 7 }`, `{"hostname":"cellar","n":1}`, `{"hostname":"cellar","n":1}`},
		{`label context { value -> 7 }`, `{"hostname":7,"n":7}`, `{"hostname":7,"n":7}`},
		// A set has each name once: this label gets a set of its own in either case.
		{`label context "n" { label -> "hostname" }`, `{"hostname":1}`, `{"hostname":1}`},
		{`label context "n" { delete }`, `{"hostname":"cellar"}`, `{"hostname":"cellar"}`},
		{`label context { new "color" "red" new "n" "2" }`, `{"color":"red","hostname":"cellar","n":"2"}`, `{"color":"red","n":"2"}`},
	} {
		for _, keep := range []bool{true, false} {
			a := rewritten(t, archive.Version3, rewrite.Config{KeepSets: keep}, c.rule)
			want := c.want
			if !keep {
				want = c.split
			}
			sets, _ := a.Meta().LookupLabels(pcp.LabelContext, uint32(pcp.PMIDNull), a.Label().Start)
			if len(sets) != 1 || sets[0].JSON != want {
				t.Errorf("%s, keep %t: %v, want %s", c.rule, keep, sets, want)
			}
		}
	}
}

func TestInstances(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		a := rewritten(t, version, rewrite.Config{}, `indom 245.1 { inst 0 -> delete inst 2 -> 20 iname "white" -> "green" }`)
		got := last(t, a, "a.size")
		if len(got) != 2 || got[0].Inst != 1 || got[1].Inst != 20 || got[0].Uint64() != 5000 {
			t.Errorf("version %d: %v", version, got)
		}
		end, _ := a.End()
		in, err := a.Meta().InDom(pcp.NewInDom(245, 1), end)
		if err != nil || len(in.Instances) != 2 || in.Instances[0].Name != "green" || in.Instances[1].Inst != 20 {
			t.Errorf("version %d: %v, %v", version, in, err)
		}
		// All of them.
		a = rewritten(t, version, rewrite.Config{}, `indom 245.1 { inst 0 -> delete inst 1 -> delete inst 2 -> delete }`)
		if got := last(t, a, "a.size"); len(got) != 0 {
			t.Errorf("version %d: %v", version, got)
		}
	}
}

func TestValues(t *testing.T) {
	text := `
		metric a.count { type -> double units -> 0,0,1,0,0,1 rescale name -> b.count }
		metric a.size { indom -> NULL output max }
		metric a.name { value /x(x*)/ -> "<\1&>" }
		global { time -> -0:01:00.5 hostname -> "other host" }`
	a := rewritten(t, archive.Version2, rewrite.Config{Version: archive.Version3}, text)
	if l := a.Label(); l.Host != "other host" || l.Version != archive.Version3 || l.Start != (pcp.Timestamp{Sec: 1699999939, Nsec: 5e8}) {
		t.Errorf("label %+v", l)
	}
	if got := last(t, a, "b.count"); len(got) != 1 || got[0].Double() != 1 {
		t.Errorf("count %v", got)
	}
	if got := last(t, a, "a.size"); len(got) != 1 || got[0].Uint64() != 5000 || got[0].Inst != pcp.InNull {
		t.Errorf("size %v", got)
	}
	if got := last(t, a, "a.name"); len(got) != 1 || string(got[0].Bytes()) != "<xxxxxxxxx>" {
		t.Errorf("name %q", got[0].Bytes())
	}
}

// TestLongRules checks that files too long to be rules are refused.
func TestLongRules(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	makeArchive(t, base, archive.Version3)
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := rewrite.New(a, rewrite.Config{}).Parse("rules", make([]byte, rewrite.MaxRules+1)); err == nil {
		t.Error("no error")
	}
}

// TestTrace checks the trace of converted values: the last of them is 5.
func TestTrace(t *testing.T) {
	var log bytes.Buffer
	rewritten(t, archive.Version3, rewrite.Config{Debug: debug.New(&log, debugname.Value)}, `metric a.count { units -> 0,0,1,0,0,1 rescale type -> double }`)
	want := "pmExtractValue:  5 [U32] -> 5 [U32]\npmConvScale: 5 [count] -> 1 [count x 10]\npmExtractValue:  1 [U32] -> 1.000000e+00 [DOUBLE]\n"
	if got := log.String(); !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 18 {
		t.Errorf("logged %q, which is to end with %q", got, want)
	}
}

// TestTraceSeven checks the layout of PCP 7 for changes of metadata, which names the changed parts of a metric. The transcript
// rewrite-debug has that of 6.0.3.
func TestTraceSeven(t *testing.T) {
	var log bytes.Buffer
	rewritten(t, archive.Version3, rewrite.Config{Debug: debug.New(&log, debugname.Appl1, debugname.Version7)},
		`metric a.count { pmid -> 245.0.77 name -> a.total } text metric 245.0.1 oneline { text -> "short" }`)
	want := "ref++ InDom: 245.1 refcnt: 1 (for PMID: 245.0.2)\nRewrite: pmDesc for 245.0.1: pmid name\n" +
		"Rewrite: one line help text for metric 245.0.1 \"how many\" to one line help text for metric 245.0.77 \"short\"\n"
	if got := log.String(); got != want {
		t.Errorf("logged:\n%s\nwant:\n%s", got, want)
	}
}

func TestExtraUnits(t *testing.T) {
	f := func(clause, want string) {
		t.Helper()
		a := rewritten(t, archive.Version3, rewrite.Config{}, "metric a.size { "+clause+" }")
		id, _ := a.Meta().LookupName("a.size")
		desc, _ := a.Meta().Desc(id)
		if got := desc.Units.String(); got != want {
			t.Errorf("%s: units %q, want %q", clause, got, want)
		}
	}
	f("extraunits -> 0,0,0,0,0,0,TEMPERATURE,F", "temperature (F)")
	f("ExtraUnits -> 0,1,0,0,HOUR,0,power,kw sem -> instant", "power (kW) hour")
	f("extraunits -> 0,0,1,0,0,ONE,CURRENT,uA", "current (uA) count")
	f("extraunits -> 1,0,0,MBYTE,0,0,0,0", "Mbyte")
}

// TestNewLabels adds labels to identifiers with labels, and without any.
func TestNewLabels(t *testing.T) {
	const rules = `label item 245.0.1 { new "a" "1" }
label item 245.0.2 { new "b" "2" }
label cluster 245.0 { new "c" "3" }
label instances 245.1 { new "d" "4" }
label domain 245 { new "n" "5" }`
	for _, keep := range []bool{true, false} {
		a := rewritten(t, archive.Version3, rewrite.Config{KeepSets: keep}, rules)
		f := func(level pcp.LabelFlags, ident uint32, want ...string) {
			t.Helper()
			sets, _ := a.Meta().LookupLabels(level, ident, pcp.Timestamp{Sec: 1 << 40})
			var got []string
			for _, set := range sets {
				got = append(got, set.JSON)
			}
			if !slices.Equal(got, want) {
				t.Errorf("keep %t: %s %d has %q, want %q", keep, level, ident, got, want)
			}
		}
		item := func(n int) uint32 { return uint32(pcp.NewPMID(245, 0, n)) }
		indom := uint32(pcp.NewInDom(245, 1))
		f(pcp.LabelItem, item(2), `{"b":"2"}`)
		f(pcp.LabelCluster, item(0), `{"c":"3"}`)
		if !keep {
			f(pcp.LabelItem, item(1), `{"a":"1"}`)
			f(pcp.LabelDomain, 245, `{"n":"5"}`)
			continue
		}
		f(pcp.LabelItem, item(1), `{"a":"1","hostname":"cellar","n":1}`)
		f(pcp.LabelDomain, 245, `{"hostname":"cellar","n":"5"}`)
		list, _ := a.Meta().Lifetimes(pcp.InDom(indom))
		sets, _ := a.Meta().LookupLabels(pcp.LabelInstances, indom, pcp.Timestamp{Sec: 1 << 40})
		if len(list) < 2 || len(sets) != len(list) {
			t.Errorf("%d instances with labels, %d in all", len(sets), len(list))
		}
		for _, set := range sets {
			if l, ok := set.Lookup("d"); !ok || l.Value != `"4"` {
				t.Errorf("instance %d has %s", set.Inst, set.JSON)
			}
		}
	}
}
