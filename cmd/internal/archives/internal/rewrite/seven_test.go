package rewrite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// withMetric returns an archive with a metric of these names.
func withMetric(t *testing.T, names ...string) *archive.Archive {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(desc.PMID)
	if err := errors.Join(w.Desc(desc, names...), w.WriteResult(res), w.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestSevenNames checks the names of metrics in messages and in the summary, with two names for one metric.
func TestSevenNames(t *testing.T) {
	a := withMetric(t, "cellar.one", "cellar.two", "cellar.three")
	for _, c := range []struct {
		seven         bool
		title, metric string
	}{
		{false, "\nMetric: cellar.one (245.0.1)\n", "Expecting metric name or <domain>"},
		{true, "\nMetrics: cellar.three [cellar.two cellar.one] (245.0.1)\n", "Expecting <metric_name> or <domain>"},
	} {
		r := New(a, Config{Seven: c.seven})
		if err := r.Parse("rules", []byte("metric cellar.one { sem -> COUNTER }\n")); err != nil {
			t.Fatal(err)
		}
		if got := string(r.AppendSummary(nil)); !strings.Contains(got, c.title) {
			t.Errorf("the summary is %s, want %s", got, c.title)
		}
		if err := r.Parse("rules", []byte("metric { delete }\n")); err == nil || !strings.Contains(err.Error(), c.metric) {
			t.Errorf("a rule without a metric: %v, want %s", err, c.metric)
		}
	}
}

// TestSevenLine checks the line in a message about a name, which in version 7 is that of the next word.
func TestSevenLine(t *testing.T) {
	a := withMetric(t, "cellar.one")
	for _, seven := range []bool{false, true} {
		var lines []int
		r := New(a, Config{Seven: seven, Verbose: true, Warn: func(w Warning) { lines = append(lines, w.Line) }})
		if err := r.Parse("rules", []byte("metric cellar.one {\nname -> cellar.one\n# a remark\nsem -> instant }\n")); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: 2, true: 4}[seven]
		if len(lines) == 0 || lines[0] != want {
			t.Errorf("version 7 %t: warnings of the lines %v, want line %d first", seven, lines, want)
		}
	}
}

// TestSevenOutput has a metric use an instance domain that another rule renumbers, which version 6 does not find.
func TestSevenOutput(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	one := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	many := pcp.Desc{PMID: pcp.NewPMID(245, 0, 2), Type: pcp.Type32, InDom: pcp.NewInDom(245, 2), Sem: pcp.SemInstant}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(one.PMID)
	res.Add(pcp.Int32Value(7))
	if err := errors.Join(
		w.Desc(one, "cellar.one"), w.Desc(many, "cellar.many"),
		w.InDom(res.Time, many.InDom, []pcp.Instance{{Inst: 500, Name: "wine"}}), w.WriteResult(res), w.Close(),
	); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const rules = "indom 245.2 { indom -> 245.9 inst 500 -> 42 }\nmetric cellar.one { indom -> %s output inst 500 }\n"
	for _, c := range []struct {
		seven         bool
		indom, failed string
	}{
		{true, "245.9", ""},
		{false, "245.9", "Botch: InDom 245.9 not found"},
		{true, "245.8", "New indom (245.8) for metric cellar.one is not in the output archive"},
	} {
		r := New(a, Config{Seven: c.seven})
		err := r.Parse("rules", []byte(strings.Replace(rules, "%s", c.indom, 1)))
		if err == nil {
			err = r.Resolve()
		}
		if c.failed != "" {
			if err == nil || !strings.Contains(err.Error(), c.failed) {
				t.Errorf("version 7 %v, InDom %s: %v, want %s", c.seven, c.indom, err, c.failed)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s := r.metrics[0]
		if got := s.pick([]pcp.Value{pcp.Int32Value(7)}); len(got) != 1 || got[0].Inst != 42 {
			t.Errorf("the value is of instance %v, want 42", got)
		}
	}
}

// TestSevenIndex rewrites two records of one time, each with metadata before it: version 7 has one entry in the index for them.
func TestSevenIndex(t *testing.T) {
	sevenIndex(t, pcp.Timestamp{Sec: 1700000000})
	sevenIndex(t, pcp.Timestamp{})
}

func sevenIndex(t *testing.T, start pcp.Timestamp) {
	t.Helper()
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	label := archive.Label{Version: archive.Version3, Start: start}
	w, err := archive.Create(base, archive.WriterConfig{Label: label})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1+i), Type: pcp.Type32, InDom: pcp.NewInDom(245, 1+i), Sem: pcp.SemInstant}
		res := &pcp.Result{Time: start}
		res.AddSet(desc.PMID)
		err = errors.Join(err, w.Desc(desc, "cellar."+string(rune('a'+i))), w.InDom(start, desc.InDom, []pcp.Instance{{Inst: 1, Name: "wine"}}), w.WriteResult(res))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, seven := range []bool{false, true} {
		r := New(a, Config{Seven: seven})
		if err := r.Resolve(); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, map[bool]string{false: "six", true: "seven"}[seven])
		w, err := archive.Create(out, archive.WriterConfig{Label: r.Label(), ManualIndex: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Rewrite(t.Context(), w, nil), w.Close()); err != nil {
			t.Fatal(err)
		}
		c, err := archive.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if n, want := len(c.Index()), map[bool]int{false: 2, true: 1}[seven]; n != want {
			t.Errorf("start %v, version 7 %t: %d entries, want %d", start, seven, n, want)
		}
		c.Close()
	}
}
