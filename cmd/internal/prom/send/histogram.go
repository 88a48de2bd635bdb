package send

import (
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// A buckets has the series of the histogram whose buckets are the instances of a metric.
type buckets struct {
	*names.Histogram
	series []*series // for each of Bounds, then the count; nil elements are not sent
	counts []float64
	epoch  int // of the labels
}

// histogram prepares the histogram of a metric for the values of a set, or ends the one before.
func (r *reader) histogram(m *metric, sets func() []pcp.LabelSet, at int64) {
	var h *names.Histogram
	if m.in != nil && len(m.list) > 0 && m.histogram != nil {
		h = names.NewHistogram(func(yield func(string) bool) {
			for _, one := range r.instances(m.in) {
				if !yield(one.Name) {
					return
				}
			}
		})
	}
	old := m.buckets
	if h != nil && old != nil && old.epoch == r.epoch && slices.Equal(old.Bounds, h.Bounds) {
		old.Histogram = h
		return
	}
	m.buckets = nil
	if old != nil {
		old.kill()
	}
	if h != nil {
		b := &buckets{Histogram: h, epoch: r.epoch}
		above := names.Merge(sets(), nil, pcp.InNull, "", names.Label)
		for _, le := range h.Bounds {
			b.series = append(b.series, r.series(m.histogram[0], names.Set(slices.Clone(above), names.Bound, names.Quote(le))))
		}
		b.series = append(b.series, r.series(m.histogram[1], above))
		m.buckets = b
	}
	if old != nil {
		r.replaceBuckets(old, at)
	}
}

// kill marks the end of the series of a histogram. A new one with the same labels revives them.
func (b *buckets) kill() {
	for _, s := range b.series {
		if s != nil {
			s.dead = true
		}
	}
}

// replaceBuckets ends the series of a histogram that another one has not revived.
func (r *reader) replaceBuckets(old *buckets, at int64) {
	for _, s := range old.series {
		if s != nil && s.dead {
			r.endSeries(s, at)
		}
	}
}

// endHistogram ends the histogram of a metric.
func (r *reader) endHistogram(m *metric, at int64) {
	if old := m.buckets; old != nil {
		m.buckets = nil
		old.kill()
		r.replaceBuckets(old, at)
	}
}

// putHistogram adds the samples of a histogram whose buckets have their values.
func (r *reader) putHistogram(b *buckets, at int64) {
	b.Cumulate(b.counts)
	for i, s := range b.series {
		if s != nil {
			r.put(s, at, remote.Number(b.counts[min(i, len(b.counts)-1)]))
		}
	}
}

// histogramFamilies returns the families of buckets and count of a metric with instances, nil if the archive has a metric with one of these names.
func (r *reader) histogramFamilies(f *remote.Family) *[2]*remote.Family {
	if r.all == nil {
		r.all = make(map[string]bool)
		for name := range r.meta.NamesInOrder() {
			r.all[names.Metric(name)] = true
		}
	}
	if r.all[f.Name+names.BucketSuffix] || r.all[f.Name+names.CountSuffix] {
		return nil
	}
	bucket, count := *f, *f
	bucket.Name += names.BucketSuffix
	count.Name += names.CountSuffix
	return &[2]*remote.Family{r.shared.family(bucket), r.shared.family(count)}
}
