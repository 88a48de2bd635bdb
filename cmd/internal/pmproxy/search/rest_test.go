package search

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

var elapsed = regexp.MustCompile(`"elapsed":0\.[0-9]{6}`)

// TestHandler compares responses: keys, their order, types, and the messages
// for bad parameters.
func TestHandler(t *testing.T) {
	h, err := New(Config{Index: newSmall(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const (
		json, none, html = rest.TypeJSON, rest.TypeNone, rest.TypeHTML
		empty            = `{"total":0,"elapsed":0,"offset":0,"limit":10,"results":[]}`
	)
	for _, c := range []struct {
		url    string
		status int
		typ    string
		want   string // "" for an HTML page
	}{
		{"/search/text?query=sda", 200, json, `{"total":1,"elapsed":E,"offset":0,"limit":10,"results":[{"name":"sda","type":"instance","indom":"60.1"}]}`},
		{"/search/textual/x?query=uptime", 200, json, `{"total":1,"elapsed":E,"offset":0,"limit":10,"results":[{"name":"kernel.all.load","type":"metric","indom":"60.2","oneline":"1, 5 and 15 minute load average","helptext":"The load of the kernel, as \u0022uptime\u0022 has it."}]}`},
		{"/search/text?query=idle&return=indom,name&highlight=name", 200, json, `{"total":1,"elapsed":E,"offset":0,"limit":10,"results":[{"name":"kernel.all.cpu.<b>idle</b>","indom":"none"}]}`},
		{"/search/text?query=idle&return=what", 200, json, `{"total":1,"elapsed":E,"offset":0,"limit":10,"results":[{"name":"kernel.all.cpu.idle","type":"metric","indom":"none","oneline":"total idle CPU time"}]}`},
		{"/search/text?query=disk&type=indom,x&return=type&limit=0x1", 200, json, `{"total":1,"elapsed":E,"offset":0,"limit":1,"results":[{"type":"indom"}]}`},
		{"/search/text?query=disk&field=helptext&return=name&limit=1&offset=1", 200, json, `{"total":2,"elapsed":E,"offset":1,"limit":1,"results":[{"name":"disk.dev.read"}]}`},
		{"/search/text?query=nothing&limit=-1&offset=007", 200, none, `{"total":0,"elapsed":0,"offset":7,"limit":10,"results":[]}`},
		{"/search/text?query=", 200, none, empty},
		{"/search/text?query=x%20%22(%7c", 200, none, empty},
		{"/search/text?query=nothing&clientid=a%22b", 200, none, `{"client":"a\u0022b","total":0,"elapsed":0,"offset":0,"limit":10,"results":[]}`},
		{"/search/text?query=sda&client=7&return=name&limit=999999999999", 200, json, `{"client":"7","total":1,"elapsed":E,"offset":0,"limit":10000,"results":[{"name":"sda"}]}`},
		{"/search/suggest?query=disk.dev.w", 200, json, `["disk.dev.write","disk.dev.read"]`},
		{"/search/suggest?query=disk&limit=1", 200, json, `["disk.dev.write"]`},
		{"/search/suggest?query=sda&client=x", 200, json, `{"client":"x","result":["sda"]}`},
		{"/search/suggest?query=xyz&client=x", 200, none, `{"client":"x","result":[]}`},
		{"/search/suggest?query=xyz", 200, none, `[]`},
		{"/search/indom?query=60.2&limit=2", 200, json, `{"total":4,"elapsed":E,"offset":0,"limit":2,"results":[{"name":"60.2","type":"indom","indom":"60.2","oneline":"load averages"},{"name":"1 minute","type":"instance","indom":"60.2"}]}`},
		{"/search/indom?query=x", 200, none, empty},
		{"/search/text?query=" + strings.Repeat("x%20", 40), 400, json, `{"success":false}`},
		{"/search/suggest?client=c&query=" + strings.Repeat("xy%20", 40), 400, json, `{"client":"c","success":false}`},
		{"/search/text", 400, html, ""},
		{"/search/suggest?limit=2", 400, html, ""},
		{"/search/indom", 400, html, ""},
		{"/search/text?query=%zz", 400, html, ""},
		{"/search/other", 400, html, ""},
		{"/search", 400, html, ""},
		{"/search/text?query=x&y=" + strings.Repeat("x", rest.MaxQuery), 414, html, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", c.url, nil))
		got := w.Body.String()
		if c.want != "" {
			got = elapsed.ReplaceAllString(got, `"elapsed":E`)
			if got != c.want+"\r\n" {
				t.Errorf("%s:\n%s, want\n%s", c.url, got, c.want)
			}
		}
		if w.Code != c.status || w.Header().Get("Content-Type") != c.typ {
			t.Errorf("%s: %d %s, want %d %s", c.url, w.Code, w.Header().Get("Content-Type"), c.status, c.typ)
		}
	}
	for _, method := range []string{"HEAD", "OPTIONS", "TRACE"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/search/text?query=sda", nil))
		if body, _ := io.ReadAll(w.Body); w.Code != 200 || string(body) != empty+"\r\n" {
			t.Errorf("%s: %d %q", method, w.Code, body)
		}
	}
}

// TestInfo reads the figures of the index.
func TestInfo(t *testing.T) {
	h, err := New(Config{Limit: 3, Index: newSmall(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	get := func(url string) map[string]any {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", url, nil))
		var m map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		return m
	}
	m := get("/search/info?client=x")
	if m["docs"] != 12.0 || m["client"] != "x" || m["terms"].(float64) < 30 || m["records"].(float64) < m["terms"].(float64) || len(m) != 13 {
		t.Errorf("%v", m)
	}
	if m := get("/search/text?query=disk"); m["limit"] != 3.0 || len(m["results"].([]any)) != 3 || m["total"].(float64) != 4 {
		t.Errorf("%v", m)
	}
	h.Index().Remove("small")
	if m := get("/search/info"); m["docs"] != 0.0 || m["bytes_per_record_avg"] == nil {
		t.Errorf("%v", m)
	}
}

// TestReporter checks that a repeated failure is logged once.
func TestReporter(t *testing.T) {
	var log strings.Builder
	report := reporter(slog.New(slog.NewTextHandler(&log, nil)))
	for _, err := range []error{errors.New("one"), errors.New("one"), errors.New("two"), nil, nil, errors.New("two")} {
		report("it", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 4 || !strings.Contains(log.String(), "fed again") {
		t.Errorf("%d lines: %s", n, &log)
	}
}

// FuzzHandler answers any parameters in JSON or with a page.
func FuzzHandler(f *testing.F) {
	for _, s := range []string{"query=disk&highlight=name", "query=%22&limit=010&client=\xff", "a=%", "query=60.1"} {
		f.Add("text", s)
		f.Add("suggest", s)
		f.Add("indom", s)
	}
	h, err := New(Config{Index: newSmall(f)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.Close() })
	f.Fuzz(func(t *testing.T, command, query string) {
		r := httptest.NewRequest("GET", "/search/x", nil)
		r.URL.Path, r.URL.RawQuery = "/search/"+command, query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.Background()))
		switch {
		case w.Code != 200 && w.Code != 400 && w.Code != 414:
			t.Errorf("status %d", w.Code)
		case w.Header().Get("Content-Type") != rest.TypeHTML && !json.Valid(w.Body.Bytes()):
			t.Errorf("no JSON: %s", w.Body)
		}
	})
}
