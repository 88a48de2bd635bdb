package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// measure calls f, and returns how long it took and how much it allocated.
func measure(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	d := time.Since(start)
	runtime.ReadMemStats(&after)
	return d, after.TotalAlloc - before.TotalAlloc
}

// TestRegexps sends regular expressions that take much memory or time where they are compiled or compared.
func TestRegexps(t *testing.T) {
	h := newHandler(api.Config{})
	hosts := make([]string, 2000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf(`www%d\.example\.com`, i)
	}
	for _, c := range []struct {
		re   string
		want string // of the error, "" for none
	}{
		{strings.Join(hosts, "|"), ""},
		{".*(" + strings.Join(hosts, "|") + ").*", ""},
		{strings.Repeat("(a|b)", 100), ""},
		{strings.Repeat(".*", 4000) + "w", ""},
		{strings.Repeat("[^a]", 4000), ""},
		{`(\pL{10}){10}`, ""},
		{strings.Repeat("x{1000}", 90), ""},
		{strings.Repeat("(x*)*", 13000), "a regular expression has more than 200 pairs of parentheses"},
		{strings.Repeat(".*", 30000), "a regular expression is larger than 100000 operations"},
		{strings.Repeat(".?", 30000), "a regular expression is larger than 100000 operations"},
		{`(\pL{1000}){20}`, "invalid repeat count"},
		{strings.Repeat(`\pL`, 15000), "a regular expression is larger than 100000 operations"},
		{`\pL{1000}\pN{1000}`, "a regular expression is larger than 100000 operations"},
		{`((x{10}){10}){10}` + strings.Repeat("x{1000}", 200), "a regular expression is larger than 100000 operations"},
		{strings.Repeat("x{1000}", 9000), "expression nests too deeply or is too large"},
		{strings.Repeat("(", 2000) + strings.Repeat(")", 2000), "a regular expression has more than 200 pairs of parentheses"},
		{strings.Repeat("(?:", 2000) + strings.Repeat(")*", 2000), "error parsing regexp"},
	} {
		selector := fmt.Sprintf("{hostname=~%q}", c.re)
		for name, ask := range map[string]func() (int, string){
			"query": func() (int, string) { return ask(h, http.MethodPost, "query", values("query", selector)) },
			"label_replace": func() (int, string) {
				return ask(h, http.MethodPost, "query", values("query", fmt.Sprintf(`label_replace(hinv_ncpu, "a", "b", "c", %q)`, c.re)))
			},
			"parse_query": func() (int, string) { return ask(h, http.MethodPost, "parse_query", values("query", selector)) },
			"series":      func() (int, string) { return ask(h, http.MethodPost, "series", values("match[]", selector)) },
			"read": func() (int, string) {
				w := read(h, s2.EncodeSnappy(nil, readQuery(0, 2_000_000, nil, matcher(2, "hostname", c.re))))
				return w.Code, w.Body.String()
			},
		} {
			var status int
			var body string
			took, allocated := measure(func() { status, body = ask() })
			if took > 3*time.Second || allocated > 400<<20 {
				t.Errorf("%s %.20s…: %v, %d MB", name, c.re, took, allocated>>20)
			}
			if c.want == "" && status != 200 {
				t.Errorf("%s %.20s…: %d %.200s", name, c.re, status, body)
			}
			if c.want != "" && (status != 400 && status != 422 || !strings.Contains(body, "regexp") && !strings.Contains(body, "regular expression") && !strings.Contains(body, "regex")) {
				t.Errorf("%s %.20s…: %d %.200s, want %s", name, c.re, status, body, c.want)
			}
		}
	}
}

// TestMegabytes sends matchers and bodies of megabytes.
func TestMegabytes(t *testing.T) {
	h := newHandler(api.Config{})
	long := strings.Repeat("x", 3<<20)
	for _, size := range []int{api.MaxExpr + 1, 900 << 10, api.MaxForm, 3 << 20} {
		selector := `{a="` + long[:size] + `"}`
		for _, path := range []string{"query", "query_range", "query_exemplars", "parse_query", "format_query", "series", "labels"} {
			status, body := ask(h, http.MethodPost, path, values("query", selector, "match[]", selector, "start", "0", "end", "1", "step", "1"))
			if status != 400 || len(body) > 1000 {
				t.Errorf("%s with %d bytes: %d %.200s", path, size, status, body)
			}
		}
		if w := read(h, s2.EncodeSnappy(nil, readQuery(0, 1, nil, matcher(0, "a", long[:size])))); w.Code != 400 || w.Body.Len() > 1000 {
			t.Errorf("read with %d bytes: %d %.200s", size, w.Code, w.Body)
		}
	}
	if w := read(h, s2.EncodeSnappy(nil, make([]byte, 1<<30))); w.Code != 400 {
		t.Errorf("a gigabyte of zeros: %d %.200s", w.Code, w.Body)
	}
}

// TestPoints asks for 10^9 points.
func TestPoints(t *testing.T) {
	h := newHandler(api.Config{Engine: store.EngineConfig{MaxSamples: 1_000_000, Timeout: 10 * time.Second}})
	const (
		resolution = "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"
		samples    = "query processing would load too many samples into memory in query execution"
	)
	f := func(status int, kind, text, path string, pairs ...string) {
		t.Helper()
		var got int
		var body string
		took, allocated := measure(func() { got, body = ask(h, http.MethodPost, path, values(pairs...)) })
		want := fmt.Sprintf(`{"status":"error","errorType":%q,"error":%q}`, kind, text)
		if got != status || body != want {
			t.Errorf("%q: %d %.300s, want %d %s", pairs, got, body, status, want)
		}
		if took > 10*time.Second || allocated > 2<<30 {
			t.Errorf("%q: %v, %d MB", pairs, took, allocated>>20)
		}
	}
	f(400, "bad_data", resolution, "query_range", "query", "1", "start", "0", "end", "1e9", "step", "1")
	f(400, "bad_data", resolution, "query_range", "query", "1", "start", "0", "end", "1e6", "step", "0.001")
	f(400, "bad_data", resolution, "query_range", "query", "1", "start", "-1e9", "end", "1e9", "step", "1m")
	f(422, "execution", samples, "query", "query", "max_over_time(vector(1)[1000000s:1ms])")
	f(422, "execution", samples, "query", "query", "vector(1)[1000000s:1ms]")
	f(422, "execution", samples, "query_range", "query", "sum_over_time(vector(time())[11d:1s])", "start", "0", "end", "1e6", "step", "100")
	f(422, "execution", samples, "query_range", "query", strings.Repeat("(hinv_ncpu or ", 90)+"hinv_ncpu"+strings.Repeat(")", 90)+" or sum_over_time(vector(time())[100d:1ms])", "start", "1000", "end", "1100", "step", "10")
	f(503, "timeout", "query timed out in expression evaluation", "query_range",
		"query", "quantile_over_time(0.5, vector(time())[1h:1s])", "start", "0", "end", "3e5", "step", "100", "timeout", "100ms")
}

// A gate is a store whose selectors wait until it is opened.
type gate struct {
	api.Store
	open  chan struct{}
	waits atomic.Int32
	most  atomic.Int32
}

func (g *gate) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := g.Store.Querier(mint, maxt)
	return gatedQuerier{q, g}, err
}

type gatedQuerier struct {
	storage.Querier
	g *gate
}

func (q gatedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	n := q.g.waits.Add(1)
	for most := q.g.most.Load(); n > most && !q.g.most.CompareAndSwap(most, n); most = q.g.most.Load() {
	}
	defer q.g.waits.Add(-1)
	select {
	case <-q.g.open:
	case <-ctx.Done():
		return storage.ErrSeriesSet(ctx.Err())
	}
	return q.Querier.Select(ctx, sorted, hints, ms...)
}

// TestOpen opens 10,000 queries, remote reads and requests for series at once. Few of them are evaluated at a time, the others wait.
func TestOpen(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	h := newHandlerOf(api.Config{Engine: store.EngineConfig{Concurrent: 3}}, func(s api.Store) api.Store { g.Store = s; return g })
	const each = 3334
	var wg sync.WaitGroup
	var bad atomic.Int32
	body := s2.EncodeSnappy(nil, readQuery(0, 2_000_000, nil, matcher(0, "__name__", "hinv_ncpu")))
	for range each {
		wg.Go(func() {
			if status, text := ask(h, http.MethodPost, "query", values("query", "sum(hinv_ncpu)")); status != 200 || !strings.Contains(text, `[1100,"4"]`) {
				bad.Add(1)
			}
		})
		wg.Go(func() {
			if status, text := ask(h, http.MethodPost, "series", values("match[]", "hinv_ncpu")); status != 200 || !strings.Contains(text, "hinv_ncpu") {
				bad.Add(1)
			}
		})
		wg.Go(func() {
			if w := read(h, body); w.Code != 200 {
				bad.Add(1)
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 400<<20 {
		t.Errorf("%d MB with %d open requests", m.HeapAlloc>>20, 3*each)
	}
	// A request gives up when its client does.
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/query?query=hinv_ncpu", nil).WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"errorType":"timeout"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	close(g.open)
	wg.Wait()
	if bad.Load() > 0 {
		t.Errorf("%d wrong answers", bad.Load())
	}
	if n := g.most.Load(); n > 3+api.MaxConcurrent+api.MaxReads {
		t.Errorf("%d at once", n)
	}
}

// TestBodies opens requests with large bodies: those above the limit are refused.
func TestBodies(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	h := newHandlerOf(api.Config{}, func(s api.Store) api.Store { g.Store = s; return g })
	pad := strings.Repeat("x", api.MaxForm-100)
	var wg sync.WaitGroup
	var good, refused atomic.Int32
	for range 100 {
		wg.Go(func() {
			status, text := ask(h, http.MethodPost, "query", values("query", "hinv_ncpu", "pad", pad))
			switch {
			case status == 200:
				good.Add(1)
			case status == 503 && strings.Contains(text, `"errorType":"unavailable"`):
				refused.Add(1)
			default:
				t.Errorf("%d %.200s", status, text)
			}
		})
	}
	for refused.Load() < 100-api.MaxBodies/api.MaxForm-1 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	close(g.open)
	wg.Wait()
	if n := good.Load(); n < 20 || n > api.MaxBodies/(api.MaxForm-100)+1 { // the last one may come when the others are done
		t.Errorf("%d of 100 were answered", n)
	}
	if status, _ := ask(h, http.MethodPost, "query", values("query", "hinv_ncpu", "pad", pad)); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

// words are parts of expressions and of parameters.
var words = strings.Fields(`disk_dev_read hinv_ncpu rate( sum by( instname ) without( ) [5m] [1m:10s] [1e9s:1ms] offset -1h @ start() end() 1e308 NaN Inf -Inf 0x7f
	+ - * / ^ % == != >= bool on() ignoring(a) group_left() and or unless { } {a="b"} {instname=~".*"} {__name__=~".+"} {a!~"("} , "x" 'y' label_replace( topk(
	histogram_quantile( 0.9, time() vector(1) absent( count_values( quantile( deriv( predict_linear( label_join( sort_by_label( 🦆 \x00 # &`)

// randomText returns words and bytes.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		if r.IntN(20) == 0 {
			for range r.IntN(10) {
				b.WriteByte(byte(r.IntN(256)))
			}
		}
		b.WriteString(words[r.IntN(len(words))])
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// randomForm returns a form for an endpoint.
func randomForm(r *rand.Rand) string {
	if r.IntN(10) == 0 {
		b := make([]byte, r.IntN(200))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	}
	v := url.Values{}
	numbers := []string{"0", "1", "1000", "1050.5", "1100", "-5", "1e300", "-1e300", "NaN", "x", "", "2026-01-01T00:00:00Z", "9223372036854775807", "1h", "5m", "10s", "1ms", "1y"}
	usual := map[string]string{"start": "1000", "end": "1100", "step": "10"}
	for _, name := range []string{"query", "match[]", "match[]", "start", "end", "time", "step", "timeout", "limit", "lookback_delta", "stats", "metric"} {
		switch {
		case r.IntN(3) == 0, usual[name] == "" && name != "query" && name != "match[]" && r.IntN(4) > 0:
		case name == "query" || name == "match[]" || name == "metric":
			v.Add(name, randomText(r))
		case r.IntN(2) == 0 && usual[name] != "":
			v.Add(name, usual[name])
		default:
			v.Add(name, numbers[r.IntN(len(numbers))])
		}
	}
	b := []byte(v.Encode())
	if r.IntN(10) == 0 && len(b) > 0 {
		b[r.IntN(len(b))] = byte(r.IntN(256))
	}
	return string(b)
}

// randomRead returns a request for remote read: a valid one with changed bytes, or others.
func randomRead(r *rand.Rand) []byte {
	var types []int64
	for range r.IntN(3) {
		types = append(types, r.Int64N(4)-1)
	}
	var ms []message
	for range r.IntN(3) {
		ms = append(ms, matcher(r.Int64N(5), []string{"__name__", "instname", "", "x"}[r.IntN(4)], []string{"disk_dev_read", ".*", "(a|", "", "sda"}[r.IntN(5)]))
	}
	m := readQuery(r.Int64(), r.Int64(), types, ms...)
	for range r.IntN(4) {
		m[r.IntN(len(m))] = byte(r.IntN(256))
	}
	b := s2.EncodeSnappy(nil, m[:len(m)-r.IntN(2)])
	if r.IntN(4) == 0 && len(b) > 0 {
		b[r.IntN(len(b))] = byte(r.IntN(256))
	}
	return b
}

// TestRandomBodies sends random bodies to each endpoint that reads one.
func TestRandomBodies(t *testing.T) {
	h := newHandler(api.Config{Engine: store.EngineConfig{MaxSamples: 10000, Timeout: time.Second}})
	r := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	for _, path := range []string{"query", "query_range", "query_exemplars", "parse_query", "format_query", "series", "labels", "read"} {
		good := 0
		for range longtest.N(1000, 100_000) {
			var w *httptest.ResponseRecorder
			var body string
			start := time.Now()
			if path == "read" {
				b := randomRead(r)
				body = fmt.Sprintf("%x", b)
				w = read(h, b)
			} else {
				body = randomForm(r)
				req := httptest.NewRequest(http.MethodPost, "/api/v1/"+path, strings.NewReader(body))
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w = httptest.NewRecorder()
				h.ServeHTTP(w, req)
			}
			switch w.Code {
			case 200:
				good++
			case 204, 400, 422, 503:
			default:
				t.Errorf("%s %q: %d %.300s", path, body, w.Code, w.Body)
			}
			if path != "read" && w.Code != 204 && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %q: not JSON: %.300s", path, body, w.Body)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("%s %q: %v", path, body, d)
			}
		}
		if good == 0 {
			t.Errorf("%s: no request was good", path)
		}
	}
}
