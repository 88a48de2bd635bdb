package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/mmv"
)

// TestHostileSources shows metrics of a program and of an exporter in the page of "pcp up". Their instances, labels, help texts
// and values are markup: nothing of it becomes an element.
func TestHostileSources(t *testing.T) {
	chrome(t)
	home := t.TempDir()
	programs, sources := filepath.Join(home, ".local", "state", "pcp", "mmv"), filepath.Join(home, ".config", "pcp", "openmetrics")
	for _, dir := range []string{programs, sources} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	reg, err := mmv.New("evil", mmv.Options{Dir: programs})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	counts := reg.GaugeVec(mmv.Metric{Name: "counts", OneLine: "Counts " + hostile, Help: "Help \u202e" + hostile, Labels: []mmv.Label{{Name: "team", Value: "\u202e" + hostile}}})
	texts := reg.StringVec(mmv.Metric{Name: "texts", OneLine: "Texts " + hostile})
	for i, name := range []string{hostile, `"><script>alert(2)</script>`, "\x1b[31m\u202egnp.exe\r\n", "__proto__", "${alert(3)}"} {
		counts.With(name).Set(float64(i))
		texts.With(name).Set(name)
	}
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "# HELP counts Counts %s\n# TYPE counts gauge\ncounts{__proto__=%q,path=%q} 1\ncounts{path=\"javascript:alert(4)\"} 2\n", hostile, hostile, hostile)
	}))
	defer exporter.Close()
	if err := os.WriteFile(filepath.Join(sources, "evil.url"), []byte(exporter.URL+"/metrics\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	address, page, _ := up(t, home)
	p := open(t, &fake{Server: &httptest.Server{URL: address}}, page, 1280, 900)
	p.until("document.querySelectorAll('[aria-label=Processes] tbody tr').length >= 1")
	for _, c := range []struct {
		metric    string
		instances int
		selectors []string // of elements with the hostile text
	}{
		{"mmv.evil.counts", 5, []string{".oneline", ".help", ".labels", ".values", ".chart table"}},
		{"mmv.evil.texts", 5, []string{".oneline", ".values td.text"}},
		{"openmetrics.evil.counts", 2, []string{".oneline", ".values", ".chart table"}},
	} {
		p.do(fmt.Sprintf("location.hash = '#/metrics?metric=%s'", c.metric))
		p.until(fmt.Sprintf("document.querySelector('#about')?.textContent === %q && document.querySelectorAll('.values tbody tr').length === %d", c.metric, c.instances))
		for _, selector := range c.selectors {
			p.until(fmt.Sprintf("document.querySelector(%q)?.textContent.includes(%q)", selector, hostile))
		}
		// Characters that would turn the text around are shown as signs.
		if text := eval[string](p, "document.body.innerText"); strings.ContainsAny(text, "\u202e\x1b") {
			t.Errorf("%s: the page has characters that change how the rest reads:\n%s", c.metric, text)
		}
		p.shot(c.metric)
		p.do(fmt.Sprintf("location.hash = '#/charts?chart=%s'", c.metric))
		p.until("document.querySelectorAll('.card').length >= 1")
		// Nothing made of text, and no text that widens the page.
		if n := eval[int](p, "document.querySelectorAll('img, script:not([src]), a[href^=\"javascript:\"]').length"); n != 0 {
			t.Errorf("%s: %d elements were made of text", c.metric, n)
		}
		if n := eval[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); n > 0 {
			t.Errorf("%s: the page is %d pixels wider than the window", c.metric, n)
		}
	}
}
