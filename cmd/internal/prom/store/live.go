package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/pmapi"
)

const (
	// grace is how long ago the end of a query may be for current values to belong to it.
	grace = 5 * time.Second
	// knownFor is the time for which the metadata of a collector is kept without a check.
	knownFor = time.Minute
	// ahead is the number of metrics whose labels are requested at once.
	ahead = 1000
)

// A LiveConfig configures a Live.
type LiveConfig struct {
	// Open connects to the collector.
	Open func(ctx context.Context) (*pmapi.Context, error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// A Live has the current values of a collector for queries that include the present. It is safe for concurrent use; one query after
// the other is answered, with one fetch for all its selectors.
type Live struct {
	cfg  LiveConfig
	turn chan struct{} // holds a token while c and known are in use
	c    *pmapi.Context
	known
}

var _ storage.Queryable = (*Live)(nil)

// known is metadata of a collector.
type known struct {
	since   time.Time
	leaves  []string
	proms   map[string]bool        // their names in Prometheus
	metrics map[string]*liveMetric // by PCP's name; nil elements are not numeric or not there
	labels  map[level][]pcp.LabelSet
	res     pcp.Result
}

type liveMetric struct {
	name  string
	prom  string
	desc  pcp.Desc
	sets  []pcp.LabelSet
	ready bool // sets are there
}

// A level is what labels belong to.
type level struct {
	kind  pcp.LabelFlags
	ident uint32
}

// NewLive returns a Live.
func NewLive(cfg LiveConfig) *Live {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Live{cfg: cfg, turn: make(chan struct{}, 1)}
}

// Close closes the connection.
func (l *Live) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.drop()
	return nil
}

func (l *Live) drop() {
	if l.c != nil {
		l.c.Close()
	}
	l.c, l.known = nil, known{}
}

// Querier implements [storage.Queryable].
func (l *Live) Querier(mint, maxt int64) (storage.Querier, error) {
	if l.cfg.Now().UnixMilli()-maxt > grace.Milliseconds() {
		return storage.NoopQuerier(), nil
	}
	return &liveQuerier{l: l, mint: mint, maxt: maxt}, nil
}

// with calls f with a connection, a second time if an old one was broken.
func (l *Live) with(ctx context.Context, f func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	for {
		old := l.c != nil
		if !old {
			c, err := l.cfg.Open(ctx)
			if err != nil {
				return err
			}
			l.c = c
		}
		if now := l.cfg.Now(); now.Sub(l.since) > knownFor || now.Before(l.since) {
			l.known = known{since: now, metrics: map[string]*liveMetric{}, labels: map[level][]pcp.LabelSet{}}
		}
		err := f()
		if lost(err) || err != nil && ctx.Err() != nil {
			l.drop()
		}
		if !old || !errors.Is(err, pcp.ErrIPC) || ctx.Err() != nil {
			return err
		}
	}
}

// lost reports whether a connection cannot be used after an error.
func lost(err error) bool {
	return errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) || errors.Is(err, pcp.ErrNoContext)
}

// find returns the numeric metrics whose names in Prometheus match, the first of each name.
func (l *Live) find(ctx context.Context, match func(string) bool) ([]*liveMetric, error) {
	if l.leaves == nil {
		var leaves []string
		for name, err := range l.c.Traverse(ctx, "") {
			if err != nil {
				if lost(err) || len(leaves) == 0 {
					return nil, err
				}
				break
			}
			leaves = append(leaves, name)
		}
		slices.Sort(leaves)
		l.leaves, l.proms = leaves, make(map[string]bool, len(leaves))
		for _, name := range leaves {
			l.proms[names.Metric(name)] = true
		}
	}
	var wanted, missing []string
	taken := map[string]bool{}
	for _, name := range l.leaves {
		if prom := names.Metric(name); match(prom) && !taken[prom] {
			taken[prom] = true
			wanted = append(wanted, name)
			if _, ok := l.metrics[name]; !ok {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		ids, err := l.c.LookupName(ctx, missing...)
		if lost(err) {
			return nil, err
		}
		descs, err := l.c.LookupDescs(ctx, ids...)
		if lost(err) || err != nil && len(descs) != len(missing) {
			return nil, err
		}
		for i, name := range missing {
			if l.metrics[name] = nil; ids[i] != pcp.PMIDNull && descs[i].PMID == ids[i] && names.Numeric(&descs[i]) {
				l.metrics[name] = &liveMetric{name: name, prom: names.Metric(name), desc: descs[i]}
			}
		}
	}
	var list []*liveMetric
	for _, name := range wanted {
		if m := l.metrics[name]; m != nil {
			list = append(list, m)
		}
	}
	return list, l.describe(ctx, list)
}

// describe requests the labels of metrics.
func (l *Live) describe(ctx context.Context, list []*liveMetric) error {
	list = slices.DeleteFunc(slices.Clone(list), func(m *liveMetric) bool { return m.ready })
	for part := range slices.Chunk(list, ahead) {
		if len(part) > 1 {
			var descs []pcp.Desc
			for _, m := range part {
				descs = append(descs, m.desc)
			}
			if err := l.c.AheadLabels(ctx, descs); lost(err) {
				return err
			}
		}
		for _, m := range part {
			id := m.desc.PMID
			m.sets = nil
			for _, lv := range []level{
				{pcp.LabelContext, 0},
				{pcp.LabelDomain, uint32(id.Domain())},
				{pcp.LabelInDom, uint32(m.desc.InDom)},
				{pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))},
				{pcp.LabelItem, uint32(id)},
			} {
				if lv.kind == pcp.LabelInDom && m.desc.InDom == pcp.InDomNull {
					continue
				}
				sets, err := l.labelsOf(ctx, lv)
				if err != nil {
					return err
				}
				m.sets = append(m.sets, sets...)
			}
			m.ready = true
		}
		l.c.Rest()
	}
	return nil
}

// labelsOf returns the labels of one level. The error is the connection's.
func (l *Live) labelsOf(ctx context.Context, lv level) ([]pcp.LabelSet, error) {
	if sets, ok := l.labels[lv]; ok {
		return sets, nil
	}
	sets, err := l.c.Labels(ctx, lv.kind, lv.ident)
	if lost(err) || ctx.Err() != nil {
		return nil, err
	}
	sets = intrinsic(sets)
	if lv.kind == pcp.LabelContext && len(sets) == 0 {
		name, err := l.c.HostName(ctx)
		if err != nil {
			return nil, err
		}
		if set, err := pcp.StringLabels(lv.kind, "hostname", name); err == nil {
			sets = []pcp.LabelSet{set}
		}
	}
	if lv.kind != pcp.LabelItem {
		l.labels[lv] = sets
	}
	return sets, nil
}

// intrinsic returns the sets without optional labels, and without sets that are then empty. Archives do not have optional labels, and the series of
// a collector are to be the same: a client that the collector knows has its user as such a label, for example.
func intrinsic(sets []pcp.LabelSet) []pcp.LabelSet {
	var list []pcp.LabelSet
	for _, s := range sets {
		if s.Err != 0 {
			continue
		}
		if slices.ContainsFunc(s.Index, func(l pcp.LabelIndex) bool { return l.Flags&pcp.LabelOptional != 0 }) {
			inst := s.Inst
			kept, err := pcp.MergeLabels([]pcp.LabelSet{s}, func(l pcp.Label) bool { return l.Flags&pcp.LabelOptional == 0 })
			if err != nil {
				continue
			}
			s = kept
			s.Inst = inst
		}
		if len(s.Index) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// A liveDomain has the instances of a domain.
type liveDomain struct {
	names map[int32]string
	own   map[int32]*pcp.LabelSet
	hist  *names.Histogram // nil if instances are not buckets
}

// domain requests the instances of a domain.
func (l *Live) domain(ctx context.Context, indom pcp.InDom) (*liveDomain, error) {
	d := &liveDomain{names: map[int32]string{}, own: map[int32]*pcp.LabelSet{}}
	list, err := l.c.GetInDom(ctx, indom)
	if lost(err) {
		return nil, err
	}
	for _, in := range list {
		d.names[in.Inst] = in.Name
	}
	d.hist = names.NewHistogram(maps.Values(d.names))
	sets, err := l.c.Labels(ctx, pcp.LabelInstances, uint32(indom))
	if lost(err) {
		return nil, err
	}
	sets = intrinsic(sets)
	for i := range sets {
		d.own[sets[i].Inst] = &sets[i]
	}
	return d, nil
}

// A wish is a selector whose current series are wanted.
type wish struct {
	match func(string) bool // of the name
	rest  []*labels.Matcher
	f     func(lset labels.Labels, t int64, v float64) error
}

// newWish returns a wish: f is called with the labels of each series that matchers match, its time and its value.
func newWish(matchers []*labels.Matcher, f func(lset labels.Labels, t int64, v float64) error) wish {
	match, rest := nameMatcher(matchers)
	return wish{match, rest, f}
}

// each grants wishes with one fetch for all of them.
func (l *Live) each(ctx context.Context, wishes ...wish) error {
	return l.with(ctx, func() error {
		list, err := l.find(ctx, func(name string) bool {
			return ctx.Err() == nil && slices.ContainsFunc(wishes, func(w wish) bool { return w.match(name) || matchesHistogram(w.match, name) })
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || len(list) == 0 {
			return err
		}
		ids := make([]pcp.PMID, len(list))
		for i, m := range list {
			ids[i] = m.desc.PMID
		}
		changes, err := l.c.FetchInto(ctx, ids, &l.res)
		if err != nil {
			return err
		}
		if changes != 0 {
			l.since = time.Time{} // the next call asks for all of it
		}
		t := l.res.Time.Sec*1000 + int64(l.res.Time.Nsec)/1e6
		domains := map[pcp.InDom]*liveDomain{}
		var mine []wish
		for i, m := range list {
			if i >= len(l.res.Sets) {
				break
			}
			vs := &l.res.Sets[i]
			vs.As(m.desc.Type)
			var d *liveDomain
			if m.desc.InDom != pcp.InDomNull && len(vs.Values) > 0 {
				if d = domains[m.desc.InDom]; d == nil {
					if d, err = l.domain(ctx, m.desc.InDom); err != nil {
						return err
					}
					domains[m.desc.InDom] = d
				}
			}
			mine = mine[:0]
			for _, w := range wishes {
				if w.match(m.prom) {
					mine = append(mine, w)
				}
			}
			if err := m.grant(mine, vs.Values, d, t); err != nil {
				return err
			}
			if d == nil || !l.bucketed(m, d) {
				continue
			}
			for _, w := range wishes {
				if err := m.grantHistogram(w, vs.Values, d, t); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// grant calls the functions of wishes with the series of a metric; d is nil for a metric without instances.
func (m *liveMetric) grant(wishes []wish, values []pcp.Value, d *liveDomain, t int64) error {
	var b labels.ScratchBuilder
	for _, v := range values {
		inst, name := pcp.InNull, ""
		var own *pcp.LabelSet
		if d != nil {
			if inst, name, own = v.Inst, d.names[v.Inst], d.own[v.Inst]; name == "" {
				continue // gone since
			}
		}
		lset := build(&b, m.prom, names.Merge(m.sets, own, inst, name, names.Label))
		for _, w := range wishes {
			if !matches(lset, w.rest, "") {
				continue
			}
			if err := w.f(lset, t, v.Double()); err != nil {
				return err
			}
		}
		if d == nil {
			break
		}
	}
	return nil
}

// bucketed reports whether a metric is also a histogram. A metric that has the name of one of its series comes before it.
func (l *Live) bucketed(m *liveMetric, d *liveDomain) bool {
	return d.hist != nil && !l.proms[m.prom+names.BucketSuffix] && !l.proms[m.prom+names.CountSuffix]
}

// grantHistogram calls the function of a wish with the series of a histogram.
func (m *liveMetric) grantHistogram(w wish, values []pcp.Value, d *liveDomain, t int64) error {
	buckets, count := w.match(m.prom+names.BucketSuffix), w.match(m.prom+names.CountSuffix)
	if !buckets && !count {
		return nil
	}
	counts := d.hist.Start(nil)
	for _, v := range values {
		d.hist.Add(counts, d.names[v.Inst], v.Double())
	}
	d.hist.Cumulate(counts)
	above := names.Merge(m.sets, nil, pcp.InNull, "", names.Label)
	return eachBucket(m.prom, d.hist, above, buckets, count, func(lset labels.Labels, bucket int) error {
		if !matches(lset, w.rest, "") {
			return nil
		}
		return w.f(lset, t, counts[bucket])
	})
}

// A liveQuerier answers a query with current values.
type liveQuerier struct {
	l          *Live
	mint, maxt int64
	mu         sync.Mutex
	waiting    []*liveSet
}

// Close implements [storage.Querier].
func (q *liveQuerier) Close() error { return nil }

// Select implements [storage.Querier]. The end of the query is the time of values that are fetched after it. The first use of any result fetches
// the values for all selectors: the engine announces those of a query before it uses their series.
func (q *liveQuerier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	start, end := q.mint, q.maxt
	if hints != nil {
		start, end = hints.Start, hints.End
	}
	if q.l.cfg.Now().UnixMilli()-end > grace.Milliseconds() {
		return storage.NoopSeriesSet() // of the past, by an offset
	}
	s := &liveSet{SeriesSet: storage.EmptySeriesSet(), q: q, ctx: ctx, sorted: sortSeries, b: newBuilder(DefaultMaxSamples, start, end)}
	s.wish = newWish(matchers, func(l labels.Labels, t int64, v float64) error {
		return s.b.add(s.b.series(l), min(t, end), v)
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, s)
	return s
}

// A liveSet is the series of a selector, which are fetched when they are needed.
type liveSet struct {
	storage.SeriesSet
	q      *liveQuerier
	ctx    context.Context
	sorted bool
	b      *builder
	wish   wish
}

// Next implements [storage.SeriesSet].
func (s *liveSet) Next() bool {
	s.q.load(s.ctx)
	return s.SeriesSet.Next()
}

// load fetches the series of all sets that wait.
func (q *liveQuerier) load(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return
	}
	list := q.waiting
	q.waiting = nil
	wishes := make([]wish, len(list))
	for i, s := range list {
		wishes[i] = s.wish
	}
	err := q.l.each(ctx, wishes...)
	for _, s := range list {
		if err != nil {
			s.SeriesSet = storage.ErrSeriesSet(err)
		} else {
			s.SeriesSet = s.b.set(s.sorted, false)
		}
		s.b, s.wish = nil, wish{}
	}
}

// LabelValues implements [storage.LabelQuerier].
func (q *liveQuerier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	if name == names.NameLabel && len(matchers) == 0 {
		err := q.l.with(ctx, func() error {
			list, err := q.l.find(ctx, func(string) bool { return true })
			for _, m := range list {
				set[m.prom] = struct{}{}
			}
			if err != nil {
				return err
			}
			return q.l.histograms(ctx, list, func(m *liveMetric) {
				set[m.prom+names.BucketSuffix], set[m.prom+names.CountSuffix] = struct{}{}, struct{}{}
			})
		})
		return limited(set, hints), nil, err
	}
	err := q.l.each(ctx, newWish(matchers, func(l labels.Labels, _ int64, _ float64) error {
		if v := l.Get(name); v != "" {
			set[v] = struct{}{}
		}
		return nil
	}))
	return limited(set, hints), nil, err
}

// LabelNames implements [storage.LabelQuerier].
func (q *liveQuerier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	err := q.l.each(ctx, newWish(matchers, func(l labels.Labels, _ int64, _ float64) error {
		l.Range(func(l labels.Label) { set[l.Name] = struct{}{} })
		return nil
	}))
	return limited(set, hints), nil, err
}

// Both returns the series of archives and of a collector as one. Errors of the collector are warnings.
func Both(archives storage.Queryable, live *Live) storage.Queryable {
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		a, err := archives.Querier(mint, maxt)
		if err != nil {
			return nil, err
		}
		b, err := live.Querier(mint, maxt)
		if err != nil {
			return nil, err
		}
		return storage.NewMergeQuerier([]storage.Querier{a}, []storage.Querier{b}, storage.ChainedSeriesMerge), nil
	})
}

// histograms calls f with the metrics in a list that are also histograms.
func (l *Live) histograms(ctx context.Context, list []*liveMetric, f func(m *liveMetric)) error {
	domains := map[pcp.InDom]*liveDomain{}
	for _, m := range list {
		if m.desc.InDom == pcp.InDomNull {
			continue
		}
		d := domains[m.desc.InDom]
		if d == nil {
			var err error
			if d, err = l.domain(ctx, m.desc.InDom); err != nil {
				return err
			}
			domains[m.desc.InDom] = d
		}
		if l.bucketed(m, d) {
			f(m)
		}
	}
	return nil
}

// Metadata returns the descriptions of metrics by their names in Prometheus: of the one with a name, or of all if name is "".
func (l *Live) Metadata(ctx context.Context, name string) (map[string][]Metadata, error) {
	all := map[string][]Metadata{}
	err := l.with(ctx, func() error {
		wanted := func(prom string) bool { return name == "" || prom == name }
		list, err := l.find(ctx, func(prom string) bool { return wanted(prom) || matchesHistogram(wanted, prom) })
		if err != nil {
			return err
		}
		for part := range slices.Chunk(list, ahead) {
			if len(part) > 1 {
				var descs []pcp.Desc
				for _, m := range part {
					descs = append(descs, m.desc)
				}
				if err := l.c.Ahead(ctx, descs); lost(err) {
					return err
				}
			}
			for _, m := range part {
				text, err := l.c.LookupText(ctx, m.desc.PMID, pcp.TextOneLine)
				if lost(err) {
					return err
				}
				all[m.prom] = []Metadata{{names.Type(&m.desc), names.Help(text), names.Unit(m.desc.Units)}}
			}
			l.c.Rest()
		}
		if err := l.histograms(ctx, list, func(m *liveMetric) {
			all[m.prom+names.BucketSuffix], all[m.prom+names.CountSuffix] = all[m.prom], all[m.prom]
		}); err != nil {
			return err
		}
		maps.DeleteFunc(all, func(prom string, _ []Metadata) bool { return !wanted(prom) })
		return nil
	})
	return all, err
}
