package main

import (
	"context"
	"expvar"
	"fmt"

	"github.com/performancecopilot/speed/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// speedClient returns the measurements of speed, the earlier library for Go.
func speedClient() ([]contender, error) {
	speed.EraseFileOnStop = true
	c, err := speed.NewPCPClient("speed")
	if err != nil {
		return nil, err
	}
	count, err := speed.NewPCPCounter(0, "bench.counter")
	if err != nil {
		return nil, err
	}
	gaugeMetric, err := speed.NewPCPGauge(0, "bench.gauge")
	if err != nil {
		return nil, err
	}
	values := map[string]int64{}
	for i := range 100 {
		values[fmt.Sprintf("instance%d", i)] = 0
	}
	vec, err := speed.NewPCPCounterVector(values, "bench.vec")
	if err != nil {
		return nil, err
	}
	hist, err := speed.NewPCPHistogram("bench.hist", 0, 1<<20, 3, speed.OneUnit)
	if err != nil {
		return nil, err
	}
	c.MustRegister(count)
	c.MustRegister(gaugeMetric)
	c.MustRegister(vec)
	c.MustRegister(hist)
	if err := c.Start(); err != nil {
		return nil, err
	}
	return []contender{
		{group: counter, name: "speed PCPCounter.Inc", slow: 10, run: func(n int) {
			for range n {
				count.Inc(1)
			}
		}},
		{group: gauge, name: "speed PCPGauge.Set", slow: 10, run: func(n int) {
			for i := range n {
				gaugeMetric.Set(float64(i))
			}
		}},
		{group: lookup, name: "speed PCPCounterVector.Inc", slow: 10, run: func(n int) {
			for range n {
				vec.Inc(1, "instance50")
			}
		}},
		{group: histogram, name: "speed PCPHistogram.Record", slow: 500, run: func(n int) {
			for i := range n {
				hist.Record(observed[i%len(observed)])
			}
		}},
		{group: create, name: "speed 10000 x 1", create: func() func() {
			c, err := speed.NewPCPClient("speedcreate")
			if err != nil {
				panic(err)
			}
			for i := range 10000 {
				m, err := speed.NewPCPCounter(0, fmt.Sprintf("bench.counter%d", i))
				if err != nil {
					panic(err)
				}
				c.MustRegister(m)
			}
			c.MustStart()
			return c.MustStop
		}},
	}, nil
}

// elsewhere returns the measurements of libraries of other systems.
func elsewhere() ([]contender, error) {
	reg := prometheus.NewRegistry()
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "counter"})
	gaugeMetric := prometheus.NewGauge(prometheus.GaugeOpts{Name: "gauge"})
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vec"}, []string{"instance"})
	hist := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "histogram", Buckets: prometheus.ExponentialBuckets(1, 4, 10)})
	reg.MustRegister(count, gaugeMetric, vec, hist)
	for i := range 100 {
		vec.WithLabelValues(fmt.Sprintf("instance%d", i))
	}
	held := vec.WithLabelValues("instance50")

	meter := func() metric.Meter {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())).Meter("bench")
	}
	m := meter()
	otelCount, err := m.Int64Counter("counter")
	if err != nil {
		return nil, err
	}
	otelGauge, err := m.Float64Gauge("gauge")
	if err != nil {
		return nil, err
	}
	otelHist, err := m.Float64Histogram("histogram")
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	set := []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("instance", "instance50")))}

	var expInt expvar.Int
	var expFloat expvar.Float
	expMap := new(expvar.Map).Init()
	for i := range 100 {
		expMap.Add(fmt.Sprintf("instance%d", i), 0)
	}
	return []contender{
		{group: counter, name: "client_golang Counter.Inc", run: func(n int) {
			for range n {
				count.Inc()
			}
		}},
		{group: counter, name: "OpenTelemetry Int64Counter.Add", slow: 10, run: func(n int) {
			for range n {
				otelCount.Add(ctx, 1)
			}
		}},
		{group: counter, name: "expvar Int.Add", run: func(n int) {
			for range n {
				expInt.Add(1)
			}
		}},
		{group: gauge, name: "client_golang Gauge.Set", run: func(n int) {
			for i := range n {
				gaugeMetric.Set(float64(i))
			}
		}},
		{group: gauge, name: "OpenTelemetry Float64Gauge.Record", slow: 10, run: func(n int) {
			for i := range n {
				otelGauge.Record(ctx, float64(i))
			}
		}},
		{group: gauge, name: "expvar Float.Set", run: func(n int) {
			for i := range n {
				expFloat.Set(float64(i))
			}
		}},
		{group: instance, name: "client_golang Counter.Inc", run: func(n int) {
			for range n {
				held.Inc()
			}
		}},
		{group: instance, name: "OpenTelemetry Int64Counter.Add with a set that is kept", slow: 10, run: func(n int) {
			for range n {
				otelCount.Add(ctx, 1, set...)
			}
		}},
		{group: lookup, name: "client_golang CounterVec.WithLabelValues(name).Inc", run: func(n int) {
			for range n {
				vec.WithLabelValues("instance50").Inc()
			}
		}},
		{group: lookup, name: "OpenTelemetry Int64Counter.Add with an attribute", slow: 10, run: func(n int) {
			for range n {
				otelCount.Add(ctx, 1, metric.WithAttributes(attribute.String("instance", "instance50")))
			}
		}},
		{group: lookup, name: "expvar Map.Add", run: func(n int) {
			for range n {
				expMap.Add("instance50", 1)
			}
		}},
		{group: histogram, name: "client_golang Histogram.Observe, 10 buckets", run: func(n int) {
			for i := range n {
				hist.Observe(float64(observed[i%len(observed)]))
			}
		}},
		{group: histogram, name: "OpenTelemetry Float64Histogram.Record, 15 buckets", slow: 10, run: func(n int) {
			for i := range n {
				otelHist.Record(ctx, float64(observed[i%len(observed)]))
			}
		}},
		{group: create, name: "client_golang 1 x 10000, WithLabelValues one by one", create: func() func() {
			reg := prometheus.NewRegistry()
			v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "v"}, []string{"instance"})
			reg.MustRegister(v)
			for i := range 10000 {
				v.WithLabelValues(fmt.Sprintf("instance%d", i))
			}
			return func() {}
		}},
		{group: create, name: "client_golang 10000 x 1", create: func() func() {
			reg := prometheus.NewRegistry()
			for i := range 10000 {
				reg.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: fmt.Sprintf("counter%d", i)}))
			}
			return func() {}
		}},
		{group: create, name: "OpenTelemetry 10000 x 1", create: func() func() {
			m := meter()
			for i := range 10000 {
				if _, err := m.Int64Counter(fmt.Sprintf("counter%d", i)); err != nil {
					panic(err)
				}
			}
			return func() {}
		}},
	}, nil
}
