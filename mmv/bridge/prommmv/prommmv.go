package prommmv

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

// Options configures how the metrics appear.
type Options = bridge.Options

// Export publishes the metrics that g gathers, until Stop.
func Export(reg *mmv.Registry, g prometheus.Gatherer, opt Options) *bridge.Exporter {
	e := exporter{known: map[key]bool{}}
	return bridge.Start(reg, opt, func(s *bridge.Sink) error {
		e.sink = s
		families, err := g.Gather()
		for _, f := range families { // the metrics that exist, in spite of err
			e.family(f)
		}
		return err
	})
}

type exporter struct {
	sink   *bridge.Sink
	labels []bridge.Label
	bounds []float64
	counts []uint64
	known  map[key]bool // to have instances
}

// A key identifies a metric of the sink.
type key struct {
	name   string
	typ    dto.MetricType
	single bool
	native bool
	part   string
}

func (e *exporter) family(f *dto.MetricFamily) {
	k := key{name: f.GetName(), typ: f.GetType()}
	// A metric that once had labels continues to have instances.
	k.single = len(f.Metric) == 1 && len(f.Metric[0].Label) == 0 && !e.known[k]
	if !k.single {
		e.known[k] = true
	}
	var simple *bridge.Metric // looked up once for all series
	set := func(x float64, sem pcp.Sem) {
		if simple == nil {
			simple = e.metric(k, f, sem)
		}
		simple.Set(x, e.labels...)
	}
	for _, m := range f.Metric {
		e.labels = e.labels[:0]
		for _, l := range m.Label {
			e.labels = append(e.labels, bridge.Label{Name: l.GetName(), Value: l.GetValue()})
		}
		switch {
		case m.Counter != nil:
			set(m.Counter.GetValue(), pcp.SemCounter)
		case m.Gauge != nil:
			set(m.Gauge.GetValue(), pcp.SemInstant)
		case m.Untyped != nil:
			set(m.Untyped.GetValue(), pcp.SemInstant)
		case m.Summary != nil:
			e.summary(k, f, m.Summary)
		case m.Histogram != nil:
			e.histogram(k, f, m.Histogram)
		}
	}
}

func (e *exporter) metric(k key, f *dto.MetricFamily, sem pcp.Sem) *bridge.Metric {
	return e.sink.Metric(k, func() bridge.Def { return define(k, f, sem) })
}

func define(k key, f *dto.MetricFamily, sem pcp.Sem) bridge.Def {
	name := f.GetName()
	units := bridge.UnitsOfName(name, sem == pcp.SemCounter)
	if u := f.GetUnit(); u != "" {
		units = bridge.UnitsOfName("_"+u, sem == pcp.SemCounter)
	}
	return bridge.Def{
		Name: name + k.part, Help: f.GetHelp(), Units: units, Sem: sem,
		Type: mmv.TypeDouble, Single: k.single,
	}
}

func (e *exporter) summary(k key, f *dto.MetricFamily, s *dto.Summary) {
	count := k
	count.part = "_count"
	e.sink.Metric(count, func() bridge.Def {
		d := define(count, f, pcp.SemCounter)
		d.Units, d.Type = bridge.Count(), mmv.TypeU64
		return d
	}).SetUint(s.GetSampleCount(), e.labels...)
	sum := k
	sum.part = "_sum"
	e.sink.Metric(sum, func() bridge.Def {
		d := define(sum, f, pcp.SemInstant) // a sum without units is not a count
		d.Sem = pcp.SemCounter
		return d
	}).Set(s.GetSampleSum(), e.labels...)
	if len(s.Quantile) == 0 {
		return
	}
	k.single = false
	m := e.metric(k, f, pcp.SemInstant)
	labels := append(e.labels, bridge.Label{Name: "quantile"})
	for _, q := range s.Quantile {
		labels[len(labels)-1].Value = strconv.FormatFloat(q.GetQuantile(), 'g', -1, 64)
		m.Set(q.GetValue(), labels...)
	}
	e.labels = labels[:len(labels)-1]
}

func (e *exporter) histogram(k key, f *dto.MetricFamily, h *dto.Histogram) {
	n := h.GetSampleCount()
	if f := h.GetSampleCountFloat(); f > 0 {
		n = uint64(f)
	}
	def := func() bridge.Def { return define(k, f, pcp.SemInstant) }
	if len(h.Bucket) == 0 && h.Schema != nil {
		k.native = true
		e.sink.Native(k, "_", def).Set(n, h.GetSampleSum(), 1, buckets(h), e.labels...)
		return
	}
	e.bounds, e.counts = e.bounds[:0], e.counts[:0]
	for _, b := range h.Bucket {
		e.bounds = append(e.bounds, b.GetUpperBound())
		c := b.GetCumulativeCount()
		if f := b.GetCumulativeCountFloat(); f > 0 {
			c = uint64(f)
		}
		e.counts = append(e.counts, c)
	}
	e.sink.Histogram(k, "_", def).Set(n, h.GetSampleSum(), e.bounds, e.counts, e.labels...)
}

// buckets are those of a native histogram, from the lowest value to the
// highest. Bucket i ends at 2^(i/2^schema); its values count as its middle on the
// logarithmic scale.
func buckets(h *dto.Histogram) iter.Seq2[float64, uint64] {
	middle := func(i int) float64 { return math.Exp2((float64(i) - .5) * math.Exp2(-float64(h.GetSchema()))) }
	type bucket struct {
		v float64
		n uint64
	}
	read := func(spans []*dto.BucketSpan, deltas []int64, counts []float64) (list []bucket) {
		i, at, n := 0, 0, int64(0)
		for _, span := range spans {
			i += int(span.GetOffset())
			for range span.GetLength() {
				switch {
				case at < len(deltas):
					n += deltas[at]
				case at < len(counts):
					n = int64(counts[at])
				default:
					return list
				}
				list = append(list, bucket{middle(i), uint64(max(n, 0))})
				at++
				i++
			}
		}
		return list
	}
	return func(yield func(float64, uint64) bool) {
		for _, b := range slices.Backward(read(h.NegativeSpan, h.NegativeDelta, h.NegativeCount)) {
			if !yield(-b.v, b.n) {
				return
			}
		}
		zero := h.GetZeroCount()
		if f := h.GetZeroCountFloat(); f > 0 {
			zero = uint64(f)
		}
		if !yield(0, zero) {
			return
		}
		for _, b := range read(h.PositiveSpan, h.PositiveDelta, h.PositiveCount) {
			if !yield(b.v, b.n) {
				return
			}
		}
	}
}
