package otelmmv

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

// Options configures how the metrics appear.
type Options = bridge.Options

// NewReader returns a reader for a meter provider, which collects once per
// opt.Interval and when the provider is flushed or shut down.
func NewReader(reg *mmv.Registry, opt Options) *sdkmetric.PeriodicReader {
	return sdkmetric.NewPeriodicReader(NewExporter(reg, opt),
		sdkmetric.WithInterval(cmp.Or(max(opt.Interval, 0), time.Second)))
}

// An Exporter is the part of a reader that writes to the registry, for use
// with the program's own periodic reader.
type Exporter struct {
	mu       sync.Mutex
	sink     *bridge.Sink
	attrs    map[attribute.Distinct][]bridge.Label
	vectors  map[key]bool // metrics with instances
	bounds   []float64
	counts   []uint64
	order    []scoped
	resource bool // its attributes are there
	shutdown bool
}

// NewExporter returns an exporter that adds to reg.
func NewExporter(reg *mmv.Registry, opt Options) *Exporter {
	return &Exporter{
		sink:  bridge.NewSink(reg, opt),
		attrs: map[attribute.Distinct][]bridge.Label{}, vectors: map[key]bool{},
	}
}

// Temporality is cumulative for all instruments.
func (e *Exporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation is the default of the SDK.
func (e *Exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// ForceFlush does nothing: Export has already published its metrics.
func (e *Exporter) ForceFlush(context.Context) error { return nil }

// Shutdown ends the exporter. The metrics stay in the registry.
func (e *Exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shutdown = true
	return nil
}

// Err returns an error if there was no room for a metric or an instance.
func (e *Exporter) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sink.Err()
}

// Export updates the registry. Sums and histograms that are not cumulative are
// refused.
func (e *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shutdown {
		return sdkmetric.ErrExporterShutdown
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !e.resource && rm.Resource != nil {
		e.resource = true
		for _, kv := range rm.Resource.Attributes() {
			e.sink.Label(bridge.Label{Name: string(kv.Key), Value: kv.Value.String()})
		}
	}
	var failed error
	e.sink.Begin()
	for _, m := range e.inOrder(rm) {
		failed = cmp.Or(failed, e.metric(m.scope, m.Metrics))
	}
	if failed == nil {
		e.sink.End()
	}
	return failed
}

// A scoped metric knows its scope.
type scoped struct {
	scope string
	*metricdata.Metrics
}

// inOrder returns all metrics by scope and name. The SDK has scopes in any
// order, and names that collide must get the same suffixes each time.
func (e *Exporter) inOrder(rm *metricdata.ResourceMetrics) []scoped {
	e.order = e.order[:0]
	for _, s := range rm.ScopeMetrics {
		for i := range s.Metrics {
			e.order = append(e.order, scoped{s.Scope.Name, &s.Metrics[i]})
		}
	}
	slices.SortStableFunc(e.order, func(a, b scoped) int {
		return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.Name, b.Name))
	})
	return e.order
}

func (e *Exporter) metric(scope string, m *metricdata.Metrics) error {
	temporality := metricdata.CumulativeTemporality
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		points(e, scope, m, pcp.SemInstant, data.DataPoints)
	case metricdata.Gauge[float64]:
		points(e, scope, m, pcp.SemInstant, data.DataPoints)
	case metricdata.Sum[int64]:
		if temporality = data.Temporality; temporality == metricdata.CumulativeTemporality {
			points(e, scope, m, semOf(data.IsMonotonic), data.DataPoints)
		}
	case metricdata.Sum[float64]:
		if temporality = data.Temporality; temporality == metricdata.CumulativeTemporality {
			points(e, scope, m, semOf(data.IsMonotonic), data.DataPoints)
		}
	case metricdata.Histogram[int64]:
		if temporality = data.Temporality; temporality == metricdata.CumulativeTemporality {
			histogram(e, scope, m, data.DataPoints)
		}
	case metricdata.Histogram[float64]:
		if temporality = data.Temporality; temporality == metricdata.CumulativeTemporality {
			histogram(e, scope, m, data.DataPoints)
		}
	case metricdata.ExponentialHistogram[int64]:
		if temporality = data.Temporality; temporality == metricdata.CumulativeTemporality {
			exponential(e, scope, m, data.DataPoints)
		}
	case metricdata.ExponentialHistogram[float64]:
		if temporality = data.Temporality; temporality == metricdata.CumulativeTemporality {
			exponential(e, scope, m, data.DataPoints)
		}
	case metricdata.Summary:
		e.summary(scope, m, data)
	default:
		return fmt.Errorf("otelmmv: metric %s: %T is not supported", m.Name, data)
	}
	if temporality != metricdata.CumulativeTemporality {
		return fmt.Errorf("otelmmv: metric %s: %v is not supported", m.Name, temporality)
	}
	return nil
}

func semOf(monotonic bool) pcp.Sem {
	if monotonic {
		return pcp.SemCounter
	}
	return pcp.SemInstant
}

// A key identifies a metric of the sink: instruments of one name may differ in
// the rest.
type key struct {
	scope, name, unit, description string
	part                           string
	single                         bool
}

func keyOf(scope string, m *metricdata.Metrics, single bool) key {
	return key{scope: scope, name: m.Name, unit: m.Unit, description: m.Description, single: single}
}

// single reports whether m is published as a single value; it has n points, the first
// with the attributes first. A metric that once had attributes continues to have
// instances.
func (e *Exporter) single(scope string, m *metricdata.Metrics, n int, first *attribute.Set) bool {
	k := keyOf(scope, m, false)
	if n == 1 && first.Len() == 0 && !e.vectors[k] {
		return true
	}
	e.vectors[k] = true
	return false
}

// describe returns the key and definition of m, and the factor of its values.
func describe(scope string, m *metricdata.Metrics, typ mmv.Type, sem pcp.Sem, single bool) (key, func() bridge.Def, float64) {
	k := keyOf(scope, m, single)
	units, factor, _ := bridge.UCUM(m.Unit)
	if factor != 1 {
		typ = mmv.TypeDouble
	}
	return k, func() bridge.Def {
		if sem == pcp.SemCounter && units == (pcp.Units{}) {
			units = bridge.Count()
		}
		return bridge.Def{
			Name: m.Name, Help: m.Description, Units: units, Sem: sem, Type: typ,
			Single: single, Labels: []bridge.Label{{Name: "scope", Value: scope}},
		}
	}, factor
}

// typeOf returns the type of a metric's values.
func typeOf[N int64 | float64]() mmv.Type {
	var n N
	if _, ok := any(n).(int64); ok {
		return mmv.TypeI64
	}
	return mmv.TypeDouble
}

func points[N int64 | float64](e *Exporter, scope string, m *metricdata.Metrics, sem pcp.Sem, list []metricdata.DataPoint[N]) {
	if len(list) == 0 {
		return
	}
	single := e.single(scope, m, len(list), &list[0].Attributes)
	k, def, factor := describe(scope, m, typeOf[N](), sem, single)
	dst := e.sink.Metric(k, def)
	for i := range list {
		p := &list[i]
		labels := e.labels(&p.Attributes)
		if dst.Type() == mmv.TypeI64 {
			dst.SetInt(int64(p.Value), labels...)
		} else {
			dst.Set(float64(p.Value)*factor, labels...)
		}
	}
}

func histogram[N int64 | float64](e *Exporter, scope string, m *metricdata.Metrics, list []metricdata.HistogramDataPoint[N]) {
	if len(list) == 0 {
		return
	}
	single := e.single(scope, m, len(list), &list[0].Attributes)
	k, def, factor := describe(scope, m, mmv.TypeDouble, pcp.SemInstant, single)
	dst := e.sink.Histogram(k, ".", def)
	for i := range list {
		p := &list[i]
		e.bounds, e.counts = e.bounds[:0], e.counts[:0]
		total := uint64(0)
		for j := range min(len(p.Bounds), len(p.BucketCounts)) {
			total += p.BucketCounts[j]
			e.bounds = append(e.bounds, p.Bounds[j]*factor)
			e.counts = append(e.counts, total)
		}
		labels := e.labels(&p.Attributes)
		dst.Set(p.Count, float64(p.Sum)*factor, e.bounds, e.counts, labels...)
		extreme(e, scope, m, "min", single, p.Min, labels)
		extreme(e, scope, m, "max", single, p.Max, labels)
	}
}

// extreme sets NAME.min or NAME.max, if it is known.
func extreme[N int64 | float64](e *Exporter, scope string, m *metricdata.Metrics, part string, single bool, v metricdata.Extrema[N], labels []bridge.Label) {
	x, ok := v.Value()
	if !ok {
		return
	}
	k, def, factor := describe(scope, m, mmv.TypeDouble, pcp.SemInstant, single)
	k.part = part
	e.sink.Metric(k, func() bridge.Def {
		d := def()
		d.Name += "." + part
		return d
	}).Set(float64(x)*factor, labels...)
}

func exponential[N int64 | float64](e *Exporter, scope string, m *metricdata.Metrics, list []metricdata.ExponentialHistogramDataPoint[N]) {
	if len(list) == 0 {
		return
	}
	single := e.single(scope, m, len(list), &list[0].Attributes)
	k, def, factor := describe(scope, m, mmv.TypeDouble, pcp.SemInstant, single)
	k.part = "exponential"
	dst := e.sink.Native(k, ".", def)
	for i := range list {
		p := &list[i]
		labels := e.labels(&p.Attributes)
		dst.Set(p.Count, float64(p.Sum), factor, buckets(p), labels...)
		extreme(e, scope, m, "min", single, p.Min, labels)
		extreme(e, scope, m, "max", single, p.Max, labels)
	}
}

// buckets are those of an exponential histogram, from the lowest value to the
// highest. Bucket i starts above 2^(i/2^scale); its values count as its middle on
// the logarithmic scale.
func buckets[N int64 | float64](p *metricdata.ExponentialHistogramDataPoint[N]) iter.Seq2[float64, uint64] {
	middle := func(i int) float64 { return math.Exp2((float64(i) + .5) * math.Exp2(-float64(p.Scale))) }
	return func(yield func(float64, uint64) bool) {
		neg, pos := &p.NegativeBucket, &p.PositiveBucket
		for i := len(neg.Counts) - 1; i >= 0; i-- {
			if !yield(-middle(int(neg.Offset)+i), neg.Counts[i]) {
				return
			}
		}
		if !yield(0, p.ZeroCount) {
			return
		}
		for i, n := range pos.Counts {
			if !yield(middle(int(pos.Offset)+i), n) {
				return
			}
		}
	}
}

// summary publishes quantiles that another library computed.
func (e *Exporter) summary(scope string, m *metricdata.Metrics, data metricdata.Summary) {
	if len(data.DataPoints) == 0 {
		return
	}
	single := e.single(scope, m, len(data.DataPoints), &data.DataPoints[0].Attributes)
	k, def, factor := describe(scope, m, mmv.TypeDouble, pcp.SemInstant, single)
	part := func(name string, set func(*bridge.Def)) *bridge.Metric {
		k.part = name
		return e.sink.Metric(k, func() bridge.Def {
			d := def()
			d.Name += "." + name
			set(&d)
			return d
		})
	}
	for i := range data.DataPoints {
		p := &data.DataPoints[i]
		labels := e.labels(&p.Attributes)
		part("count", func(d *bridge.Def) {
			d.Units, d.Type, d.Sem = bridge.Count(), mmv.TypeU64, pcp.SemCounter
		}).SetUint(p.Count, labels...)
		part("sum", func(d *bridge.Def) { d.Sem = pcp.SemCounter }).Set(p.Sum*factor, labels...)
		quantile := part("quantile", func(d *bridge.Def) { d.Single = false })
		for _, q := range p.QuantileValues {
			quantile.Set(q.Value*factor, append(labels[:len(labels):len(labels)],
				bridge.Label{Name: "quantile", Value: fmt.Sprint(q.Quantile)})...)
		}
	}
}

// maxSets is the maximum number of attribute sets kept as labels.
const maxSets = 1 << 16

// labels returns attributes as labels, which it keeps for the next time.
func (e *Exporter) labels(set *attribute.Set) []bridge.Label {
	if set.Len() == 0 {
		return nil
	}
	id := set.Equivalent()
	if l, ok := e.attrs[id]; ok {
		return l
	}
	labels := make([]bridge.Label, 0, set.Len())
	for i := set.Iter(); i.Next(); {
		kv := i.Attribute()
		labels = append(labels, bridge.Label{Name: string(kv.Key), Value: kv.Value.String()})
	}
	if len(e.attrs) < maxSets {
		e.attrs[id] = labels
	}
	return labels
}
