package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// A comparison is a request to both servers.
type comparison struct {
	method, path, params string
	// shape compares only the status, and the names and types of the reply.
	shape bool
	// fewer allows ours to have fewer names.
	fewer bool
	// differs is the reason why Debian's Prometheus, version 2.42, gives another answer; ours is then that of version 3.
	differs string
}

// Reasons for differences.
const (
	newText  = "version 3 has another text"
	newParam = "version 2 does not know the parameter"
	newWarn  = "version 3 warns"
	ourLimit = "times beyond those of Prometheus, and bad URLs, are refused"
)

// comparisons are requests as clients make them, with each parameter, and with mistakes.
var comparisons = []comparison{
	{path: "query", params: "query=1%2B1&time=1767225700"},
	{path: "query", params: `query="text"&time=1767225700.123`},
	{path: "query", params: "query=kernel_all_load&time=2026-01-01T00:10:00Z"},
	{path: "query", params: "query=kernel_all_load&time=2026-01-01T01:10:00.5%2B01:00"},
	{path: "query", params: "query=disk_dev_read[45s]&time=1767225757"},
	{path: "query", params: "query=-Inf&time=1e9"},
	{path: "query", params: "query=vector(NaN)&time=1e9"},
	{path: "query", params: "query=sum(disk_dev_read)/0&time=1767225757"},
	{path: "query", params: "query=kernel_all_load&time=1767229400&lookback_delta=10s", differs: newParam},
	{path: "query", params: "query=kernel_all_load&time=1767229400&lookback_delta=600"},
	{path: "query", params: "query=kernel_all_load&time=1767229400&lookback_delta=x", differs: newParam},
	{path: "query", params: "query=kernel_all_load&time=1767225757&timeout=10s"},
	{path: "query", params: "query=kernel_all_load&time=1767225757&timeout=0", shape: true},
	{path: "query", params: "query=kernel_all_load&time=1767225757&timeout=x"},
	{path: "query", params: "query=kernel_all_load&time=1767225757&stats=all", shape: true},
	{path: "query", params: "query=kernel_all_load&time=1767225757&stats=yes", shape: true},
	{path: "query", params: "query=kernel_all_load&time=x", differs: newText},
	{path: "query", params: "query=kernel_all_load&time=-1e300", differs: ourLimit},
	{path: "query", params: "", differs: newText},
	{path: "query", params: "query=", differs: newText},
	{path: "query", params: "query=1%2B"},
	{path: "query", params: "query=sum("},
	{path: "query", params: "query=rate(kernel_all_load)"},
	{path: "query", params: "query={}"},
	{path: "query", params: "query=nofunction(1)"},
	{path: "query", params: "query=disk_dev_read*on()kernel_all_load&time=1767225757"},
	{path: "query", params: "query=label_replace(kernel_all_load,\"a\",\"b\",\"c\",\"(\")&time=1767225757"},
	{path: "query", params: "query=histogram_quantile(0.9,kernel_all_load)&time=1767225757", differs: newWarn},
	{path: "query", params: "query=kernel_all_load{a=~\"(\"}", differs: newText},
	{path: "query", params: "query=%zz", differs: ourLimit},
	{path: "query", params: "query=rate(disk_dev_read[1m])&time=1767225757"},
	{path: "query", params: "query=count_values(\"v\",kernel_all_load>0)&time=1767225757"},
	{path: "query_range", params: "query=sum+by(instname)(rate(disk_dev_read[1m]))&start=1767225607&end=1767226207&step=20"},
	{path: "query_range", params: "query=kernel_all_load&start=1767225607&end=1767226207&step=1m&stats=all", shape: true},
	{path: "query_range", params: "query=kernel_all_load&start=2026-01-01T00:01:07Z&end=2026-01-01T00:05:00Z&step=0.5"},
	{path: "query_range", params: "query=1&start=1767225607&end=1767225607&step=1y"},
	{path: "query_range", params: "query=1&start=1767225607&end=1767225606&step=1"},
	{path: "query_range", params: "query=1&start=1767225607&end=1767226206&step=0"},
	{path: "query_range", params: "query=1&start=1767225607&end=1767226206&step=-1"},
	{path: "query_range", params: "query=1&start=1767225607&end=1767226206&step=x"},
	{path: "query_range", params: "query=1&start=1767225607&end=1767226206"},
	{path: "query_range", params: "query=1&start=&end=1767226206&step=1"},
	{path: "query_range", params: "query=1&start=1&end=x&step=1"},
	{path: "query_range", params: "query=1&start=0&end=11001&step=1"},
	{path: "query_range", params: "query=1&start=0&end=1e9&step=1"},
	{path: "query_range", params: "query=kernel_all_load[1m]&start=0&end=10&step=1", differs: newText},
	{path: "query_range", params: "query=\"text\"&start=0&end=10&step=1", differs: newText},
	{path: "query_range", params: "query=%2B&start=0&end=10&step=1", differs: newText},
	{path: "query_range", params: "query=1&start=0&end=10&step=1&timeout=x"},
	{path: "labels"},
	{path: "labels", params: "match[]=kernel_all_load"},
	{path: "labels", params: "match[]=nothing"},
	{path: "labels", params: "match[]={"},
	{path: "labels", params: "match[]={}"},
	{path: "labels", params: "start=1767225600&end=1767229200"},
	{path: "labels", params: "start=x", differs: newText},
	{path: "labels", params: "end=x", differs: newText},
	{method: "GET", path: "label/instname/values"},
	{method: "GET", path: "label/instname/values", params: `match[]=disk_dev_read{instid="1"}&match[]=kernel_all_load`},
	{method: "GET", path: "label/__name__/values"},
	{method: "GET", path: "label/none/values"},
	{method: "GET", path: "label/instname/values", params: "match[]=}"},
	{method: "GET", path: "label/instname/values", params: "start=x", differs: newText},
	{method: "GET", path: "label/instname", shape: true},
	{path: "series", params: `match[]=disk_dev_read{instname=~"sd[ab]"}&match[]=kernel_all_load`},
	{path: "series", params: "match[]=nothing"},
	{path: "series"},
	{path: "series", params: "match[]={}"},
	{path: "series", params: "match[]=1"},
	{path: "series", params: "match[]=disk_dev_read&start=x", differs: newText},
	{path: "query_exemplars", params: "query=kernel_all_load&start=1767225600&end=1767229200"},
	{path: "query_exemplars", params: "query=kernel_all_load&start=1767225600&end=0"},
	{path: "query_exemplars", params: "query=(&start=0&end=1"},
	{path: "query_exemplars", params: "query=kernel_all_load&start=x", differs: newText},
	{path: "query_exemplars", params: "query=1"},
	{path: "format_query", params: "query=sum(kernel_all_load)by(a)"},
	{path: "format_query", params: "query=sum("},
	{path: "format_query", params: "query=histogram_quantile(0.99,sum+by(le,instance)(rate(x_bucket{a=\"b\",c!~\"d\"}[5m]+offset+1h)))"},
	{method: "GET", path: "metadata", params: "limit=x"},
	{method: "GET", path: "status/buildinfo", shape: true},
	{method: "GET", path: "status/flags", shape: true, fewer: true},
	{method: "GET", path: "status/runtimeinfo", shape: true, fewer: true},
	{method: "GET", path: "nothing", shape: true},
	{method: "POST", path: "status/flags", shape: true},
	{method: "DELETE", path: "series", shape: true, differs: "version 2 has the endpoint, and answers that it is not implemented"},
	{method: "PUT", path: "query", params: "query=1", shape: true},
	{method: "GET", path: "read", shape: true},
	{method: "OPTIONS", path: "query", shape: true},
}

// An answer is a reply of a server.
type answer struct {
	status int
	head   http.Header
	body   []byte
	json   map[string]any
}

// request sends a request to a server.
func request(t *testing.T, base, method, path, params string) answer {
	t.Helper()
	var body io.Reader
	address := base + "/api/v1/" + path
	if method == http.MethodPost {
		body = strings.NewReader(params)
	} else if params != "" {
		address += "?" + params
	}
	r, err := http.NewRequest(method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: w.StatusCode, head: w.Header, body: b}
	json.Unmarshal(b, &a.json) // nil if it is not JSON
	return a
}

// shape returns the names and types of a value.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = shape(e)
		}
		return m
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	}
	return fmt.Sprintf("%T", v)
}

// within reports whether all names of one shape are in the other, with the same types.
func within(a, b any) bool {
	m, ok := a.(map[string]any)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	n, ok := b.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range m {
		if w, ok := n[k]; !ok || !within(v, w) {
			return false
		}
	}
	return true
}

// TestEndpoints makes the same requests to Debian's Prometheus, which has the same samples, and to ours.
func TestEndpoints(t *testing.T) {
	h, want := openArchive(t)
	srv := httptest.NewServer(h)
	defer srv.Close()
	prom := startPrometheus(t, "global: {}\n")
	fill(t, prom, want)
	for _, c := range comparisons {
		methods := []string{c.method}
		if c.method == "" {
			methods = []string{http.MethodGet, http.MethodPost}
		}
		for _, method := range methods {
			ours, theirs := request(t, srv.URL, method, c.path, c.params), request(t, prom, method, c.path, c.params)
			same := ours.status == theirs.status
			if c.shape {
				a, b := shape(ours.json), shape(theirs.json)
				same = same && (within(b, a) || c.fewer && within(a, b))
			} else {
				for _, a := range []answer{ours, theirs} {
					if data, ok := a.json["data"].(map[string]any); ok {
						if list, ok := data["result"].([]any); ok && data["resultType"] != "scalar" && data["resultType"] != "string" {
							sorted(t, list)
						}
					}
				}
				same = same && reflect.DeepEqual(ours.json, theirs.json) && ours.head.Get("Content-Type") == theirs.head.Get("Content-Type")
			}
			if same == (c.differs != "") {
				t.Errorf("%s %s %s: %d %.400s\nPrometheus: %d %.400s\nto differ: %q", method, c.path, c.params, ours.status, ours.body, theirs.status, theirs.body, c.differs)
			}
		}
	}
}

// fill writes the samples of the archive into a server.
func fill(t *testing.T, base string, values map[string][]float64) {
	t.Helper()
	var list []remote.Series
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s := remote.Series{Labels: []remote.Label{{Name: "__name__", Value: "kernel_all_load"}, {Name: "hostname", Value: "www"}}}
		if key != "load" {
			s.Labels = []remote.Label{
				{Name: "__name__", Value: "disk_dev_read"},
				{Name: "hostname", Value: "www"},
				{Name: "instid", Value: fmt.Sprint(key[2] - 'a')},
				{Name: "instname", Value: key},
			}
		}
		for i, v := range values[key] {
			s.Samples = append(s.Samples, remote.Sample{Time: 1000 * (first + 10*int64(i)), Bits: remote.Number(v)})
		}
		list = append(list, s)
	}
	var e remote.Encoder
	r, err := http.NewRequest(http.MethodPost, base+"/api/v1/write", bytes.NewReader(s2.EncodeSnappy(nil, e.Encode(remote.V1, list))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("Content-Type", "application/x-protobuf")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	if w.StatusCode/100 != 2 {
		b, _ := io.ReadAll(w.Body)
		t.Fatalf("%d %s", w.StatusCode, b)
	}
}

// TestMetadata compares metadata with that of a Prometheus that scrapes the same metrics.
func TestMetadata(t *testing.T) {
	h := newHandler(api.Config{})
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "# HELP disk_dev_read reads\n# TYPE disk_dev_read counter\ndisk_dev_read 1\n# TYPE hinv_ncpu gauge\nhinv_ncpu 4\n")
	}))
	defer page.Close()
	srv := httptest.NewServer(h)
	defer srv.Close()
	u, err := url.Parse(page.URL)
	if err != nil {
		t.Fatal(err)
	}
	prom := startPrometheus(t, "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: a\n  static_configs:\n  - targets: ['"+u.Host+"']\n")
	await.Until(t, "prometheus has scraped", func() bool {
		return strings.Contains(string(request(t, prom, http.MethodGet, "metadata", "metric=hinv_ncpu").body), "gauge")
	})
	for _, params := range []string{"", "metric=hinv_ncpu", "metric=nothing", "limit=1", "limit=0", "limit=-1", "limit=2&metric=hinv_ncpu"} {
		ours, theirs := request(t, srv.URL, http.MethodGet, "metadata", params), request(t, prom, http.MethodGet, "metadata", params)
		a, b := ours.json["data"].(map[string]any), theirs.json["data"].(map[string]any)
		if ours.status != theirs.status || len(a) != len(b) {
			t.Errorf("%s: %d %s\nPrometheus: %d %s", params, ours.status, ours.body, theirs.status, theirs.body)
			continue
		}
		if params != "limit=1" && !reflect.DeepEqual(shape(a), shape(b)) {
			t.Errorf("%s: %s\nPrometheus: %s", params, ours.body, theirs.body)
		}
	}
}
