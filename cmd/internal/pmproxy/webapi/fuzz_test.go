package webapi

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/pmapi"
)

// FuzzRequest sends any request to a handler for a collector. Each must be answered, with valid JSON if that is its
// content type, and the next client served.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ method, path, query, body string }{
		{"GET", "/pmapi/fetch", "names=sample.long.one,sample.bin", ""},
		{"GET", "/pmapi/fetch", "pmids=29.0.10,0x740000a,121634826,-1", ""},
		{"GET", "/pmapi/1/_fetch", "name=sample.long.one&client=%22", ""},
		{"GET", "/pmapi/context", "polltimeout=1e3&hostspec=a?username=x%26password=y", ""},
		{"GET", "/pmapi/metric", "prefix=sample.long", ""},
		{"GET", "/pmapi/indom", "name=sample.bin&iname=b[a-z]n*&match=glob", ""},
		{"GET", "/pmapi/indom", "indom=29.2&iname=(a%7cb)*&match=regex", ""},
		{"GET", "/pmapi/profile", "expr=del&indom=29.2&instance=100,x", ""},
		{"GET", "/pmapi/children", "prefix=sample", ""},
		{"GET", "/pmapi/store", "name=sample.write_me&value=7", ""},
		{"POST", "/pmapi/store", "name=sample.string.write_me&iname=x", "text\x00\xff"},
		{"POST", "/pmapi/derive", "", "# a\nd.x = 2 * sample.long.one\nd.y=rate(sample.bin)\n"},
		{"GET", "/metrics", "names=sample.long,odd&filter=*nan&times=true", ""},
		{"GET", "/pmapi/99999999999999999999/metrics", "match=regex&filter=(", ""},
		{"BREW", "/pmapi/_metricsfoo", "%00=&=", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.body)
	}
	h, err := New(Config{Host: startCollector(f).spec(), MaxContexts: 1000, AllowHost: func(*pmapi.HostSpec) bool { return false }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.Close() })
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		if method == "" || !capitals(method) {
			return
		}
		r := httptest.NewRequest("GET", "/", strings.NewReader(body))
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &trusted)))
		kind := w.Header().Get("Content-Type")
		switch {
		case w.Code != 200 && w.Code < 400:
			t.Errorf("status %d", w.Code)
		case kind == rest.TypeJSON && w.Body.Len() > 0 && (!json.Valid(w.Body.Bytes()) || !utf8.Valid(w.Body.Bytes())):
			t.Errorf("not JSON: %q", w.Body)
		case kind == "":
			t.Error("no content type")
		}
		if w := do(h, stranger, "GET", "/metrics?names=sample.long.one", ""); w.Code != 200 {
			t.Errorf("the next client: %d %s", w.Code, w.Body)
		}
	})
}

// capitals reports whether s can be a method of HTTP.
func capitals(s string) bool {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}
