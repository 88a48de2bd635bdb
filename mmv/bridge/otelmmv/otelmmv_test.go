package otelmmv

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) { leak.Main(m) }

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestReader(t *testing.T) {
	ctx := t.Context()
	reg := mmvtest.New(t, "a", mmv.Options{})
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(NewReader(reg, Options{Interval: time.Hour})),
		sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "exp"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}})),
	)
	meter := provider.Meter("example.com/shop")
	attrs := metric.WithAttributes(attribute.String("method", "GET"), attribute.Int("code", 200))

	must[metric.Int64Counter](t)(meter.Int64Counter("http.requests", metric.WithUnit("{request}"), metric.WithDescription("Requests served"))).Add(ctx, 1<<60, attrs)
	must[metric.Float64Counter](t)(meter.Float64Counter("busy", metric.WithUnit("s"))).Add(ctx, 1.5)
	must[metric.Int64UpDownCounter](t)(meter.Int64UpDownCounter("queue", metric.WithUnit("{job}"))).Add(ctx, -3)
	must[metric.Float64Gauge](t)(meter.Float64Gauge("temp", metric.WithUnit("Cel"))).Record(ctx, 21.5)
	must[metric.Int64Gauge](t)(meter.Int64Gauge("disk", metric.WithUnit("kBy"))).Record(ctx, 2)
	must[metric.Int64Counter](t)(meter.Int64Counter("bare")).Add(ctx, 2)
	h := must[metric.Float64Histogram](t)(meter.Float64Histogram("took", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(.1, 1)))
	h.Record(ctx, .05, attrs)
	h.Record(ctx, .5, attrs)
	h.Record(ctx, 5, attrs)
	exp := must[metric.Float64Histogram](t)(meter.Float64Histogram("exp", metric.WithUnit("ms")))
	for range 99 {
		exp.Record(ctx, 10)
	}
	exp.Record(ctx, 1000)
	// Another scope's instrument of the same name.
	must[metric.Int64Counter](t)(provider.Meter("other").Int64Counter("bare")).Add(ctx, 5)

	if err := provider.ForceFlush(ctx); err != nil {
		t.Fatal(err)
	}
	got := mmvtest.Values(t, reg)
	for q, want := range map[string]float64{"0.5": 10, "0.9": 10, "0.99": 10, "0.999": 1000} {
		v := (*mmv.Gauge)(reg.Lookup("exp.quantile", "quantile="+q))
		if math.Abs(v.Value()-want)/want > .05 {
			t.Errorf("quantile %s = %v, want %v", q, v.Value(), want)
		}
		delete(got, "exp.quantile[quantile="+q+"]")
	}
	want := map[string]string{
		"http.requests[code=200,method=GET]": "1152921504606846976",
		"busy":                               "1.5", "queue": "-3", "temp": "21.5", "disk": "2000", "bare": "2", "bare_2": "5", // by the names of their scopes
		"took.count[code=200,method=GET]": "3", "took.sum[code=200,method=GET]": "5.55",
		"took.min[code=200,method=GET]": "0.05", "took.max[code=200,method=GET]": "5",
		"took.bucket[code=200,method=GET,le=0.1]": "1", "took.bucket[code=200,method=GET,le=1]": "2",
		"took.bucket[code=200,method=GET,le=+Inf]": "3",
		"exp.count": "100", "exp.sum": "1990", "exp.min": "10", "exp.max": "1000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	desc := mmvtest.Describe(t, reg)
	for _, line := range []string{
		"http.requests: 2 counter [count] Requests served\n", "busy: 5 counter [sec] \n", "queue: 2 instant [count] \n",
		"temp: 5 instant [temperature (C)] \n", "disk: 5 instant [byte] \n", "bare: 2 counter [count] \n",
		"took.count: 3 counter [count] \n", "took.sum: 5 counter [sec] \n", "took.bucket: 3 counter [count] \n",
		"took.max: 5 instant [sec] \n", "exp.quantile: 5 instant [millisec] \n",
	} {
		if !strings.Contains(desc, line) {
			t.Errorf("no %q in\n%s", line, desc)
		}
	}
	labels := strings.Join(mmvtest.Labels(t, reg), "")
	for _, l := range []string{`{"service_name":"shop"}`, `{"scope":"example.com/shop"}`, `{"scope":"other"}`, `{"code":"200"}`} {
		if !strings.Contains(labels, l) {
			t.Errorf("no label %s in %s", l, labels)
		}
	}
	if err := reg.Err(); err != nil {
		t.Error(err)
	}

	// Sums are cumulative.
	h.Record(ctx, .5, attrs)
	if err := provider.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := mmvtest.Values(t, reg)["took.count[code=200,method=GET]"]; got != "4" {
		t.Errorf("count = %s", got)
	}
}

func TestRefused(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	e := NewExporter(reg, Options{})
	one := []metricdata.DataPoint[int64]{{Value: 1}}
	rm := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "delta", Data: metricdata.Sum[int64]{DataPoints: one, Temporality: metricdata.DeltaTemporality}},
		{Name: "nothing"},
		{Name: "empty", Data: metricdata.Gauge[int64]{}},
		{Name: "good", Data: metricdata.Gauge[int64]{DataPoints: one}},
		{Name: "quick", Unit: "s", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{
			{Count: 2, Sum: 3, QuantileValues: []metricdata.QuantileValue{{Quantile: .5, Value: 1.5}}},
		}}},
	}}}}
	err := e.Export(t.Context(), rm)
	if err == nil || !strings.Contains(err.Error(), "metric delta: DeltaTemporality is not supported") {
		t.Errorf("Export = %v", err)
	}
	want := map[string]string{"good": "1", "quick.count": "2", "quick.sum": "3", "quick.quantile[quantile=0.5]": "1.5"}
	if diff := cmp.Diff(want, mmvtest.Values(t, reg)); diff != "" {
		t.Error(diff)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Export(done, rm); err != context.Canceled {
		t.Errorf("Export = %v", err)
	}
	e.Shutdown(t.Context())
	if err := e.Export(t.Context(), rm); err != sdkmetric.ErrExporterShutdown {
		t.Errorf("Export = %v", err)
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
}
