package store

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A seriesSet is a list of series.
type seriesSet struct {
	list []storage.Series
	n    int
}

// Next implements [storage.SeriesSet].
func (s *seriesSet) Next() bool {
	s.n++
	return s.n <= len(s.list)
}

// At implements [storage.SeriesSet].
func (s *seriesSet) At() storage.Series { return s.list[s.n-1] }

// Err implements [storage.SeriesSet].
func (s *seriesSet) Err() error { return nil }

// Warnings implements [storage.SeriesSet].
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// A column is a series with its samples.
type column struct {
	labels  labels.Labels
	samples samples
	lazy    []lazy // before, among or after samples
	mixed   bool   // samples are not in the order of time
}

// Labels implements [storage.Series].
func (c *column) Labels() labels.Labels { return c.labels }

// Iterator implements [storage.Series].
func (c *column) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	if len(c.lazy) > 0 {
		r, ok := it.(*lazyIterator)
		if !ok {
			r = &lazyIterator{}
		}
		r.reset(c)
		return r
	}
	if r, ok := it.(interface{ Reset(storage.Samples) }); ok {
		r.Reset(c.samples)
		return it
	}
	return storage.NewListSeriesIterator(c.samples)
}

// order sorts the samples. Of two samples at the same time, the last one counts that is not a stale marker.
func (c *column) order() error {
	if !c.mixed {
		return nil
	}
	if err := c.decode(); err != nil {
		return err
	}
	slices.SortStableFunc(c.samples, func(a, b sample) int { return cmp.Compare(a.t, b.t) })
	list := c.samples[:0]
	for _, s := range c.samples {
		if n := len(list); n > 0 && list[n-1].t == s.t {
			if !value.IsStaleNaN(s.v) {
				list[n-1] = s
			}
			continue
		}
		list = append(list, s)
	}
	c.samples, c.mixed = list, false
	return nil
}

// samples are the samples of a series, for [storage.NewListSeriesIterator].
type samples []sample

// Len implements [storage.Samples].
func (s samples) Len() int { return len(s) }

// Get implements [storage.Samples].
func (s samples) Get(i int) chunks.Sample { return &s[i] }

// A sample is a value with its time in milliseconds.
type sample struct {
	t int64
	v float64
}

// T implements [chunks.Sample].
func (s *sample) T() int64 { return s.t }

// ST implements [chunks.Sample]. There are no start times.
func (s *sample) ST() int64 { return 0 }

// F implements [chunks.Sample].
func (s *sample) F() float64 { return s.v }

// H implements [chunks.Sample].
func (s *sample) H() *histogram.Histogram { return nil }

// FH implements [chunks.Sample].
func (s *sample) FH() *histogram.FloatHistogram { return nil }

// Type implements [chunks.Sample].
func (s *sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// Copy implements [chunks.Sample].
func (s *sample) Copy() chunks.Sample {
	c := *s
	return &c
}
