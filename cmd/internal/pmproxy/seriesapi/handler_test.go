package seriesapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

type fixture struct {
	*seriestest.Store
	load, calls, text sid.ID
	one, five         sid.ID
	h                 *Handler
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := seriestest.New()
	f := &fixture{Store: s}
	labels := `{"hostname":"h\"1","rank":3}`
	f.load = s.AddMetric("kernel.all.load", pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: pcp.NewInDom(60, 2), Sem: pcp.SemInstant}, labels, "/a/h", "h")
	f.one, f.five = s.AddInstance(f.load, 1, "1 minute", ""), s.AddInstance(f.load, 5, "5 minute", `{"x":true}`)
	f.calls = s.AddMetric("calls", pcp.Desc{PMID: pcp.NewPMID(60, 0, 13), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}, labels, "h")
	f.text = s.AddMetric("text", pcp.Desc{PMID: 5, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, labels, "h")
	for n := range int64(3) {
		at := pcp.Timestamp{Sec: 1000 + 10*n, Nsec: 5_008_999}
		s.Append(f.load, at, series.InstValue{Instance: f.one, Value: pcp.FloatValue(float32(n))}, series.InstValue{Instance: f.five, Value: pcp.FloatValue(0.5)})
		s.Append(f.calls, at, series.InstValue{Value: pcp.Uint64Value(uint64(100 * n))})
		s.Append(f.text, at, series.InstValue{Value: pcp.StringValue("a\"b")})
	}
	f.h = newHandler(t, s)
	return f
}

func newHandler(t *testing.T, s series.Store) *Handler {
	t.Helper()
	h, err := New(Config{Store: s, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// short replaces identifiers with names.
func (f *fixture) short(s string) string {
	return strings.NewReplacer(f.load.String(), "LOAD", f.calls.String(), "CALLS", f.text.String(), "TEXT", f.one.String(), "ONE", f.five.String(), "FIVE").Replace(s)
}

func (f *fixture) long(s string) string {
	return strings.NewReplacer("LOAD", f.load.String(), "CALLS", f.calls.String(), "TEXT", f.text.String(), "ONE", f.one.String(), "FIVE", f.five.String()).Replace(s)
}

func (f *fixture) do(method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, f.long(target), strings.NewReader(f.long(body)))
	w := httptest.NewRecorder()
	f.h.ServeHTTP(w, r)
	return w
}

// TestRequests answers good, odd and bad requests.
func TestRequests(t *testing.T) {
	f := newFixture(t)
	source := ""
	if m, err := f.Metric(context.Background(), f.load); err == nil {
		source = m.Source.String()
	}
	const html = "400 text/html"
	for _, c := range []struct{ target, want string }{
		{"ping", `{"success":true}`},
		{"pinging?client=a%22b", `{"client":"a\u0022b","success":true}`},
		{"query?expr=calls", `["CALLS"]`},
		{"queryfoo?expr=calls&client=7&expr=load", `{"client":"7","result":["CALLS"]}`},
		{"query?expr=nosuch", `[]`},
		{"query?expr=nosuch&client=7", `{"client":"7","result":[]}`},
		{"query?expr=calls%5Bsamples:1%5D", `[{"series":"CALLS","timestamp":1020005.008,"value":"200"}]`},
		{"query?expr=text%5Bsamples:1%5D", `[{"series":"TEXT","timestamp":1020005.008,"value":"\u0022a\u005Cu0022b\u0022"}]`},
		{"query?expr=sum_sample(kernel.all.load%5Bsamples:1%5D)", `[{"series":"45710cbbadf0dda9db9bc2b0efdc6d35efcd2485","instance":"","timestamp":1020005.008,"value":"2.500000e+00"}]`},
		{"query?expr=rate(kernel.all.load)", `400 {"message":"Can't rate convert 'kernel.all.load', counter semantics required","success":false}`},
		{"query?expr=a+%2b&client=x", `400 {"client":"x","message":"cannot parse given string\u000A\u000Aa +\u000A  ^ -- syntax error\u000A","success":false}`},
		{"query?expr=a%5Binterval:%22x%22%5D", `400 {"message":"Cannot parse time delta with pmParseHighResInterval:\u000Ax\u000A^ -- unexpected value\u000A","success":false}`},
		{"query?expr=%7Ba=~%22(%22%7D", `400 {"message":"invalid regular expression \u0022(\u0022","success":false}`},
		{"query", html},
		{"query?expr=", html},
		{"query?expr=%zz", html},
		{"nosuch", html},
		{"values?series=LOAD", `[{"series":"LOAD","instance":"ONE","timestamp":1020005.008,"value":"2.000000e+00"},{"series":"LOAD","instance":"FIVE","timestamp":1020005.008,"value":"5.000000e-01"}]`},
		{"values?series=LOAD&iname=5*", `[{"series":"LOAD","instance":"FIVE","timestamp":1020005.008,"value":"5.000000e-01"}]`},
		{"values?series=LOAD,TEXT&iname=no", `[]`},
		{"values?series=CALLS&samples=2", `[{"series":"CALLS","timestamp":1020005.008,"value":"200"},{"series":"CALLS","timestamp":1010005.008,"value":"100"}]`},
		{"values?series=CALLS&start=1000&finish=1011", `[{"series":"CALLS","timestamp":1000005.008,"value":"0"},{"series":"CALLS","timestamp":1010005.008,"value":"100"}]`},
		{"values?series=CALLS&begin=1000&delta=20&count=1", `[{"series":"CALLS","timestamp":1000005.008,"value":"0"}]`},
		{"values?series=CALLS,ca11ca11ca11ca11ca11ca11ca11ca11ca11ca11&samples=1", `[{"series":"CALLS","timestamp":1020005.008,"value":"200"}]`},
		{"values?series=abc&client=7", `400 {"client":"7","message":"Invalid SID abc near offset 2","success":false}`},
		{"values?series=zz", `400 {"message":"Invalid SID zz near offset 0","success":false}`},
		{"values", `400 {"success":false}`},
		{"values?client=7", `400 {"client":"7","success":false}`},
		{"values?series=", html},
		{"values?series=CALLS&samples=x", `400 {"message":"Invalid sample count requested - x","success":false}`},
		{"values?series=CALLS&interval=x", `400 {"message":"Cannot parse time delta with pmParseHighResInterval:\u000Ax\u000A^ -- unexpected value\u000A","success":false}`},
		{"descs?series=LOAD", `[{"series":"LOAD","source":"` + source + `","pmid":"60.2.0","indom":"60.2","semantics":"instant","type":"float","units":"none"}]`},
		{"descs?series=CALLS&client=1", `{"client":"1","result":[{"series":"CALLS","source":"` + source + `","pmid":"60.0.13","indom":"none","semantics":"counter","type":"u64","units":"count"}]}`},
		{"descs?series=abc", `[{"series":"abc","source":"unknown","pmid":"PM_ID_NULL","indom":"unknown","semantics":"unknown","type":"unknown","units":"unknown"}]`},
		{"descs", html},
		{"descs?series=", html},
		{"metrics?series=LOAD,abc,CALLS", `[{"series":"LOAD","name":"kernel.all.load"},{"series":"CALLS","name":"calls"}]`},
		{"metrics", `["calls","kernel.all.load","text"]`},
		{"metrics?match=*l*", `["calls","kernel.all.load"]`},
		{"metrics?match=x", `[]`},
		{"metrics?series=abc", `[]`},
		{"instances?series=LOAD", `[{"series":"LOAD","source":"` + source + `","instance":"ONE","id":1,"name":"1 minute"},{"series":"LOAD","source":"` + source + `","instance":"FIVE","id":5,"name":"5 minute"}]`},
		{"instances?series=CALLS", `[]`},
		{"instances?match=5*", `["5 minute"]`},
		{"labels?series=FIVE", `[{"series":"FIVE","labels":{"hostname":"h\"1","rank":3,"x":true}}]`},
		{"labels?series=ONE,CALLS", `[{"series":"ONE","labels":{"hostname":"h\"1","rank":3}},{"series":"CALLS","labels":{"hostname":"h\"1","rank":3}}]`},
		{"labels", `["hostname","rank","x"]`},
		{"labels?match=r*", `["rank"]`},
		{"labels?names=rank,x,rank,nosuch", `{"rank":[3],"x":[true]}`},
		{"labels?name=nosuch&client=3", `{"client":"3","result":{}}`},
		{"labels?name=", html},
		{"sources?source=" + source, `[{"source":"` + source + `","name":"/a/h"},{"source":"` + source + `","name":"h"}]`},
		{"sources?match=*", `["/a/h","h"]`},
		{"sources?source=abc", `[]`},
		{"sources", html},
		{"load?expr=a+%2b", `400 {"message":"cannot parse given string\u000A\u000Aa +\u000A  ^ -- syntax error\u000A","success":false}`},
		{"load?expr=%7Bsource.path:%22/etc%22%7D", `403 {"message":"No permission to perform requested operation","success":false}`},
		{"load", html},
	} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			w := f.do(method, "/series/"+c.target, "")
			got := strings.TrimSuffix(f.short(w.Body.String()), "\r\n")
			kind := rest.TypeJSON
			if got == "[]" || got == "{}" || strings.HasSuffix(got, `"result":[]}`) || strings.HasSuffix(got, `"result":{}}`) || strings.HasSuffix(got, `"success":true}`) {
				kind = rest.TypeNone
			}
			if w.Code != 200 {
				if got = fmt.Sprint(w.Code, " ", got); c.want == html {
					got, kind = fmt.Sprint(w.Code, " ", w.Header().Get("Content-Type")), rest.TypeHTML
				}
			}
			if method == "POST" && c.target == "load" && c.want == html {
				c.want, kind = `400 {"message":"no load expression","success":false}`, rest.TypeJSON
				got = fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
			}
			if method == "POST" && c.target == "sources" && c.want == html {
				c.want, kind = `["/a/h","h"]`, rest.TypeJSON
			}
			if got != c.want || w.Header().Get("Content-Type") != kind {
				t.Errorf("%s %s: %s %s, want %s %s", method, c.target, w.Header().Get("Content-Type"), got, kind, c.want)
			}
			if method == "POST" && (c.target == "load" || c.target == "sources") {
				break
			}
		}
	}
}

// TestPost takes parameters from the body of a POST.
func TestPost(t *testing.T) {
	f := newFixture(t)
	if got := f.short(f.do("POST", "/series/values", "series=CALLS&samples=1&client=%41\r\n").Body.String()); got != `{"client":"A","result":[{"series":"CALLS","timestamp":1020005.008,"value":"200"}]}`+"\r\n" {
		t.Error(got)
	}
	if w := f.do("POST", "/series/values?series=CALLS", "series=LOAD"); !strings.Contains(f.short(w.Body.String()), `"CALLS"`) {
		t.Error("the body counts though the URL has parameters", w.Body)
	}
	if w := f.do("POST", "/series/query", strings.Repeat("x", MaxBody+1)); w.Code != 413 {
		t.Error(w.Code, w.Body)
	}
	if w := f.do("POST", "/series/values", "series="+strings.Repeat("a,", MaxSeries)); w.Code != 400 || !strings.Contains(w.Body.String(), "at most 20000") {
		t.Error(w.Code, w.Body)
	}
	if w := f.do("GET", "/series/query?expr="+strings.Repeat("x", rest.MaxQuery), ""); w.Code != 400 {
		t.Error(w.Code)
	}
	for _, m := range []string{"HEAD", "OPTIONS", "TRACE"} {
		if w := f.do(m, "/series/query?expr=a%20b", ""); w.Code != 200 || w.Body.String() != "[]\r\n" {
			t.Errorf("%s: %d %q", m, w.Code, w.Body)
		}
	}
}

// TestLongPatterns checks that patterns have a limit, since each name is matched against them.
func TestLongPatterns(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("*a", 3000)
	for path, body := range map[string]string{
		"/series/metrics": "match=" + long, "/series/instances": "match=" + long, "/series/sources": "match=" + long,
		"/series/query": `expr={metric.name~~"` + long + `"}`,
	} {
		w := f.do("POST", path, body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "a pattern of 6000 bytes, at most 4096") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestExpression requests all that is known about the series of an expression.
func TestExpression(t *testing.T) {
	f := newFixture(t)
	id := strings.Trim(f.do("GET", "/series/query?expr=rate(calls%7Brank==3%7D)", "").Body.String(), "[\"]\r\n")
	for _, c := range [][2]string{
		{"values?series=" + id + "&start=1000", `[{"series":"ID","instance":"CALLS","timestamp":1010005.008,"value":"10.000000"},{"series":"ID","instance":"CALLS","timestamp":1020005.008,"value":"10.000000"}]`},
		{"descs?series=" + id, `[{"series":"ID","source":"0000000000000000000000000000000000000000","pmid":"511.0.0","indom":"none","semantics":"instant","type":"double","units":"count / sec"}]`},
		{"metrics?series=" + id, `[{"series":"ID","name":"rate(calls{rank==\u00223\u0022})"}]`},
		{"instances?series=" + id, `[]`},
		{"labels?series=" + id, `[]`},
	} {
		got := strings.ReplaceAll(f.short(f.do("GET", "/series/"+c[0], "").Body.String()), id, "ID")
		if got != c[1]+"\r\n" {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// TestLoad checks that the store scans for archives at the request of a trusted client.
func TestLoad(t *testing.T) {
	f := newFixture(t)
	r := httptest.NewRequest("GET", "/series/load?expr=a", nil)
	w := httptest.NewRecorder()
	f.h.ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &rest.Peer{Local: true, Trusted: true})))
	if w.Code != 200 || w.Body.String() != "{\"success\":true}\r\n" {
		t.Error(w.Code, w.Body)
	}
}

// TestOpenAPI compares the description with the code: it has each command, and
// each parameter that the code reads.
func TestOpenAPI(t *testing.T) {
	f := newFixture(t)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, Description string }
		}
	}
	w := f.do("GET", "/series/openapi.json", "")
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.OpenAPI == "" || w.Code != 200 {
		t.Fatal(w.Code, err)
	}
	described, ids := map[string]bool{}, map[string]bool{}
	for _, c := range commands() {
		if got, ok := find("/series/" + c.name); !ok || got.name != c.name {
			t.Errorf("%s is not found", c.name)
		}
		item := doc.Paths["/series/"+c.name]
		for method, op := range item {
			if ids[op.OperationID] || op.OperationID == "" {
				t.Errorf("%s %s: the operation %q is there twice", method, c.name, op.OperationID)
			}
			ids[op.OperationID] = true
		}
		for _, p := range item["get"].Parameters {
			described[p.Name] = p.Description != ""
		}
	}
	source, err := os.ReadFile("handler.go")
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`params\.(?:Get|Value)\("([a-z]+)"\)|q\.(?:list|each)\("([a-z]+)"|q\.first\("([a-z]+)", "([a-z]+)"\)`)
	n := 0
	for _, m := range read.FindAllSubmatch(source, -1) {
		for _, name := range m[1:] {
			if len(name) == 0 {
				continue
			}
			n++
			if !described[string(name)] {
				t.Errorf("the parameter %s is not described", name)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d parameters found in the code", n)
	}
}

// TestLong streams a long answer, which must be complete and valid JSON.
func TestLong(t *testing.T) {
	f := newFixture(t)
	for n := range int64(5000) {
		f.Append(f.calls, pcp.Timestamp{Sec: 2000 + n}, series.InstValue{Value: pcp.Uint64Value(uint64(n))})
	}
	server := httptest.NewServer(f.h)
	defer server.Close()
	resp, err := http.Get(server.URL + f.long("/series/values?series=CALLS&start=2000"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list []struct{ Value string }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list) != 5000 || list[4999].Value != "4999" {
		t.Errorf("%d values, %v", len(list), err)
	}
	if got := resp.Header.Get("Content-Type"); got != rest.TypeJSON {
		t.Error(got)
	}
}

// A brokenStore fails, after some values.
type brokenStore struct {
	series.Store
	after int
	err   error
}

func (s *brokenStore) Values(ctx context.Context, ids []sid.ID, w series.Window) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		sample := series.Sample{Series: ids[0], Values: []series.InstValue{{Value: pcp.Uint64Value(1)}}}
		for range s.after {
			if !yield(&sample, nil) {
				return
			}
		}
		yield(nil, s.err)
	}
}

// TestBrokenStore checks that a failure of the store is reported, or ends the
// connection if the response has begun.
func TestBrokenStore(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{errors.New("/secret/path: is damaged"), 500, "the store of series failed"},
		{context.DeadlineExceeded, 503, "longer than"},
		{series.ErrClosed, 503, "closed"},
		{series.ErrTooMany, 400, "too many values"},
	} {
		h := newHandler(t, &brokenStore{f.Store, 3, c.err})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", f.long("/series/values?series=CALLS"), nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
	}
	server := httptest.NewServer(newHandler(t, &brokenStore{f.Store, 2000, errors.New("late")}))
	defer server.Close()
	resp, err := http.Get(server.URL + f.long("/series/values?series=CALLS&start=1"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err == nil {
		t.Errorf("an answer that was cut looks whole: %d bytes", b.Len())
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a handler without a store")
	}
}

// FuzzRequest answers any request, with JSON or a page.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"query?expr=rate(calls)", "values?series=abc&start=-1hour", "labels?names=a,b", "descs?series=,", "sources?match=[a", "metrics?client=%00"} {
		f.Add(s, "")
	}
	f.Add("values", "series=0000000000000000000000000000000000000000&samples=1")
	fx := newFixture(&testing.T{})
	f.Fuzz(func(t *testing.T, target, body string) {
		path, query, _ := strings.Cut(target, "?")
		r := httptest.NewRequest("POST", "/series/x", strings.NewReader(body))
		r.URL.Path, r.URL.RawQuery = "/series/"+path, query
		w := httptest.NewRecorder()
		fx.h.ServeHTTP(w, r)
		if w.Header().Get("Content-Type") != rest.TypeHTML && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
