package runtimemmv

import (
	"math"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

// Options configures how the metrics appear.
type Options = bridge.Options

// Export publishes the metrics of the runtime until Stop.
func Export(reg *mmv.Registry, opt Options) *bridge.Exporter {
	c := &collector{}
	for _, d := range metrics.All() {
		if d.Kind != metrics.KindBad && !strings.HasPrefix(d.Name, "/godebug/") {
			c.descs = append(c.descs, d)
			c.samples = append(c.samples, metrics.Sample{Name: d.Name})
		}
	}
	c.hists = make([]histogram, len(c.descs))
	c.metrics = make([]*bridge.Metric, len(c.descs))
	return bridge.Start(reg, opt, c.fill)
}

// A collector has the metrics of the runtime in the order of their names.
type collector struct {
	descs   []metrics.Description
	samples []metrics.Sample
	metrics []*bridge.Metric // nil for histograms
	hists   []histogram
}

func (c *collector) fill(s *bridge.Sink) error {
	metrics.Read(c.samples)
	for i, sample := range c.samples {
		kind := sample.Value.Kind()
		if kind == metrics.KindFloat64Histogram {
			c.hists[i].set(s, c.descs[i], sample.Value.Float64Histogram())
			continue
		}
		m := c.metrics[i]
		if m == nil {
			m = s.Metric(i, func() bridge.Def { return define(c.descs[i]) })
			c.metrics[i] = m
		}
		switch kind {
		case metrics.KindUint64:
			m.SetUint(sample.Value.Uint64())
		case metrics.KindFloat64:
			m.Set(sample.Value.Float64())
		}
	}
	return nil
}

// define returns the definition of a metric of the runtime.
func define(d metrics.Description) bridge.Def {
	def := bridge.Def{
		Name:   nameOf(d.Name),
		Help:   d.Description,
		Sem:    pcp.SemInstant,
		Type:   mmv.TypeU64,
		Single: true,
		Units:  unitsOf(d.Name),
	}
	if d.Kind == metrics.KindFloat64 {
		def.Type = mmv.TypeDouble
	}
	if d.Cumulative {
		def.Sem = pcp.SemCounter
	}
	return def
}

// nameOf turns /gc/heap/allocs:bytes into gc.heap.allocs.bytes.
func nameOf(name string) string {
	return strings.Map(func(ch rune) rune {
		if ch == '/' || ch == ':' {
			return '.'
		}
		return ch
	}, name)
}

// unitsOf returns the units after the colon of a name. Units other than time and
// space are counts, except a percentage.
func unitsOf(name string) pcp.Units {
	_, unit, _ := strings.Cut(name, ":")
	return bridge.UnitsOfName(unit, unit != "percent")
}

// quantiles are the instances of NAME.quantile.
func quantiles() [4]struct {
	name string
	of   float64
} {
	return [...]struct {
		name string
		of   float64
	}{{"p50", .50}, {"p90", .90}, {"p99", .99}, {"p100", 1}}
}

// A histogram is one of the runtime's, with fewer buckets.
type histogram struct {
	count, bucket, quantile *bridge.Metric
	last                    []uint64         // all buckets as they were
	ends                    []int            // the buckets that end one of ours
	le                      [][]bridge.Label // of ours
	names                   [4][]bridge.Label
}

func (h *histogram) set(s *bridge.Sink, d metrics.Description, v *metrics.Float64Histogram) {
	if h.count == nil {
		h.define(s, d, v)
	}
	var total, fresh uint64
	end := 0
	for i, n := range v.Counts {
		total += n
		fresh += n - h.last[i]
		if end < len(h.ends) && h.ends[end] == i {
			h.bucket.SetUint(total, h.le[end]...)
			end++
		}
	}
	h.count.SetUint(total)
	if fresh == 0 {
		return
	}
	var before uint64
	q := 0
	want := quantiles()
	for i, n := range v.Counts {
		before += n - h.last[i]
		for ; q < len(want) && float64(before) >= math.Ceil(want[q].of*float64(fresh)); q++ {
			h.quantile.Set(edge(v.Buckets, i), h.names[q]...)
		}
	}
	copy(h.last, v.Counts)
}

// edge returns the upper edge of bucket i, or the lower one if that is
// infinite.
func edge(buckets []float64, i int) float64 {
	if hi := buckets[i+1]; !math.IsInf(hi, 0) {
		return hi
	}
	return buckets[i]
}

func (h *histogram) define(s *bridge.Sink, d metrics.Description, v *metrics.Float64Histogram) {
	define := func(part string, typ mmv.Type, sem pcp.Sem, units pcp.Units) *bridge.Metric {
		return s.Metric(d.Name+" "+part, func() bridge.Def {
			return bridge.Def{
				Name: nameOf(d.Name) + "." + part, Help: d.Description, Single: part == "count",
				Type: typ, Sem: sem, Units: units,
			}
		})
	}
	sem := pcp.SemInstant
	if d.Cumulative {
		sem = pcp.SemCounter
	}
	h.count = define("count", mmv.TypeU64, sem, bridge.Count())
	h.bucket = define("bucket", mmv.TypeU64, sem, bridge.Count())
	h.quantile = define("quantile", mmv.TypeDouble, pcp.SemInstant, unitsOf(d.Name))
	h.last = make([]uint64, len(v.Counts))
	last := 0.0
	for i := range v.Counts {
		hi := v.Buckets[i+1]
		if i < len(v.Counts)-1 && (hi <= 0 || hi < 2*last) {
			continue
		}
		last = hi
		h.ends = append(h.ends, i)
		le := strconv.FormatFloat(hi, 'g', 3, 64)
		h.le = append(h.le, []bridge.Label{{Name: "le", Value: le}})
	}
	for i, q := range quantiles() {
		h.names[i] = []bridge.Label{{Name: "quantile", Value: q.name}}
	}
}
