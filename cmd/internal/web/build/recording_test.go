package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/recordings"
	"github.com/go-pcp/pcp/internal/folio"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// TestRecording records the metrics of a chart, stops, and removes the recording. Without the token the page explains why it cannot.
func TestRecording(t *testing.T) {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f := private(t, token)
	a, err := pmda.NewTable(pmda.Config{Name: "fake", Domain: 60, Metrics: []pmda.Metric{
		{Name: "swap.length", Item: 1, Type: pcp.TypeU64, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(1), nil }},
		{Name: "swap.used", Type: pcp.TypeU64, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(42), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := recordings.New(recordings.Config{Dir: dir, Open: func(context.Context) (*pmapi.Context, error) {
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "fake", Domain: 60, Agent: a})
	}})
	t.Cleanup(func() { h.Close() })
	f.recordings = h
	p := open(t, f, "?token="+token+"#/charts?d="+url.QueryEscape(`{"title":"T","panels":[{"kind":"chart","title":"<b>\"both\"","style":"stack","plots":[{"metric":"swap.used","legend":"used"},{"metric":"swap.length"}]}]}`), 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 1")
	p.button("Record")
	p.do("(() => { const s = document.querySelector('dialog select'); s.value = '3600'; s.dispatchEvent(new Event('change', {bubbles: true})); })()")
	p.button("Record what is shown")
	p.until("document.querySelector('.recordings').textContent.includes('recording until') && document.querySelector('button.recording')")
	p.shot("running")
	p.until("document.querySelector('.recordings button').textContent === 'Stop'")
	p.click(".recordings button")
	p.until("document.querySelector('.recordings button').textContent === 'Remove' && !document.querySelector('button.recording')")
	replay := p.text(".recordings code")
	path := strings.TrimSuffix(strings.TrimPrefix(replay, "pmafm "), " replay")
	fol, err := folio.Open(path)
	if err != nil || len(fol.Archives) != 1 || filepath.Dir(filepath.Dir(path)) != dir {
		t.Fatalf("%s: %+v, %v", replay, fol, err)
	}
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "view")); err != nil || !strings.Contains(string(b), "chart title \"<b>'both'\" style stacking\n\tplot legend \"used\" metric swap.used\n\tplot metric swap.length\n") {
		t.Errorf("the view is %q, %v", b, err)
	}
	p.click(".recordings button")
	p.until("!document.querySelector('.recordings')")
	if _, err := os.Stat(path); err == nil {
		t.Error("the recording was not removed")
	}

	p.do("localStorage.clear()")
	p.run(chromedp.Navigate(f.URL + "/?anybody#/charts?chart=swap.used"))
	p.until("document.querySelectorAll('.uplot').length === 1")
	p.button("Record")
	p.until("document.querySelector('dialog').textContent.includes('requires the address with the token')")
}
