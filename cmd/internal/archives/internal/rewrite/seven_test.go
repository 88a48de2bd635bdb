package rewrite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// TestSevenNames checks the names of metrics in messages and in the summary, with two names for one metric.
func TestSevenNames(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(desc.PMID)
	if err := errors.Join(w.Desc(desc, "cellar.one", "cellar.two", "cellar.three"), w.WriteResult(res), w.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
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
