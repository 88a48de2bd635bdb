package store

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// onlyLabels is the function of hints that want no samples.
const onlyLabels = "series"

// errTooMany is the engine's error for too many samples.
const errTooMany promql.ErrTooManySamples = "query execution"

// Select implements [storage.Querier].
func (q *querier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	start, end := q.mint, q.maxt
	if hints != nil {
		start, end = hints.Start, hints.End
	}
	b := newBuilder(q.s.cfg.MaxSamples, start, end)
	var err error
	if hints != nil && hints.Func == onlyLabels {
		err = q.all(ctx, matchers, start, end, func(l labels.Labels) error {
			b.series(l)
			return b.count(1)
		})
	} else {
		ctx = series.WithResolution(ctx, q.s.resolution(hints))
		err = q.load(ctx, b, matchers)
		if err == nil {
			err = q.loadHistograms(ctx, b, matchers)
		}
	}
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	return b.set(sortSeries, hints != nil && hints.Func == onlyLabels)
}

// smooth reports whether the result of a function of ranges hardly depends on the number of samples: roll-ups serve it as well.
func smooth(function string) bool {
	switch function {
	case "rate", "increase", "delta", "deriv", "avg_over_time", "last_over_time", "predict_linear":
		return true
	}
	return false
}

// resolution returns how far apart the samples for a selector may be, 0 if all are needed.
func (s *Store) resolution(hints *storage.SelectHints) time.Duration {
	if hints == nil {
		return 0
	}
	const ms = int64(time.Millisecond)
	if hints.Range == 0 {
		return min(time.Duration(hints.Step*ms), s.cfg.Lookback/2)
	}
	if !smooth(hints.Func) {
		return 0
	}
	d := time.Duration(hints.Range * ms / 4)
	if hints.Step > 0 {
		d = min(d, time.Duration(hints.Step*ms))
	}
	return d
}

// load reads the samples of all series that matchers match.
func (q *querier) load(ctx context.Context, b *builder, matchers []*labels.Matcher) error {
	list, err := q.metrics(ctx, matchers)
	if err != nil || len(list) == 0 {
		return err
	}
	_, rest := nameMatcher(matchers)
	ids := make([]sid.ID, 0, len(list))
	readers := make(map[sid.ID]*reader, len(list))
	for _, m := range list {
		if readers[m.ID] == nil {
			ids = append(ids, m.ID)
			readers[m.ID] = &reader{b: b, m: m, matchers: rest, byInst: map[instKey]*track{}}
		}
	}
	from, to := window(b.start, b.end)
	for sample, err := range q.s.src.Sweep(ctx, ids, from, to) {
		if err != nil {
			return err
		}
		r := readers[sample.Series]
		if sample.Block != nil {
			err = r.block(sample.Block)
		} else {
			err = r.sample(sample)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// window returns the first and the last time for Sweep of samples that are between two times in milliseconds. The zero
// end means no limit.
func window(start, end int64) (from, to pcp.Timestamp) {
	if start > 0 {
		from = pcp.Timestamp{Sec: start / 1000, Nsec: int32(start%1000) * 1e6}
	}
	switch {
	case end < 0:
		to = pcp.Timestamp{Nsec: 1} // before all samples
	case end/1000 < maxSeconds:
		to = pcp.Timestamp{Sec: end / 1000, Nsec: int32(end%1000)*1e6 + 999_999}
	}
	return from, to
}

// maxSeconds is later than all times in archives.
const maxSeconds = 1 << 40

// An instKey is an instance with its number, which is a label.
type instKey struct {
	id   sid.ID
	inst int32
}

// A track is the end of a series while it is read.
type track struct {
	*column       // nil if the series does not match
	group   int   // number of the last sample with this instance
	last    int64 // its time
	step    int64 // time between the last two
	stale   bool
}

// A reader makes series of the samples of one metric.
type reader struct {
	b        *builder
	m        *metric
	matchers []*labels.Matcher
	byInst   map[instKey]*track
	byID     map[sid.ID]*instance
	tracks   []*track
	n        int // number of the current sample
	scratch  labels.ScratchBuilder
}

// sample adds a sample.
func (r *reader) sample(s *series.Sample) error {
	t := s.Time.Sec*1000 + int64(s.Time.Nsec)/1e6
	r.n++
	if s.Gap || s.Err != 0 || len(s.Values) == 0 {
		for _, tr := range r.tracks {
			if err := r.end(tr, t); err != nil {
				return err
			}
		}
		return nil
	}
	known, before, here := false, 0, 0 // the last sample with any of the instances; how many are here
	for i := range s.Values {
		v := &s.Values[i]
		tr, ok := r.byInst[instKey{v.Instance, v.Value.Inst}]
		if !ok {
			tr = r.begin(v.Instance, v.Value.Inst)
		}
		if tr.group != r.n {
			here++
		}
		if tr.group > 0 && !tr.stale {
			known, before = true, max(before, tr.group)
			tr.step = t - tr.last
		}
		tr.group, tr.last, tr.stale = r.n, t, false
		if tr.column == nil {
			continue
		}
		if err := r.b.add(tr.column, t, v.Value.As(r.m.Desc.Type).Double()); err != nil {
			return err
		}
	}
	if here == len(r.tracks) {
		return nil
	}
	for _, tr := range r.tracks {
		if tr.stale || tr.group == r.n {
			continue
		}
		if gone(tr, known, before, t) {
			if err := r.end(tr, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// gone reports whether a series without a value at time t has ended. Different instances of a metric may be recorded at different
// intervals. An instance is gone if others of the same earlier record, with number before, are there without it, or if all instances
// are other ones and it is late.
func gone(tr *track, known bool, before int, t int64) bool {
	return known && tr.group == before || !known && tr.step > 0 && (t-tr.last)*20 >= tr.step*19
}

// end adds a stale marker.
func (r *reader) end(tr *track, t int64) error {
	if tr.stale {
		return nil
	}
	tr.stale = true
	if tr.column == nil {
		return nil
	}
	return r.b.add(tr.column, t, staleNaN())
}

func staleNaN() float64 { return math.Float64frombits(value.StaleNaN) }

// begin returns the track of a new instance. Those that do not match have one too: whether another instance is gone depends on them.
func (r *reader) begin(id sid.ID, inst int32) *track {
	var in *instance
	if r.m.Desc.InDom != pcp.InDomNull {
		if r.byID == nil {
			r.byID = make(map[sid.ID]*instance, len(r.m.insts))
			for i := range r.m.insts {
				r.byID[r.m.insts[i].ID] = &r.m.insts[i]
			}
		}
		in = r.byID[id]
	}
	tr := &track{}
	if in != nil || r.m.Desc.InDom == pcp.InDomNull {
		if l := r.m.labels(&r.scratch, in, inst); matches(l, r.matchers, "") {
			tr.column = r.b.series(l)
		}
	}
	r.tracks = append(r.tracks, tr)
	r.byInst[instKey{id, inst}] = tr
	return tr
}

// A builder collects series and their samples.
type builder struct {
	start, end int64
	max, n     int
	byHash     map[uint64][]*column
	list       []*column
	nanos, ms  []int64 // times of the last block
}

func newBuilder(most int, start, end int64) *builder {
	return &builder{start: start, end: end, max: most, byHash: map[uint64][]*column{}}
}

// count counts samples, and returns an error if there are too many.
func (b *builder) count(n int) error {
	if b.n += n; b.n > b.max {
		return errTooMany
	}
	return nil
}

// series returns the series with the given labels. Archives of a host with different labels elsewhere may have the same series.
func (b *builder) series(l labels.Labels) *column {
	h := l.Hash()
	for _, c := range b.byHash[h] {
		if labels.Equal(c.labels, l) {
			return c
		}
	}
	c := &column{labels: l}
	b.byHash[h] = append(b.byHash[h], c)
	b.list = append(b.list, c)
	return c
}

// add adds a sample to a series. Of two samples of the same millisecond the last one counts.
func (b *builder) add(c *column, t int64, v float64) error {
	if t < b.start || t > b.end {
		return nil
	}
	if last, ok := c.last(); ok && t <= last {
		if err := c.decode(); err != nil {
			return err
		}
		if t == last {
			c.samples[len(c.samples)-1].v = v
			return nil
		}
		c.mixed = true
	}
	c.samples = append(c.samples, sample{t, v})
	return b.count(1)
}

// set returns the series that have samples, or all of them.
func (b *builder) set(sorted, all bool) storage.SeriesSet {
	list := make([]storage.Series, 0, len(b.list))
	for _, c := range b.list {
		if len(c.samples)+len(c.lazy) == 0 && !all {
			continue
		}
		if err := c.order(); err != nil {
			return storage.ErrSeriesSet(err)
		}
		list = append(list, c)
	}
	if sorted {
		slices.SortFunc(list, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	}
	return &seriesSet{list: list}
}
