package prommmv

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestExport(t *testing.T) {
	prom := prometheus.NewPedanticRegistry()
	orders := prometheus.NewCounter(prometheus.CounterOpts{Name: "orders_total", Help: "Orders taken."})
	busy := prometheus.NewCounter(prometheus.CounterOpts{Name: "busy_seconds_total", Help: "Time not idle."})
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total", Help: "Requests."}, []string{"method", "code"})
	heap := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "shop", Name: "heap_bytes", Help: strings.Repeat("long ", 100)})
	size := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "size_bytes", Help: "Sizes.", Buckets: []float64{10, 100}})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "took_seconds", Help: "Times.", Buckets: []float64{.1}}, []string{"op"})
	quick := prometheus.NewSummary(prometheus.SummaryOpts{Name: "quick_seconds", Help: "Summary.", Objectives: map[float64]float64{.5: .05}})
	native := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "native_seconds", Help: "Native.", NativeHistogramBucketFactor: 1.01})
	untyped := prometheus.NewUntypedFunc(prometheus.UntypedOpts{Name: "job:rate5m", Help: "Odd."}, func() float64 { return math.Inf(1) })
	prom.MustRegister(orders, busy, requests, heap, size, took, quick, native, untyped)
	orders.Add(3)
	busy.Add(1.5)
	requests.WithLabelValues("GET", "200").Add(7)
	requests.WithLabelValues("PUT", "500").Inc()
	heap.Set(4096)
	for _, v := range []float64{5, 50, 60, 500} {
		size.Observe(v)
	}
	took.WithLabelValues("read").Observe(.05)
	took.WithLabelValues("read").Observe(1)
	quick.Observe(.25)
	native.Observe(-2)
	for range 98 {
		native.Observe(.5)
	}
	native.Observe(8)

	reg := mmvtest.New(t, "a", mmv.Options{})
	e := Export(reg, prom, Options{Interval: time.Hour})
	defer e.Stop()
	got := mmvtest.Values(t, reg)
	for name, want := range map[string]float64{ // estimated
		"native_seconds_quantile[quantile=0.5]": .5, "native_seconds_quantile[quantile=0.99]": .5,
		"native_seconds_quantile[quantile=0.999]": 8,
	} {
		if v := reg.Lookup("native_seconds_quantile", name[len("native_seconds_quantile["):len(name)-1]); v == nil {
			t.Errorf("no %s", name)
		} else if x := (*mmv.Gauge)(v).Value(); math.Abs(x-want)/want > .01 {
			t.Errorf("%s = %v, want %v", name, x, want)
		}
		delete(got, name)
	}
	delete(got, "native_seconds_quantile[quantile=0.9]")
	want := map[string]string{
		"orders_total": "3", "busy_seconds_total": "1.5",
		"http_requests_total[code=200,method=GET]": "7", "http_requests_total[code=500,method=PUT]": "1",
		"shop_heap_bytes": "4096", "job_rate5m": "+Inf",
		"size_bytes_count": "4", "size_bytes_sum": "615",
		"size_bytes_bucket[le=10]": "1", "size_bytes_bucket[le=100]": "3", "size_bytes_bucket[le=+Inf]": "4",
		"took_seconds_count[op=read]": "2", "took_seconds_sum[op=read]": "1.05",
		"took_seconds_bucket[op=read,le=0.1]": "1", "took_seconds_bucket[op=read,le=+Inf]": "2",
		"quick_seconds[quantile=0.5]": "0.25", "quick_seconds_count": "1", "quick_seconds_sum": "0.25",
		"native_seconds_count": "100", "native_seconds_sum": "55",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	desc := mmvtest.Describe(t, reg)
	for _, line := range []string{
		"orders_total: 5 counter [count] Orders taken.\n", "busy_seconds_total: 5 counter [sec] ",
		"http_requests_total: 5 counter [count] ", "shop_heap_bytes: 5 instant [byte] long ",
		"size_bytes_sum: 5 counter [byte] Sizes.", "size_bytes_bucket: 3 counter [count] Sizes.",
		"quick_seconds: 5 instant [sec] Summary.", "quick_seconds_sum: 5 counter [sec] ", "quick_seconds_count: 3 counter [count] ",
		"native_seconds_quantile: 5 instant [sec] Native.",
	} {
		if !strings.Contains(desc, line) {
			t.Errorf("no %q in\n%s", line, desc)
		}
	}
	labels := strings.Join(mmvtest.Labels(t, reg), "")
	if !strings.Contains(labels, `{"code":"200"}{"method":"GET"}{"code":"500"}{"method":"PUT"}`) {
		t.Errorf("labels %s", labels)
	}

	requests.DeleteLabelValues("PUT", "500")
	requests.WithLabelValues("GET", "404").Inc()
	prom.Unregister(orders)
	if err := e.Refresh(); err != nil {
		t.Error(err)
	}
	got = mmvtest.Values(t, reg)
	for name, want := range map[string]string{
		"http_requests_total[code=500,method=PUT]": "NaN", "http_requests_total[code=404,method=GET]": "1", "orders_total": "NaN",
	} {
		if got[name] != want {
			t.Errorf("%s = %s, want %s", name, got[name], want)
		}
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
}

// The metrics of a gatherer are published in spite of its error.
func TestError(t *testing.T) {
	name, one := "a", 1.0
	failed := errors.New("no")
	reg := mmvtest.New(t, "a", mmv.Options{})
	e := Export(reg, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return []*dto.MetricFamily{{Name: &name, Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &one}}}}}, failed
	}), Options{})
	e.Stop()
	if got := mmvtest.Values(t, reg)["a"]; got != "1" || e.Err() != failed {
		t.Errorf("a = %s, Err = %v", got, e.Err())
	}
}

// Later labels make a second metric, as the first has no instances; removed
// labels do not.
func TestLabelsComeAndGo(t *testing.T) {
	name, one, k, v := "a", 1.0, "k", "v"
	plain := &dto.Metric{Gauge: &dto.Gauge{Value: &one}}
	labelled := &dto.Metric{Gauge: &dto.Gauge{Value: &one}, Label: []*dto.LabelPair{{Name: &k, Value: &v}}}
	family := []*dto.Metric{plain}
	reg := mmvtest.New(t, "a", mmv.Options{})
	e := Export(reg, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return []*dto.MetricFamily{{Name: &name, Metric: family}}, nil
	}), Options{Interval: time.Hour})
	defer e.Stop()
	check := func(want map[string]string) {
		t.Helper()
		e.Refresh()
		if diff := cmp.Diff(want, mmvtest.Values(t, reg)); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]string{"a": "1"})
	family = []*dto.Metric{labelled}
	check(map[string]string{"a": "NaN", "a_2[k=v]": "1"})
	family = []*dto.Metric{plain}
	check(map[string]string{"a": "NaN", "a_2[k=v]": "NaN", "a_2[{}]": "1"})
}

func BenchmarkRefresh(b *testing.B) {
	prom := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"n"})
	prom.MustRegister(requests)
	for i := range 1000 {
		requests.WithLabelValues(strings.Repeat("x", i%10) + string(rune('a'+i/10%26)) + string(rune('a'+i/260))).Inc()
	}
	reg := mmvtest.New(b, "a", mmv.Options{})
	e := Export(reg, prom, Options{Interval: time.Hour})
	defer e.Stop()
	b.Run("gather", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			prom.Gather()
		}
	})
	b.Run("refresh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Refresh()
		}
	})
}
