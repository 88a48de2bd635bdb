package bridge

import (
	"iter"
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// A Native is a foreign histogram with many buckets, whose bounds are powers: two
// counters, and quantiles of the observations since the program began.
type Native struct {
	count, sum, quantile *Metric
	labels               []Label
}

// nativeQuantiles are the instances of the quantiles.
func nativeQuantiles() [4]struct {
	of   float64
	text string
} {
	return [...]struct {
		of   float64
		text string
	}{{.5, "0.5"}, {.9, "0.9"}, {.99, "0.99"}, {.999, "0.999"}}
}

// Native returns the native histogram with the given key. Its metrics have the
// name with sep and then count, sum, and quantile appended.
func (s *Sink) Native(key any, sep string, def func() Def) *Native {
	if h, ok := s.metrics[key].(*Native); ok {
		return h
	}
	d := def()
	name := s.take(d.Name, sep+"count", sep+"sum", sep+"quantile")
	units := d.Units
	h := &Native{}
	d.Sem, d.Type = pcp.SemCounter, mmv.TypeDouble
	h.sum = s.define(name+sep+"sum", d)
	d.Type, d.Units = mmv.TypeU64, Count()
	h.count = s.define(name+sep+"count", d)
	d.Sem, d.Type, d.Units, d.Single = pcp.SemInstant, mmv.TypeDouble, units, false
	h.quantile = s.define(name+sep+"quantile", d)
	s.metrics[key] = h
	return h
}

// Set sets the number of observations, their sum, and their distribution: a value
// that represents each bucket, in rising order, and the number in it. Values are
// multiplied by factor.
func (h *Native) Set(n uint64, sum, factor float64, buckets iter.Seq2[float64, uint64], labels ...Label) {
	h.count.SetUint(n, labels...)
	h.sum.Set(sum*factor, labels...)
	h.labels = append(append(h.labels[:0], labels...), Label{Name: "quantile"})
	text := &h.labels[len(h.labels)-1].Value
	want := nativeQuantiles()
	i, before := 0, uint64(0)
	set := func(v float64) {
		*text = want[i].text
		h.quantile.Set(v, h.labels...)
		i++
	}
	for v, k := range buckets {
		before += k
		for i < len(want) && k > 0 && float64(before) >= math.Ceil(want[i].of*float64(n)) {
			set(v * factor)
		}
	}
	for i < len(want) { // no observations, or NaN
		set(math.NaN())
	}
}
