package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/engine"
)

// start starts a server that answers with the request, and returns a client of it.
func start(t *testing.T, answer http.HandlerFunc) *engine.Client {
	t.Helper()
	if answer == nil {
		answer = func(w http.ResponseWriter, r *http.Request) {
			r.ParseForm()
			fmt.Fprintf(w, "%s %s", r.URL.Path, strings.ReplaceAll(r.Form.Encode(), "&", " "))
		}
	}
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	c, err := engine.Dial(engine.Config{URLs: []string{srv.URL}, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func local() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "local "+r.URL.Path) })
}

// ask makes a request and returns the status and the answer, with the parameters decoded.
func ask(t *testing.T, h http.Handler, method, target, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := url.QueryUnescape(w.Body.String())
	if err != nil {
		text = w.Body.String()
	}
	return w.Code, text
}

func TestForward(t *testing.T) {
	h := New(Config{Engine: start(t, nil), Local: local()})
	f := func(method, target, body, want string) {
		t.Helper()
		if status, got := ask(t, h, method, target, body); status != 200 || got != want {
			t.Errorf("%s %s %s: %d %s, want %s", method, target, body, status, got, want)
		}
	}
	// Nothing is hidden: the server gets the text as it is, so its own language can be used.
	f("GET", "/api/v1/query?query=rollup(a[5m])&x=y", "", "/api/v1/query query=rollup(a[5m]) x=y")
	f("POST", "/api/v1/query_range", "query=a&start=1&end=2&step=1", "/api/v1/query_range end=2 query=a start=1 step=1")
	f("GET", "/api/v1/labels", "", "/api/v1/labels ")
	f("GET", "/api/v1/label/hostname/values?match[]=a", "", "/api/v1/label/hostname/values match[]=a")
	f("GET", "/api/v1/series?match[]=a&match[]=b", "", "/api/v1/series match[]=a match[]=b")
	f("GET", "/api/v1/metadata", "", "local /api/v1/metadata")
	f("GET", "/api/v1/rules", "", "local /api/v1/rules")
	f("GET", "/api/v1/admin/tsdb/delete_series", "", "local /api/v1/admin/tsdb/delete_series")
	f("GET", "/api/v1/export?match[]=a", "", "local /api/v1/export")
	f("POST", "/api/v1/write", "", "local /api/v1/write")
	f("DELETE", "/api/v1/series", "", "local /api/v1/series")
	f("GET", "/api/v1/label/a%2F..%2F..%2Fadmin/values", "", "local /api/v1/label/a/../../admin/values")
}

// TestHidden checks that each selector excludes the hidden metrics.
func TestHidden(t *testing.T) {
	more := []string{"kernel_secret"}
	var failed error
	h := New(Config{Engine: start(t, nil), Local: local(), Patterns: []string{"proc.*", "acct.?[ab]"}, More: func(context.Context) ([]string, error) { return more, failed }})
	const not = `__name__!~"pcp_series|proc_.*|acct_..|kernel_secret(_bucket|_count)?"`
	f := func(target, want string) {
		t.Helper()
		status, got := ask(t, h, "GET", "/api/v1/"+target, "")
		if status != 200 || got != "/api/v1/"+strings.ReplaceAll(want, "NOT", not) {
			t.Errorf("%s: %d %s, want %s", target, status, got, strings.ReplaceAll(want, "NOT", not))
		}
	}
	q := url.QueryEscape
	f("query?query=kernel_all_load&time=5&extra_filters[]=x", "query query=kernel_all_load time=5")
	f("query?query="+q(`rate(kernel_all_load{hostname="a"}[5m])+proc_psinfo_utime`), `query query=rate(kernel_all_load{hostname="a"}[5m]) + {NOT,__name__="proc_psinfo_utime"}`)
	f("query?query="+q(`count({hostname="a"}) or max_over_time(sum({__name__=~"p.*"})[1h:1m])`), `query query=count({NOT,hostname="a"}) or max_over_time(sum({NOT,__name__=~"p.*"})[1h:1m])`)
	f("query?query="+q(`{__name__="kernel_secret"}`), `query query={NOT,__name__="kernel_secret"}`)
	f("query?query=kernel_secret_bucket", `query query={NOT,__name__="kernel_secret_bucket"}`)
	f("query?query=pcp_series", `query query={NOT,__name__="pcp_series"}`)
	f("query?query=kernel_secrets", `query query=kernel_secrets`)
	f("query_range?query="+q("-proc_x offset 5m")+"&start=1&end=2&step=1", `query_range end=2 query=-{NOT,__name__="proc_x"} offset 5m start=1 step=1`)
	f("series?match[]="+q(`{a="b"}`)+"&match[]=kernel_x&end=9", `series end=9 match[]={a="b",NOT} match[]={__name__="kernel_x"}`)
	f("labels", `labels match[]={__name__=~".+",NOT}`)
	f("label/instname/values", `label/instname/values match[]={__name__=~".+",NOT}`)
	for target, want := range map[string]string{
		"query?query=" + q("a +"):                             "bad_data",
		"query?query=" + q("rollup(a[5m])"):                   "unknown function",
		"query?query=" + strings.Repeat("a", 70_000):          "more than 65536",
		"query?query=" + strings.Repeat("(", 30_000):          "operators and parentheses",
		"series?match[]=" + q("{"):                            "bad_data",
		"labels?" + strings.Repeat("match[]=a&", 200) + "x=y": "more than 100",
	} {
		if status, got := ask(t, h, "GET", "/api/v1/"+target, ""); status != 400 || !strings.Contains(got, want) {
			t.Errorf("%.60s: %d %s, want %s", target, status, got, want)
		}
	}
	// If it is not known what to hide, nothing is shown.
	h.listed, failed = time.Time{}, errors.New("away at 10.1.2.3")
	if status, got := ask(t, h, "GET", "/api/v1/query?query=up", ""); status != 503 || strings.Contains(got, "10.1.2.3") {
		t.Errorf("%d %s", status, got)
	}
	failed, more = nil, []string{strings.Repeat("x", maxHidden)}
	if status, _ := ask(t, h, "GET", "/api/v1/query?query=up", ""); status != 503 {
		t.Errorf("with too many names: %d", status)
	}
}

// TestErrors has servers that fail.
func TestErrors(t *testing.T) {
	f := func(answer http.HandlerFunc, status int, want string) {
		t.Helper()
		h := New(Config{Engine: start(t, answer), Local: local(), Timeout: time.Second})
		got, text := ask(t, h, "GET", "/api/v1/query?query=a", "")
		if got != status || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %d %s", got, text, status, want)
		}
	}
	f(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"status":"error","error":"bad expression"}`, 400)
	}, 400, "bad expression")
	f(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret of the server", 500) }, 503, `"error":"the engine does not answer"`)
	f(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }, 503, "the engine does not answer")
	f(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 503, "timed out")
	f(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"status":"success","isPartial":true,"data":[]}`)
	}, 503, "the engine does not answer")
}

func TestRanges(t *testing.T) {
	c := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/query_range" || r.URL.Query().Get("step") != "0.5" || r.URL.Query().Get("query") != `sum({__name__!~"pcp_series|proc_.*",__name__="proc_x"})` {
			t.Errorf("%s", r.URL)
		}
		io.WriteString(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"2"],[1.5,"3"]]}]}}`)
	})
	n := 0
	h := New(Config{Engine: c, Local: local(), Patterns: []string{"proc.*"}})
	err := h.Range(t.Context(), "sum(proc_x)", time.Unix(1, 0), time.Unix(2, 0), time.Second/2, func(l labels.Labels, points []promql.FPoint) error {
		n++
		if l.Get("a") != "b" || len(points) != 2 || points[1] != (promql.FPoint{T: 1500, F: 3}) {
			t.Errorf("%v %v", l, points)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d series, %v", n, err)
	}
}
