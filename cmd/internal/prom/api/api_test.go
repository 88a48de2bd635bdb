package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// newStore returns the values of two disks and a processor count, recorded each 10 seconds from 1000 to 1100.
func newStore() *store.Store { return newStoreAt(1000, 11) }

// newStoreAt returns n records of them.
func newStoreAt(start, n int64) *store.Store {
	s := seriestest.New()
	read := pcp.Desc{
		PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeU64, InDom: pcp.NewInDom(60, 1), Sem: pcp.SemCounter,
		Units: pcp.Units{DimCount: 1},
	}
	id := s.AddMetric("disk.dev.read", read, `{"hostname":"www"}`, "/a/www", "www")
	sda, sdb := s.AddInstance(id, 0, "sda", ""), s.AddInstance(id, 1, "sdb", "")
	cpus := s.AddMetric("hinv.ncpu", pcp.Desc{PMID: pcp.NewPMID(60, 0, 32), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, `{"hostname":"www"}`)
	for i := range n {
		at := pcp.Timestamp{Sec: start + 10*i}
		s.Append(id, at, series.InstValue{Instance: sda, Value: pcp.Uint64Value(uint64(100 * i)).WithInst(0)},
			series.InstValue{Instance: sdb, Value: pcp.Uint64Value(7).WithInst(1)})
		s.Append(cpus, at, series.InstValue{Value: pcp.Uint32Value(4).WithInst(pcp.InNull)})
	}
	return store.New(s, store.Config{})
}

// newHandler returns a handler of newStore.
func newHandler(cfg api.Config) *api.Handler {
	return newHandlerOf(cfg, func(s api.Store) api.Store { return s })
}

// newHandlerOf returns a handler of what a function makes of the store.
func newHandlerOf(cfg api.Config, of func(api.Store) api.Store) *api.Handler {
	cfg.Store = of(newStore())
	cfg.Now = func() time.Time { return time.Unix(1100, 0) }
	return api.New(cfg)
}

// ask makes a request: a path with parameters.
func ask(h http.Handler, method, path string, params url.Values) (int, string) {
	var r *http.Request
	if method == http.MethodPost {
		r = httptest.NewRequest(method, "/api/v1/"+path, strings.NewReader(params.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		r = httptest.NewRequest(method, "/api/v1/"+path+"?"+params.Encode(), nil)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

func TestRequests(t *testing.T) {
	h := newHandler(api.Config{})
	ok := func(path, data string, pairs ...string) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && (strings.HasPrefix(path, "label/") || path == "metadata" || path == "rules" || path == "alerts" || strings.HasPrefix(path, "status/")) {
				continue
			}
			status, body := ask(h, method, path, values(pairs...))
			if want := `{"status":"success","data":` + data + `}`; status != 200 || body != want {
				t.Errorf("%s %s %q: %d %s, want %s", method, path, pairs, status, body, want)
			}
		}
	}
	ok("query", `{"resultType":"scalar","result":[1100,"2"]}`, "query", "1+1")
	ok("query", `{"resultType":"string","result":[5,"x"]}`, "query", `"x"`, "time", "5")
	ok("query", `{"resultType":"vector","result":[{"metric":{"__name__":"hinv_ncpu","hostname":"www"},"value":[1050.5,"4"]}]}`,
		"query", "hinv_ncpu", "time", "1050.5")
	ok("query", `{"resultType":"vector","result":[]}`, "query", "nothing")
	ok("query", `{"resultType":"vector","result":[{"metric":{"hostname":"www","instid":"0","instname":"sda"},"value":[1100,"10"]}]}`,
		"query", `rate(disk_dev_read{instname="sda"}[50s])`, "time", "1970-01-01T00:18:20Z")
	ok("query", `{"resultType":"matrix","result":[{"metric":{"__name__":"hinv_ncpu","hostname":"www"},"values":[[1090,"4"],[1100,"4"]]}]}`, "query", "hinv_ncpu[20s]")
	ok("query_range", `{"resultType":"matrix","result":[{"metric":{},"values":[[1000,"7"],[1020,"207"],[1040,"407"]]}]}`,
		"query", "sum(disk_dev_read)", "start", "1000", "end", "1040", "step", "20s")
	ok("labels", `["__name__","hostname","instid","instname"]`)
	ok("labels", `["__name__","hostname"]`, "match[]", "hinv_ncpu")
	ok("label/instname/values", `["sda","sdb"]`)
	ok("label/instname/values", `["sda"]`, "match[]", `disk_dev_read{instid="0"}`)
	ok("label/__name__/values", `["disk_dev_read","hinv_ncpu"]`)
	ok("label/none/values", `[]`)
	ok("series", `[{"__name__":"disk_dev_read","hostname":"www","instid":"1","instname":"sdb"},{"__name__":"hinv_ncpu","hostname":"www"}]`,
		"match[]", "hinv_ncpu", "match[]", `{instname="sdb"}`, "match[]", `{__name__="hinv_ncpu"}`)
	ok("labels", `[]`, "end", "999")
	ok("labels", `["__name__","hostname","instid","instname"]`, "start", "1000", "end", "1005")
	ok("label/__name__/values", `["disk_dev_read","hinv_ncpu"]`, "start", "1100")
	ok("label/__name__/values", `[]`, "start", "1100.001")
	ok("label/instname/values", `[]`, "start", "900", "end", "999", "match[]", "disk_dev_read")
	ok("series", `[]`, "start", "900", "end", "999", "match[]", "disk_dev_read")
	ok("series", `[{"__name__":"hinv_ncpu","hostname":"www"}]`, "start", "1050", "end", "1051", "match[]", "hinv_ncpu")
	ok("metadata", `{"disk_dev_read":[{"type":"counter","help":"","unit":"count"}],"hinv_ncpu":[{"type":"gauge","help":"","unit":""}]}`)
	ok("metadata", `{"hinv_ncpu":[{"type":"gauge","help":"","unit":""}]}`, "metric", "hinv_ncpu")
	ok("metadata", `{"disk_dev_read":[{"type":"counter","help":"","unit":"count"}]}`, "limit", "1")
	ok("format_query", `"sum by (a) (rate(b[5m]))"`, "query", "sum by(a)(rate(b[5m]))")
	ok("query_exemplars", `[]`, "query", "a")
	ok("rules", `{"groups":[]}`)
	ok("alerts", `{"alerts":[]}`)
	ok("parse_query", `{"expr":{"expr":{"type":"numberLiteral","val":"1"},"type":"parenExpr"},"op":"-","type":"unaryExpr"}`, "query", "-(1)")
}

// TestErrors checks the errors of Prometheus.
func TestErrors(t *testing.T) {
	h := newHandler(api.Config{})
	f := func(status int, kind, text, path string, pairs ...string) {
		t.Helper()
		got, body := ask(h, http.MethodGet, path, values(pairs...))
		var reply struct{ Status, ErrorType, Error string }
		if err := json.Unmarshal([]byte(body), &reply); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if got != status || reply.Status != "error" || reply.ErrorType != kind || reply.Error != text {
			t.Errorf("%s %q: %d %s, want %d, %s, %q", path, pairs, got, body, status, kind, text)
		}
	}
	f(400, "bad_data", `invalid parameter "query": unknown position: parse error: no expression found in input`, "query")
	f(400, "bad_data", `invalid parameter "query": 1:3: parse error: unexpected end of input`, "query", "query", "1+")
	f(400, "bad_data", `invalid parameter "time": invalid time value for 'time': cannot parse "x" to a valid timestamp`, "query", "query", "1", "time", "x")
	f(400, "bad_data", `invalid parameter "time": invalid time value for 'time': cannot parse "NaN" to a valid timestamp`, "query", "query", "1", "time", "NaN")
	f(400, "bad_data", `invalid parameter "timeout": cannot parse "x" to a valid duration`, "query", "query", "1", "timeout", "x")
	f(400, "bad_data", `invalid parameter "limit": limit must be non-negative`, "query", "query", "1", "limit", "-1")
	f(400, "bad_data", `invalid parameter "start": cannot parse "" to a valid timestamp`, "query_range", "query", "1")
	f(400, "bad_data", `invalid parameter "end": end timestamp must not be before start time`, "query_range", "query", "1", "start", "2", "end", "1", "step", "1")
	f(400, "bad_data", `invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer`,
		"query_range", "query", "1", "start", "1", "end", "2", "step", "0")
	f(400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
		"query_range", "query", "1", "start", "0", "end", "11001", "step", "1")
	f(400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
		"query_range", "query", "1", "start", "0", "end", "1000000000", "step", "1")
	f(400, "bad_data", "no match[] parameter provided", "series")
	f(400, "bad_data", `invalid parameter "match[]": match[] must contain at least one non-empty matcher`, "series", "match[]", "{}")
	f(400, "bad_data", `invalid parameter "match[]": 1:2: parse error: unexpected end of input inside braces`, "series", "match[]", "a", "match[]", "{")
	f(400, "bad_data", "match[] must contain at least one non-empty matcher", "labels", "match[]", `{a=~".*"}`)
	f(400, "bad_data", "limit must be a number", "metadata", "limit", "x")
	f(404, "not_found", "there is no such endpoint", "nothing")
	f(404, "not_found", "there is no such endpoint", "label/x")
	f(422, "execution", "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)", "query", "query", "disk_dev_read * on() hinv_ncpu")
	f(503, "timeout", "query timed out in query queue", "query", "query", "disk_dev_read", "timeout", "-1")
	if status, _ := ask(h, http.MethodDelete, "series", nil); status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", status)
	}
	if status, body := ask(h, http.MethodOptions, "query", nil); status != http.StatusNoContent || body != "" {
		t.Errorf("OPTIONS: %d %s", status, body)
	}
	if status, body := ask(h, http.MethodGet, "query_exemplars", values("query", "1")); status != http.StatusNoContent || body != "" {
		t.Errorf("exemplars of no series: %d %s", status, body)
	}
	if status, body := ask(h, http.MethodHead, "query", nil); status != 200 || body != "" {
		t.Errorf("HEAD: %d %s", status, body)
	}
}

// TestStatus decodes what Grafana asks for before it begins.
func TestStatus(t *testing.T) {
	h := newHandler(api.Config{})
	for path, field := range map[string]string{"status/buildinfo": "version", "status/flags": "query.timeout", "status/runtimeinfo": "startTime"} {
		_, body := ask(h, http.MethodGet, path, nil)
		var reply struct {
			Status string
			Data   map[string]any
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.Status != "success" || reply.Data[field] == nil {
			t.Errorf("%s: %s %v", path, body, err)
		}
	}
}

// TestStats asks for statistics.
func TestStats(t *testing.T) {
	h := newHandler(api.Config{})
	for _, param := range []string{"true", "all", "yes", ""} {
		_, body := ask(h, http.MethodGet, "query_range", values("query", "disk_dev_read", "start", "1000", "end", "1100", "step", "10", "stats", param))
		var reply struct {
			Data struct {
				Stats *struct {
					Timings map[string]float64
					Samples struct{ TotalQueryableSamples, PeakSamples int }
				}
			}
			Warnings []string
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		s := reply.Data.Stats
		if (s != nil) != (param != "") || s != nil && (s.Samples.TotalQueryableSamples != 22 || s.Samples.PeakSamples == 0 || len(s.Timings) == 0) || (len(reply.Warnings) > 0) != (param == "yes") {
			t.Errorf("stats=%s: %s", param, body)
		}
	}
}

// TestHostile sends requests that want much.
func TestHostile(t *testing.T) {
	h := newHandler(api.Config{Engine: store.EngineConfig{MaxSamples: 10000, Timeout: 2 * time.Second}})
	bad := func(path string, pairs ...string) {
		t.Helper()
		if status, body := ask(h, http.MethodPost, path, values(pairs...)); status < 400 || len(body) > 40<<10 {
			t.Errorf("%s: %d, %d bytes: %.200s", path, status, len(body), body)
		}
	}
	bad("query", "query", strings.Repeat("(", api.MaxExpr+1))
	bad("query", "query", strings.Repeat("(", api.MaxExpr))
	bad("query", "query", strings.Repeat("1+", api.MaxExpr))
	bad("query", "query", strings.Repeat("x", api.MaxForm+1))
	bad("query_range", "query", "hinv_ncpu[1h:1ms]", "start", "0", "end", "1100", "step", "1")
	bad("query_range", "query", "sum_over_time(vector(1)[1h:1ms])", "start", "1000", "end", "1100", "step", "1")
	bad("series", "match[]", strings.Repeat("x", api.MaxExpr+1))
	bad("query", "query", `{__name__=~"`+strings.Repeat("(a|", 2000)+`"}`)
	many := url.Values{}
	for range api.MaxMatchers + 1 {
		many.Add("match[]", "a")
	}
	if status, _ := ask(h, http.MethodPost, "labels", many); status != 400 {
		t.Errorf("many match[]: %d", status)
	}
	// Nesting that is accepted is evaluated.
	bad("query", "query", strings.Repeat("(", api.MaxNesting+1)+"1"+strings.Repeat(")", api.MaxNesting+1))
	depth := api.MaxNesting
	for _, expr := range []string{
		strings.Repeat("(", depth) + "1" + strings.Repeat(")", depth), strings.Repeat("-", depth) + "1",
		"1" + strings.Repeat("+1", depth), strings.Repeat("1-", depth) + "1", strings.Repeat("1^", depth) + "1",
	} {
		for _, path := range []string{"query", "format_query", "parse_query"} {
			if status, body := ask(h, http.MethodPost, path, values("query", expr)); status != 200 {
				t.Errorf("%s of %.10s…: %d %.200s", path, expr, status, body)
			}
		}
	}
}

// TestConcurrent runs more queries than may be evaluated at once.
func TestConcurrent(t *testing.T) {
	h := newHandler(api.Config{Engine: store.EngineConfig{Concurrent: 2}})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"status":"success","data":{"resultType":"scalar","result":[1100,"%d"]}}`, i)
			if status, body := ask(h, http.MethodGet, "query", values("query", fmt.Sprint(i))); status != 200 || body != want {
				t.Errorf("%d %s, want %s", status, body, want)
			}
			if status, body := ask(h, http.MethodGet, "labels", nil); status != 200 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	wg.Wait()
}

// TestPromtool has promtool of Prometheus ask.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	srv := httptest.NewServer(newHandler(api.Config{}))
	defer srv.Close()
	f := func(want string, args ...string) {
		t.Helper()
		out, err := exec.Command(promtool, append([]string{"query"}, args...)...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %v\n%s\nwant\n%s", args, err, out, want)
		}
	}
	f(`hinv_ncpu{hostname="www"} => 4 @[1100]`, "instant", "--time=1100", srv.URL, "hinv_ncpu")
	f("{} =>\n7 @[1000]\n207 @[1020]\n407 @[1040]", "range", "--start=1000", "--end=1040", "--step=20s", srv.URL, "sum(disk_dev_read)")
	f(`{__name__="disk_dev_read", hostname="www", instid="0", instname="sda"}`, "series", "--start=1000", "--end=1100", `--match={instid="0"}`, srv.URL)
	f("sda\nsdb", "labels", "--start=1000", "--end=1100", srv.URL, "instname")
	f("", "labels", "--start=1200", "--end=1300", srv.URL, "instname")
}

// FuzzRequests sends any parameters to each endpoint.
func FuzzRequests(f *testing.F) {
	for _, s := range [][2]string{
		{"query", "query=disk_dev_read&time=1100"},
		{"query_range", "query=rate(disk_dev_read[1m])&start=1000&end=1100&step=10"},
		{"query_range", "query=x&start=1e300&end=NaN&step=-1e300"},
		{"query_range", "query=1&start=0&end=1e10&step=1e-9"},
		{"series", "match[]={a=~\"b\"}&start=-1e18&end=1e18"},
		{"labels", "limit=1&match[]=a"},
		{"label/a/values", "%zz"},
		{"label/U__x_/values", ""},
		{"label//values", ""},
		{"metadata", "metric=disk_dev_read&limit=0"},
		{"parse_query", "query=a%20offset%20-1h%20@%20start()"},
		{"format_query", "query=sum(a)by(b)"},
		{"query", "query=1&timeout=-1"},
		{"query", "query=1&lookback_delta=x"},
		{"status/flags", ""},
	} {
		f.Add(s[0], s[1])
	}
	h := newHandler(api.Config{Engine: store.EngineConfig{MaxSamples: 10000, Timeout: time.Second}})
	f.Fuzz(func(t *testing.T, path, params string) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/", nil)
		r.URL.Path, r.URL.RawQuery = "/api/v1/"+path, params
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNoContent && !json.Valid(w.Body.Bytes()) {
			t.Errorf("not JSON: %q", w.Body)
		}
		if w.Code == http.StatusInternalServerError {
			t.Errorf("internal error: %s", w.Body)
		}
	})
}

// TestLeaks checks that requests leave no goroutines.
func TestLeaks(t *testing.T) {
	h := newHandler(api.Config{})
	before := runtime.NumGoroutine()
	for range 20 {
		ask(h, http.MethodGet, "query", values("query", "disk_dev_read"))
		ask(h, http.MethodGet, "series", values("match[]", "disk_dev_read"))
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
