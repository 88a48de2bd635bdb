package mmv

import (
	"math"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
)

// A Histogram keeps the distribution of a value: the number of observations,
// their sum, minimum, maximum, mean, standard deviation and percentiles. It is a
// high dynamic range histogram: the width of each bucket is at most 1/64 (1.6 %)
// of the values in it, from 0 to 2^63-1.
//
// Observe changes count and sum at once; the statistics in the file are
// updated once per Options.Refresh, and when the registry is closed. They
// describe the observations since the program began: with Options.Continue count
// and sum continue from the previous run, and the statistics keep their values
// until the first observation. A nil Histogram does nothing.
type Histogram struct {
	octaves  [octaves]atomic.Pointer[octave]
	min, max atomic.Int64
	sum      *Counter
	count    *Counter
	stats    [len(statNames)]*Gauge

	mu   sync.Mutex
	seen uint64 // number of observations in the statistics
	past uint64 // the sum of the run before
}

// An octave counts the values between two powers of two. It is made for the first
// of them.
type octave [subSize]atomic.Uint64

// statNames are the instances of the statistics of a histogram.
var statNames = [...]string{"min", "max", "mean", "stddev", "p50", "p90", "p95", "p99", "p99.9"}

// statQuantiles are the quantiles of the last of them.
var statQuantiles = [...]float64{0.50, 0.90, 0.95, 0.99, 0.999}

const firstQuantile = len(statNames) - len(statQuantiles)

// Histogram defines a histogram: NAME.count and NAME.sum, counters, and
// NAME.stats with the instances min, max, mean, stddev, p50, p90, p95, p99
// and p99.9. Units are those of the observed value.
func (r *Registry) Histogram(def Metric) *Histogram {
	stats, count, sum := histogramDefs(def)
	h := &Histogram{count: r.Counter(count), sum: (*Counter)(r.single(sum, TypeU64))}
	v := r.GaugeVec(stats)
	h.init(r, func(stat string) *Gauge { return v.With(stat) })
	return h
}

func histogramDefs(def Metric) (stats, count, sum Metric) {
	stats, count, sum = def, def, def
	stats.Sem = pcp.SemInstant
	stats.Name += ".stats"
	stats.Item, stats.InDom, count.InDom, sum.InDom = 0, nil, nil, nil
	if def.Item != 0 && def.Item != ItemZero {
		stats.Item, count.Item, sum.Item = def.Item, def.Item+1, def.Item+2
	}
	count.Name += ".count"
	count.Units = pcp.Units{DimCount: 1}
	count.Sem, sum.Sem = pcp.SemCounter, pcp.SemCounter
	sum.Name += ".sum"
	return stats, count, sum
}

// HistogramVec defines a histogram for each instance of a domain: NAME.count
// and NAME.sum over the domain itself, NAME.stats with instances such as
// "GET /::p99".
func (r *Registry) HistogramVec(def Metric) *HistogramVec {
	stats, count, sum := histogramDefs(def)
	v := &HistogramVec{r: r, stats: r.GaugeVec(stats)}
	count.InDom, sum.InDom = def.InDom, def.InDom
	if def.InDom == nil {
		d := r.InDom(InDomDef{})
		count.InDom, sum.InDom = d, d
	}
	v.count = r.CounterVec(count)
	v.sum = newVec[Counter](r, sum, TypeU64)
	v.names.init(0)
	return v
}

// A HistogramVec is a histogram for each instance of a domain.
type HistogramVec struct {
	r          *Registry
	stats      *GaugeVec
	count, sum *CounterVec
	nowhere    *Histogram // takes values without room

	mu    sync.Mutex // to add to
	names index
	hists list[Histogram] // in the order of names
}

// With returns the histogram of the instance name, which it adds if it is new.
func (v *HistogramVec) With(name string) *Histogram {
	if v == nil {
		return nil
	}
	if _, i, ok := v.names.get(name); ok {
		return v.hists.at(i)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	hash, i, ok := v.names.get(name)
	if ok {
		return v.hists.at(i)
	}
	count, sum := v.count.With(name), v.sum.With(name)
	if (*slot)(count) == v.count.nowhere {
		if v.nowhere == nil {
			v.nowhere = &Histogram{count: count, sum: sum}
			v.nowhere.init(v.r, func(string) *Gauge { return v.stats.handle(v.stats.nowhere) })
		}
		return v.nowhere
	}
	h := v.hists.add(8)
	h.count, h.sum = count, sum
	h.init(v.r, func(stat string) *Gauge { return v.stats.With(name + "::" + stat) })
	v.names.add(hash, strings.Clone(name))
	return h
}

func (h *Histogram) init(r *Registry, stat func(string) *Gauge) {
	for i, name := range statNames {
		h.stats[i] = stat(name)
	}
	h.min.Store(math.MaxInt64)
	h.max.Store(-1)
	h.past = h.sum.Value()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.derived = append(r.derived, h)
	r.startRefreshing()
}

const (
	subBits = 6 // 64 buckets for each power of two
	subSize = 1 << subBits
	octaves = 63 - subBits + 1
)

// bucketOf returns the bucket of v and its octave: values below 128 have one
// bucket each; above that each power of two has 64 buckets.
func bucketOf(v int64) (octave, sub int) {
	if v < 2*subSize {
		return int(v >> subBits), int(v & (subSize - 1))
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return shift + 1, int(v>>shift) & (subSize - 1)
}

// bucketMiddle returns the value that represents those of a bucket.
func bucketMiddle(octave, sub int) float64 {
	if octave < 2 {
		return float64(octave<<subBits + sub)
	}
	shift := octave - 1
	low := int64(subSize+sub) << shift
	return float64(low) + float64(int64(1)<<shift-1)/2
}

// Observe counts v; a negative v counts as 0.
func (h *Histogram) Observe(v int64) {
	if h == nil {
		return
	}
	v = max(v, 0)
	o, sub := bucketOf(v)
	buckets := h.octaves[o].Load()
	if buckets == nil {
		buckets = h.addOctave(o)
	}
	if v < h.min.Load() {
		lower(&h.min, v)
	}
	if v > h.max.Load() {
		raise(&h.max, v)
	}
	// An atomic addition delays the loads after it: so all loads are before it.
	bucket, sum, count := &buckets[sub], &h.sum.rec[0], &h.count.rec[0]
	bucket.Add(1)
	atomic.AddUint64(sum, uint64(v))
	atomic.AddUint64(count, 1)
}

func (h *Histogram) addOctave(o int) *octave {
	h.octaves[o].CompareAndSwap(nil, new(octave))
	return h.octaves[o].Load()
}

func lower(p *atomic.Int64, v int64) {
	for old := p.Load(); v < old && !p.CompareAndSwap(old, v); old = p.Load() {
	}
}

func raise(p *atomic.Int64, v int64) {
	for old := p.Load(); v > old && !p.CompareAndSwap(old, v); old = p.Load() {
	}
}

// ObserveDuration counts d in nanoseconds: the definition should have these units.
func (h *Histogram) ObserveDuration(d time.Duration) { h.Observe(int64(d)) }

// refresh computes the statistics, if there are new observations.
func (h *Histogram) refresh() {
	h.mu.Lock()
	defer h.mu.Unlock()
	// All statistics are computed from one copy of the counts; later observations
	// count the next time.
	var counts [octaves]*[subSize]uint64
	var n uint64
	for o := range h.octaves {
		buckets := h.octaves[o].Load()
		if buckets == nil {
			continue
		}
		c := new([subSize]uint64)
		counts[o] = c
		for i := range buckets {
			c[i] = buckets[i].Load()
			n += c[i]
		}
	}
	if n == h.seen {
		return
	}
	h.seen = n
	lo, hi := float64(h.min.Load()), float64(h.max.Load())
	middle := func(o, sub int) float64 { return min(max(bucketMiddle(o, sub), lo), hi) }
	mean := min(max(float64(h.sum.Value()-h.past)/float64(n), lo), hi)
	squares := 0.0
	for o, c := range counts {
		if c == nil {
			continue
		}
		for sub, k := range c {
			off := middle(o, sub) - mean
			squares += float64(k) * off * off
		}
	}
	h.stats[0].Set(lo)
	h.stats[1].Set(hi)
	h.stats[2].Set(mean)
	h.stats[3].Set(math.Sqrt(squares / float64(n)))

	i, before := firstQuantile, uint64(0)
	for o, c := range counts {
		if c == nil {
			continue
		}
		for sub, k := range c {
			before += k
			for ; i < len(statNames) && float64(before) >= math.Ceil(statQuantiles[i-firstQuantile]*float64(n)) && k > 0; i++ {
				h.stats[i].Set(middle(o, sub))
			}
		}
	}
}
