package promtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// requests are requests to both interfaces: a path and parameters.
var requests = []string{
	"query?query=1%2B1&time=5.5", "query?query=\"x\"&time=5", "query?query=load&time=30", "query?query=load[1m]&time=30.5",
	"query?query=load&time=30&limit=1", "query?query=load&time=30&limit=-1", "query?query=load&time=30&limit=x",
	"query?query=load&time=30&lookback_delta=1s", "query?query=load&time=31&lookback_delta=1s", "query?query=load&time=30&lookback_delta=x",
	"query?query=load&time=30&timeout=x", "query?query=load&time=30&timeout=5s", "query?query=load&time=x", "query?query=load&time=NaNs",
	"query?query=&time=1", "query?time=1", "query?query=1%2B&time=1", "query?query=sum(&time=1", "query?query={}&time=1", "query?query=rate(load)&time=1",
	"query?query=load{cpu=~\"(\"}&time=1", "query?query=histogram_quantile(0.9,load)&time=30", "query?query=load*on()load&time=30",
	"query?query=nofunction(1)&time=1", "query?query=sort_desc(load)&time=30", "query?query=NaN&time=1", "query?query=vector(-Inf)&time=1",
	"query?query=quantile(2,load)&time=30", "query?query=load{x=\"%F0%9F%A6%86\"}%20or%20vector(1)&time=30", "query?query=label_replace(load,\"é\",\"ü\",\"cpu\",\".*\")&time=30",
	"query_range?query=load&start=0&end=60&step=15", "query_range?query=delta(load[1m])&start=0&end=90&step=7.5", "query_range?query=load&start=0&end=60&step=15&limit=1",
	"query_range?query=load&start=60&end=0&step=15", "query_range?query=load&start=0&end=60&step=0", "query_range?query=load&start=0&end=60&step=x",
	"query_range?query=load&start=0&end=60", "query_range?query=load&start=&end=60&step=1", "query_range?query=load&start=0&end=x&step=1",
	"query_range?query=load&start=0&end=11001&step=1", "query_range?query=load&start=0&end=1e9&step=1", "query_range?query=load[1m]&start=0&end=60&step=1",
	"query_range?query=\"x\"&start=0&end=60&step=1", "query_range?query=%2B&start=0&end=60&step=1", "query_range?query=1&start=0&end=60&step=1m&timeout=x",
	"labels", "labels?match[]=load", "labels?match[]=load&match[]=free", "labels?match[]=nothing", "labels?match[]={", "labels?match[]={}", "labels?start=x", "labels?end=x",
	"labels?limit=1", "labels?limit=-1", "labels?limit=x",
	"label/cpu/values", "label/cpu/values?match[]=load{cpu!=\"1\"}", "label/__name__/values", "label/none/values", "label/cpu/values?limit=2", "label/cpu/values?match[]=}",
	"label/cpu/values?start=x", "label/U__a_2e_b/values",
	"series?match[]=load&match[]=free", "series?match[]=nothing", "series", "series?match[]={}", "series?match[]=1", "series?match[]=load&limit=1", "series?match[]=load&start=x",
	"query_exemplars?query=1", "query_exemplars?query=(", "query_exemplars?query=load&start=x", "query_exemplars?query=load&start=2&end=1",
	"format_query?query=sum(load)by(cpu)", "format_query?query=sum(", "format_query?query=", "metadata?limit=x", "metadata?limit_per_metric=x",
	"parse_query?query=sum+by(cpu)(rate(load[5m]+offset+1h))>bool+1", "parse_query?query=load+@+5+*+ignoring(cpu)+group_left(x)+free", "parse_query?query=sum(", "parse_query?query=",
	"parse_query?query=max_over_time(load{a=~\"b\",c!=\"d\"}[1h:1m]+@+end())", "parse_query?query=-(1)^\"x\"", "parse_query?query=topk(3,load)+or+absent(free)+unless+on(a)+vector(1)",
	"parse_query?query=\"x\"", "parse_query?query=label_replace(load,\"a\",\"b\",\"c\",\"d\")", "parse_query?query=count+without()(load)+offset+-5m",
}

// TestAPI makes the same requests to the HTTP interface of Prometheus 3 over its own storage, and to ours over archives.
func TestAPI(t *testing.T) {
	d := newDisk(t)
	defer d.Close()
	app := d.AppenderV2(t.Context())
	for i := range int64(10) {
		for _, name := range [][2]string{{"load", "0"}, {"load", "1"}, {"load", "2"}, {"free", "7"}} {
			l := labels.FromStrings(labels.MetricName, name[0], "cpu", name[1])
			if _, err := app.Append(0, l, 0, 15_000*i, float64(i)/7+float64(name[1][0]), nil, nil, storage.AppendV2Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	engine := store.NewEngine(store.EngineConfig{})
	theirs := route.New().WithPrefix("/api/v1")
	v1.NewAPI(engine, d.full, nil, d.full,
		func(context.Context) v1.ScrapePoolsRetriever { return nil }, func(context.Context) v1.TargetRetriever { return nil },
		func(context.Context) v1.AlertmanagerRetriever { return nil }, func() config.Config { return config.Config{} }, nil, v1.GlobalURLOptions{},
		func(f http.HandlerFunc) http.HandlerFunc { return f }, nil, "", false, false, 0, slog.New(slog.DiscardHandler),
		func(context.Context) v1.RulesRetriever { return nil }, 0, 0, 0, false, nil,
		func() (v1.RuntimeInfo, error) { return v1.RuntimeInfo{}, errors.ErrUnsupported }, &v1.PrometheusVersion{}, nil, nil,
		prometheus.NewRegistry(), nil, nil, false, nil, false, false, false, 5*time.Minute, false, false, nil, nil, v1.OpenAPIOptions{},
		parser.NewParser(parser.Options{}), false, 0,
	).Register(theirs)
	ours := api.New(api.Config{Store: d})
	for _, req := range requests {
		path, params, _ := strings.Cut(req, "?")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && (strings.HasPrefix(path, "label/") || path == "metadata") {
				continue
			}
			ask := func(h http.Handler) (int, any, string) {
				r := httptest.NewRequest(method, "/api/v1/"+path, nil)
				r.URL.RawQuery = strings.ReplaceAll(params, " ", "%20")
				if method == http.MethodPost {
					r = httptest.NewRequest(method, "/api/v1/"+path, strings.NewReader(r.URL.RawQuery))
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				var v any
				json.Unmarshal(w.Body.Bytes(), &v) // nil if there is no content
				return w.Code, v, w.Body.String()
			}
			status, v, text := ask(ours)
			wantStatus, want, wantText := ask(theirs)
			if status != wantStatus || !reflect.DeepEqual(v, want) {
				t.Errorf("%s %s: %d %s\nPrometheus: %d %s", method, req, status, text, wantStatus, wantText)
			}
		}
	}
}
