package store

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// matchesHistogram reports whether match accepts one of the names of the series of a histogram that is made of a metric.
func matchesHistogram(match func(string) bool, prom string) bool {
	return match(prom+names.BucketSuffix) || match(prom+names.CountSuffix)
}

// A bucketed is a metric whose instances are the buckets of a histogram.
type bucketed struct {
	*metric
	*names.Histogram
	byID           map[sid.ID]string // names of instances
	buckets, count bool              // series whose names match
}

// histogramOf returns the histogram of a metric's domain, nil if its instances are not buckets.
func (q *querier) histogramOf(ctx context.Context, m *metric) (*names.Histogram, map[sid.ID]string, error) {
	all, err := q.s.src.Instances(ctx, m.ID)
	if err != nil {
		return nil, nil, err
	}
	h := names.NewHistogram(func(yield func(string) bool) {
		for i := range all {
			if !yield(all[i].Name) {
				return
			}
		}
	})
	if h == nil {
		return nil, nil, nil
	}
	byID := make(map[sid.ID]string, len(all))
	for i := range all {
		byID[all[i].ID] = all[i].Name
	}
	return h, byID, nil
}

// histograms returns the histograms of whose series some may match, sorted by name. A metric that has the name of such a series
// comes before it.
func (q *querier) histograms(ctx context.Context, match func(string) bool) ([]*bucketed, error) {
	ids, err := q.s.src.Select(ctx, series.Matcher{
		Field: series.MetricName,
		Match: func(name string) bool { return matchesHistogram(match, names.Metric(name)) },
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	type known struct {
		*names.Histogram
		byID map[sid.ID]string
	}
	domains := map[domainKey]known{}
	var list []*bucketed
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := q.s.src.Metric(ctx, id)
		if err == series.ErrUnknown || err == nil && (!names.Numeric(&m.Desc) || m.Desc.InDom == pcp.InDomNull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		one := &metric{Metric: m, prom: names.Metric(m.Name)}
		key := domainKey{m.Source, m.Desc.InDom}
		d, ok := domains[key]
		if !ok {
			if d.Histogram, d.byID, err = q.histogramOf(ctx, one); err != nil && err != series.ErrUnknown {
				return nil, err
			}
			domains[key] = d
		}
		if d.Histogram == nil {
			continue
		}
		if _, err := q.describe(ctx, one, nil); err != nil {
			if err == series.ErrUnknown {
				continue
			}
			return nil, err
		}
		list = append(list, &bucketed{
			metric: one, Histogram: d.Histogram, byID: d.byID,
			buckets: match(one.prom + names.BucketSuffix), count: match(one.prom + names.CountSuffix),
		})
	}
	slices.SortStableFunc(list, func(a, b *bucketed) int { return strings.Compare(a.Name, b.Name) })
	return q.untaken(ctx, list)
}

// untaken leaves of histograms those whose series have names that no metric has, and of those with the same name the first.
func (q *querier) untaken(ctx context.Context, list []*bucketed) ([]*bucketed, error) {
	if len(list) == 0 {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, h := range list {
		wanted[h.prom+names.BucketSuffix], wanted[h.prom+names.CountSuffix] = true, true
	}
	ids, err := q.s.src.Select(ctx, series.Matcher{
		Field: series.MetricName,
		Match: func(name string) bool { return wanted[names.Metric(name)] },
	})
	if err != nil {
		return nil, err
	}
	type key struct {
		prom   string
		source sid.ID
	}
	taken := map[key]bool{}
	for _, id := range ids {
		m, err := q.s.src.Metric(ctx, id)
		if err == nil && names.Numeric(&m.Desc) {
			taken[key{names.Metric(m.Name), m.Source}] = true
		}
	}
	first := map[key]string{}
	return slices.DeleteFunc(list, func(h *bucketed) bool {
		k := key{h.prom, h.Source}
		if name, ok := first[k]; ok && name != h.Name {
			return true
		}
		first[k] = h.Name
		return taken[key{h.prom + names.BucketSuffix, h.Source}] || taken[key{h.prom + names.CountSuffix, h.Source}]
	}), nil
}

// series calls f with the labels of the series that match, and the numbers of their buckets; the count is that of the last one.
func (h *bucketed) series(matchers []*labels.Matcher, f func(l labels.Labels, bucket int) error) error {
	return eachBucket(h.prom, h.Histogram, h.above, h.buckets, h.count, func(l labels.Labels, bucket int) error {
		if !matches(l, matchers, "") {
			return nil
		}
		return f(l, bucket)
	})
}

// eachBucket calls f with the labels of the series of a histogram, and the numbers of their buckets.
func eachBucket(prom string, h *names.Histogram, above []names.Pair, buckets, count bool, f func(l labels.Labels, bucket int) error) error {
	var b labels.ScratchBuilder
	if buckets {
		for i, le := range h.Bounds {
			list := names.Set(slices.Clone(above), names.Bound, names.Quote(le))
			if err := f(build(&b, prom+names.BucketSuffix, list), i); err != nil {
				return err
			}
		}
	}
	if count {
		return f(build(&b, prom+names.CountSuffix, above), len(h.Bounds)-1)
	}
	return nil
}

// allHistograms is all for the series of histograms.
func (q *querier) allHistograms(ctx context.Context, matchers []*labels.Matcher, start, end int64, f func(labels.Labels) error) error {
	match, rest := nameMatcher(matchers)
	list, err := q.histograms(ctx, match)
	if err != nil || len(list) == 0 {
		return err
	}
	metrics := make([]*metric, len(list))
	for i, h := range list {
		metrics[i] = h.metric
	}
	if metrics, err = q.within(ctx, metrics, start, end); err != nil {
		return err
	}
	for _, h := range list {
		if !slices.Contains(metrics, h.metric) || len(h.insts) == 0 {
			continue
		}
		if err := h.series(rest, func(l labels.Labels, _ int) error { return f(l) }); err != nil {
			return err
		}
	}
	return nil
}

// loadHistograms reads the samples of all series of histograms that matchers match.
func (q *querier) loadHistograms(ctx context.Context, b *builder, matchers []*labels.Matcher) error {
	match, rest := nameMatcher(matchers)
	list, err := q.histograms(ctx, match)
	if err != nil || len(list) == 0 {
		return err
	}
	tallies := make(map[sid.ID]*tally, len(list))
	var ids []sid.ID
	for _, h := range list {
		t := &tally{b: b, h: h}
		if err := h.series(rest, func(l labels.Labels, bucket int) error {
			t.series = append(t.series, counted{b.series(l), bucket})
			return nil
		}); err != nil {
			return err
		}
		if len(t.series) > 0 && tallies[h.ID] == nil {
			tallies[h.ID] = t
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	from, to := window(b.start, b.end)
	for sample, err := range q.s.src.Sweep(ctx, ids, from, to) {
		if err != nil {
			return err
		}
		if err := eachSample(sample, tallies[sample.Series].sample); err != nil {
			return err
		}
	}
	return nil
}

// A tally makes the series of a histogram of the samples of its metric.
type tally struct {
	b      *builder
	h      *bucketed
	series []counted
	counts []float64
	ended  bool // by a stale marker, or not begun
	begun  bool
}

// A counted is a series with the number of its bucket.
type counted struct {
	*column
	bucket int
}

// sample adds a sample.
func (t *tally) sample(s *series.Sample) error {
	at := s.Time.Sec*1000 + int64(s.Time.Nsec)/1e6
	if s.Gap || s.Err != 0 || len(s.Values) == 0 {
		if t.ended || !t.begun {
			return nil
		}
		t.ended = true
		return t.put(at, func(int) float64 { return staleNaN() })
	}
	t.begun, t.ended = true, false
	t.counts = t.h.Start(t.counts)
	for i := range s.Values {
		v := &s.Values[i]
		t.h.Add(t.counts, t.h.byID[v.Instance], v.Value.As(t.h.Desc.Type).Double())
	}
	t.h.Cumulate(t.counts)
	return t.put(at, func(bucket int) float64 { return t.counts[bucket] })
}

func (t *tally) put(at int64, value func(bucket int) float64) error {
	for _, s := range t.series {
		if err := t.b.add(s.column, at, value(s.bucket)); err != nil {
			return err
		}
	}
	return nil
}

// describes adds the description of the series of a histogram, of the one with a name, or of all if name is "".
func (h *bucketed) describes(all map[string][]Metadata, name string, one Metadata) {
	for _, prom := range []string{h.prom + names.BucketSuffix, h.prom + names.CountSuffix} {
		if (name == "" || prom == name) && !slices.Contains(all[prom], one) {
			all[prom] = append(all[prom], one)
		}
	}
}
