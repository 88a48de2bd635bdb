package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// Defaults of a MemoryConfig.
const (
	DefaultKeep          = 24 * time.Hour
	DefaultMemorySeries  = 20_000
	DefaultMemorySamples = 1_000_000 // 16 MB
)

// A MemoryConfig configures a Memory. Zero fields mean the defaults.
type MemoryConfig struct {
	Keep       time.Duration // age of the oldest samples
	MaxSeries  int           // more are an error
	MaxSamples int           // the oldest samples are dropped beyond this number
}

// A Memory has the newest samples of series that programs compute, such as those of recording rules. It is safe for concurrent use.
type Memory struct {
	cfg MemoryConfig

	mu     sync.RWMutex
	byName map[string][]*column
	byHash map[uint64][]*column
	series int
	n      int   // samples
	newest int64 // time of the newest sample
	oldest int64 // samples before it are dropped
}

var _ storage.Queryable = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory(cfg MemoryConfig) *Memory {
	if cfg.Keep <= 0 {
		cfg.Keep = DefaultKeep
	}
	if cfg.MaxSeries <= 0 {
		cfg.MaxSeries = DefaultMemorySeries
	}
	if cfg.MaxSamples <= 0 {
		cfg.MaxSamples = DefaultMemorySamples
	}
	return &Memory{cfg: cfg, byName: map[string][]*column{}, byHash: map[uint64][]*column{}}
}

// Append adds a sample, at a time in milliseconds, to the series with the given labels. A sample that is not newer than the last one of its
// series is an error. [Stale] ends a series.
func (m *Memory) Append(l labels.Labels, t int64, v float64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.find(l)
	if c == nil {
		if m.series >= m.cfg.MaxSeries {
			return fmt.Errorf("there are %d series in memory, and no more are allowed", m.series)
		}
		c = &column{labels: l}
		name, hash := l.Get(names.NameLabel), l.Hash()
		m.byName[name] = append(m.byName[name], c)
		m.byHash[hash] = append(m.byHash[hash], c)
		m.series++
	}
	if n := len(c.samples); n > 0 {
		switch last := c.samples[n-1].t; {
		case t < last:
			return storage.ErrOutOfOrderSample
		case t == last:
			return storage.ErrDuplicateSampleForTimestamp
		}
	}
	c.samples = append(c.samples, sample{t, v})
	m.n++
	if m.newest = max(m.newest, t); m.n == 1 {
		m.oldest = t
	}
	keep := m.cfg.Keep.Milliseconds()
	switch {
	case m.n > m.cfg.MaxSamples:
		m.drop(m.oldest + (m.newest-m.oldest)/4 + 1)
	case m.newest-m.oldest > keep+keep/8:
		m.drop(m.newest - keep)
	}
	return nil
}

// find returns the series with the given labels, nil if there is none.
func (m *Memory) find(l labels.Labels) *column {
	for _, c := range m.byHash[l.Hash()] {
		if labels.Equal(c.labels, l) {
			return c
		}
	}
	return nil
}

// Stale returns the value that ends a series.
func Stale() float64 { return staleNaN() }

// drop drops the samples before a time, and series without samples.
func (m *Memory) drop(before int64) {
	m.oldest = before
	m.n, m.series = 0, 0
	clear(m.byHash)
	for name, list := range m.byName {
		list = slices.DeleteFunc(list, func(c *column) bool {
			k := 0
			for k < len(c.samples) && c.samples[k].t < before {
				k++
			}
			if k > 0 {
				c.samples = slices.Clone(c.samples[k:])
			}
			m.n += len(c.samples)
			if len(c.samples) > 0 {
				hash := c.labels.Hash()
				m.byHash[hash] = append(m.byHash[hash], c)
			}
			return len(c.samples) == 0
		})
		if len(list) == 0 {
			delete(m.byName, name)
			continue
		}
		m.byName[name] = list
		m.series += len(list)
	}
}

// Querier implements [storage.Queryable].
func (m *Memory) Querier(mint, maxt int64) (storage.Querier, error) {
	return &memoryQuerier{m, mint, maxt}, nil
}

type memoryQuerier struct {
	m          *Memory
	mint, maxt int64
}

// Close implements [storage.Querier].
func (q *memoryQuerier) Close() error { return nil }

// each calls f with the series that matchers match.
func (q *memoryQuerier) each(matchers []*labels.Matcher, f func(*column)) {
	q.m.mu.RLock()
	defer q.m.mu.RUnlock()
	match, rest := nameMatcher(matchers)
	for name, list := range q.m.byName {
		if !match(name) {
			continue
		}
		for _, c := range list {
			if matches(c.labels, rest, "") {
				f(c)
			}
		}
	}
}

// Select implements [storage.Querier].
func (q *memoryQuerier) Select(_ context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	start, end := q.mint, q.maxt
	if hints != nil {
		start, end = hints.Start, hints.End
	}
	b := newBuilder(DefaultMaxSamples, start, end)
	var err error
	q.each(matchers, func(c *column) {
		to := b.series(c.labels)
		for _, s := range c.samples {
			if err == nil {
				err = b.add(to, s.t, s.v)
			}
		}
	})
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	return b.set(sorted, false)
}

// LabelValues implements [storage.LabelQuerier].
func (q *memoryQuerier) LabelValues(_ context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	q.each(matchers, func(c *column) {
		if v := c.labels.Get(name); v != "" {
			set[v] = struct{}{}
		}
	})
	return limited(set, hints), nil, nil
}

// LabelNames implements [storage.LabelQuerier].
func (q *memoryQuerier) LabelNames(_ context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	q.each(matchers, func(c *column) {
		c.labels.Range(func(l labels.Label) { set[l.Name] = struct{}{} })
	})
	return limited(set, hints), nil, nil
}

// Joined returns the series of several sources as one. It fails if one of them fails.
func Joined(list ...storage.Queryable) storage.Queryable {
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		var all []storage.Querier
		for _, of := range list {
			q, err := of.Querier(mint, maxt)
			if err != nil {
				return nil, err
			}
			all = append(all, q)
		}
		return storage.NewMergeQuerier(all, nil, storage.ChainedSeriesMerge), nil
	})
}
