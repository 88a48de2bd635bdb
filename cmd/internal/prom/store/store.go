package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// DefaultMaxSamples is the maximum number of samples that one query may load. Prometheus has a default of 50 million; a sample
// of ours takes 16 bytes of memory, so this is 320 MB.
const DefaultMaxSamples = 20_000_000

// A Config configures a Store.
type Config struct {
	// MaxSamples is the maximum number of samples that a selector of a query may load; 0 means DefaultMaxSamples.
	MaxSamples int

	// Lookback is the look-back time of the engine; 0 means DefaultLookback.
	Lookback time.Duration
}

// A Store is the series of archives for the engine of Prometheus. It is safe for concurrent use.
type Store struct {
	src series.Store
	cfg Config
}

var _ storage.Queryable = (*Store)(nil)

// New returns a Store for the given series, which the caller closes.
func New(src series.Store, cfg Config) *Store {
	if cfg.MaxSamples <= 0 {
		cfg.MaxSamples = DefaultMaxSamples
	}
	if cfg.Lookback <= 0 {
		cfg.Lookback = DefaultLookback
	}
	return &Store{src: src, cfg: cfg}
}

// Querier implements [storage.Queryable].
func (s *Store) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{s: s, mint: mint, maxt: maxt}, nil
}

// A querier answers the selectors of one query.
type querier struct {
	s          *Store
	mint, maxt int64
	domains    map[domainKey][]instance
}

// Close implements [storage.Querier].
func (q *querier) Close() error { return nil }

// A domainKey is an instance domain of a source.
type domainKey struct {
	source sid.ID
	indom  pcp.InDom
}

// An instance is an instance of a domain, with its own labels.
type instance struct {
	series.Instance
	own []pcp.Label
}

// A metric is a metric of a source that a selector may match.
type metric struct {
	series.Metric
	prom  string       // its name in Prometheus
	above []names.Pair // labels of the metric
	insts []instance   // of its domain
}

// labels returns the labels of the series of an instance; in is nil for a metric without instances.
func (m *metric) labels(b *labels.ScratchBuilder, in *instance, inst int32) labels.Labels {
	list := slices.Clone(m.above)
	if in != nil {
		for _, l := range in.own {
			list = names.Set(list, names.Label(l.Name), l.Value)
		}
		list = names.Instance(list, inst, in.Name)
	}
	return build(b, m.prom, list)
}

// build returns the labels of a series of the metric with a name. Prometheus has no labels with an empty value.
func build(b *labels.ScratchBuilder, name string, list []names.Pair) labels.Labels {
	b.Reset()
	b.Add(names.NameLabel, name)
	for _, l := range list {
		if text := l.Text(); text != "" && l.Name != names.NameLabel {
			b.Add(l.Name, text)
		}
	}
	b.Sort()
	return b.Labels()
}

// nameMatcher returns a function that reports whether matchers accept the name of a metric, and the other matchers.
func nameMatcher(matchers []*labels.Matcher) (match func(string) bool, rest []*labels.Matcher) {
	var of []*labels.Matcher
	for _, m := range matchers {
		if m.Name == names.NameLabel {
			of = append(of, m)
		} else {
			rest = append(rest, m)
		}
	}
	return func(name string) bool {
		for _, m := range of {
			if !m.Matches(name) {
				return false
			}
		}
		return true
	}, rest
}

// matches reports whether labels match, if those of the label named but are ignored.
func matches(l labels.Labels, matchers []*labels.Matcher, but string) bool {
	for _, m := range matchers {
		if m.Name != but && !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// metrics returns the metrics that may have series that matchers match, sorted by name. Of two metrics of a source with the same
// name in Prometheus, as a.b and a_b, the first has it, as in /metrics.
func (q *querier) metrics(ctx context.Context, matchers []*labels.Matcher) ([]*metric, error) {
	match, rest := nameMatcher(matchers)
	ids, err := q.s.src.Select(ctx, series.Matcher{
		Field: series.MetricName,
		// A comparison may take milliseconds.
		Match: func(name string) bool { return ctx.Err() == nil && match(names.Metric(name)) },
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	var all []*metric
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := q.s.src.Metric(ctx, id)
		if err == series.ErrUnknown || err == nil && !names.Numeric(&m.Desc) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &metric{Metric: m, prom: names.Metric(m.Name)})
	}
	slices.SortStableFunc(all, func(a, b *metric) int { return strings.Compare(a.Name, b.Name) })
	type key struct {
		prom   string
		source sid.ID
	}
	taken := map[key]string{}
	list := all[:0]
	for _, m := range all {
		k := key{m.prom, m.Source}
		if name, ok := taken[k]; ok && name != m.Name {
			continue
		}
		taken[k] = m.Name
		ok, err := q.describe(ctx, m, rest)
		if err == series.ErrUnknown {
			continue
		}
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, m)
		}
	}
	return list, nil
}

// describe adds labels and instances, and reports whether matchers may match a series of the metric.
func (q *querier) describe(ctx context.Context, m *metric, matchers []*labels.Matcher) (bool, error) {
	above, err := q.s.src.Labels(ctx, m.ID)
	if err != nil {
		return false, err
	}
	for _, l := range above {
		m.above = names.Set(m.above, names.Label(l.Name), l.Value)
	}
	var b labels.ScratchBuilder
	if m.Desc.InDom == pcp.InDomNull {
		return matches(m.labels(&b, nil, pcp.InNull), matchers, ""), nil
	}
	if m.insts, err = q.instances(ctx, m); err != nil {
		return false, err
	}
	if len(matchers) == 0 {
		return true, nil
	}
	// The number of an instance may have been another one at other times.
	return slices.ContainsFunc(m.insts, func(in instance) bool {
		return ctx.Err() != nil || matches(m.labels(&b, &in, in.Inst), matchers, names.InstanceNumber)
	}), ctx.Err()
}

// instances returns all instances that the domain of a metric has ever had.
func (q *querier) instances(ctx context.Context, m *metric) ([]instance, error) {
	key := domainKey{m.Source, m.Desc.InDom}
	if list, ok := q.domains[key]; ok {
		return list, nil
	}
	all, err := q.s.src.Instances(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	list := make([]instance, 0, len(all))
	for _, in := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		set, err := q.s.src.Labels(ctx, in.ID)
		if err != nil && err != series.ErrUnknown {
			return nil, err
		}
		set = slices.DeleteFunc(set, func(l pcp.Label) bool { return l.Flags.Level() != pcp.LabelInstances })
		list = append(list, instance{in, set})
	}
	if q.domains == nil {
		q.domains = map[domainKey][]instance{}
	}
	q.domains[key] = list
	return list, nil
}

// within leaves of metrics those that existed between two times in milliseconds, with the instances that existed then.
func (q *querier) within(ctx context.Context, list []*metric, start, end int64) ([]*metric, error) {
	from, to := window(start, end)
	if from.IsZero() && to.IsZero() {
		return list, nil
	}
	ids := make([]sid.ID, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	found, err := q.s.src.Within(ctx, ids, from, to, true)
	if err != nil {
		return nil, err
	}
	there := make(map[sid.ID]*series.Presence, len(found))
	for i := range found {
		there[found[i].Series] = &found[i]
	}
	domains := map[domainKey][]instance{}
	kept := list[:0]
	for _, m := range list {
		p := there[m.ID]
		if p == nil {
			continue
		}
		if m.Desc.InDom != pcp.InDomNull {
			key := domainKey{m.Source, m.Desc.InDom}
			insts, ok := domains[key]
			if !ok {
				own := make(map[sid.ID][]pcp.Label, len(m.insts))
				for _, in := range m.insts {
					own[in.ID] = in.own
				}
				for _, in := range p.Instances {
					insts = append(insts, instance{in, own[in.ID]})
				}
				domains[key] = insts
			}
			m.insts = insts
		}
		kept = append(kept, m)
	}
	return kept, nil
}

// all calls f with the labels of each series that existed between two times in milliseconds and that matchers match.
func (q *querier) all(ctx context.Context, matchers []*labels.Matcher, start, end int64, f func(labels.Labels) error) error {
	if err := q.allInstances(ctx, matchers, start, end, f); err != nil {
		return err
	}
	return q.allHistograms(ctx, matchers, start, end, f)
}

// allInstances is all for the series of instances, and of metrics without instances.
func (q *querier) allInstances(ctx context.Context, matchers []*labels.Matcher, start, end int64, f func(labels.Labels) error) error {
	list, err := q.metrics(ctx, matchers)
	if err != nil {
		return err
	}
	if list, err = q.within(ctx, list, start, end); err != nil {
		return err
	}
	var b labels.ScratchBuilder
	for _, m := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if m.Desc.InDom == pcp.InDomNull {
			if err := f(m.labels(&b, nil, pcp.InNull)); err != nil {
				return err
			}
			continue
		}
		for i := range m.insts {
			if err := ctx.Err(); err != nil {
				return err
			}
			l := m.labels(&b, &m.insts[i], m.insts[i].Inst)
			if !matches(l, matchers, "") {
				continue
			}
			if err := f(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// unbounded reports whether the querier has no limits of time.
func (q *querier) unbounded() bool {
	from, to := window(q.mint, q.maxt)
	return from.IsZero() && to.IsZero()
}

// LabelValues implements [storage.LabelQuerier].
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	var err error
	switch {
	case name == names.NameLabel && len(matchers) == 0:
		err = q.metricNames(ctx, set)
	case name == names.InstanceName || name == names.InstanceNumber || name == names.Bound || len(matchers) > 0 || !q.unbounded():
		err = q.all(ctx, matchers, q.mint, q.maxt, func(l labels.Labels) error {
			if v := l.Get(name); v != "" {
				set[v] = struct{}{}
			}
			return nil
		})
	default:
		err = q.recordedValues(ctx, name, set)
	}
	return limited(set, hints), nil, err
}

// metricNames adds the names of all metrics that existed between the querier's times.
func (q *querier) metricNames(ctx context.Context, set map[string]struct{}) error {
	list, err := q.s.src.Select(ctx, series.Matcher{Field: series.MetricName, Match: func(string) bool { return true }})
	if err != nil {
		return err
	}
	if !q.unbounded() {
		from, to := window(q.mint, q.maxt)
		found, err := q.s.src.Within(ctx, list, from, to, false)
		if err != nil {
			return err
		}
		list = list[:0]
		for i := range found {
			list = append(list, found[i].Series)
		}
	}
	for _, id := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := q.s.src.Metric(ctx, id)
		if err == nil && names.Numeric(&m.Desc) {
			set[names.Metric(m.Name)] = struct{}{}
		}
	}
	return q.allHistograms(ctx, nil, q.mint, q.maxt, func(l labels.Labels) error {
		set[l.Get(names.NameLabel)] = struct{}{}
		return nil
	})
}

// recordedValues adds the values of a label that PCP has too.
func (q *querier) recordedValues(ctx context.Context, name string, set map[string]struct{}) error {
	list, err := q.s.src.Strings(ctx, series.LabelName, "")
	if err != nil {
		return err
	}
	for _, l := range list {
		if names.Label(l) != name {
			continue
		}
		values, err := q.s.src.Strings(ctx, series.LabelValue, l)
		if err != nil {
			return err
		}
		for _, v := range values {
			if text := (names.Pair{Value: v}).Text(); text != "" {
				set[text] = struct{}{}
			}
		}
	}
	return nil
}

// LabelNames implements [storage.LabelQuerier].
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	if len(matchers) > 0 || !q.unbounded() {
		err := q.all(ctx, matchers, q.mint, q.maxt, func(l labels.Labels) error {
			l.Range(func(l labels.Label) { set[l.Name] = struct{}{} })
			return nil
		})
		return limited(set, hints), nil, err
	}
	list, err := q.s.src.Strings(ctx, series.LabelName, "")
	if err != nil {
		return nil, nil, err
	}
	for _, l := range list {
		set[names.Label(l)] = struct{}{}
	}
	if insts, err := q.s.src.Strings(ctx, series.InstanceName, ""); err != nil {
		return nil, nil, err
	} else if len(insts) > 0 {
		set[names.InstanceName], set[names.InstanceNumber] = struct{}{}, struct{}{}
	}
	if list, err := q.s.src.Strings(ctx, series.MetricName, ""); err != nil {
		return nil, nil, err
	} else if len(list) > 0 {
		set[names.NameLabel] = struct{}{}
	}
	if list, err := q.histograms(ctx, func(string) bool { return true }); err != nil {
		return nil, nil, err
	} else if len(list) > 0 {
		set[names.Bound] = struct{}{}
	}
	return limited(set, hints), nil, nil
}

// limited returns the sorted strings of a set, at most as many as hints allow.
func limited(set map[string]struct{}, hints *storage.LabelHints) []string {
	list := slices.Sorted(maps.Keys(set))
	if hints != nil && hints.Limit > 0 && len(list) > hints.Limit {
		list = list[:hints.Limit]
	}
	return list
}

// A Metadata describes a metric.
type Metadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// Metadata returns the descriptions of metrics by their names in Prometheus: of the one with a name, or of all if name is "". Hosts may
// have different ones. There are no help texts.
func (s *Store) Metadata(ctx context.Context, name string) (map[string][]Metadata, error) {
	ids, err := s.src.Select(ctx, series.Matcher{
		Field: series.MetricName,
		Match: func(n string) bool { return name == "" || names.Metric(n) == name },
	})
	if err != nil {
		return nil, err
	}
	all := map[string][]Metadata{}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := s.src.Metric(ctx, id)
		if err == series.ErrUnknown || err == nil && !names.Numeric(&m.Desc) {
			continue
		}
		if err != nil {
			return nil, err
		}
		prom := names.Metric(m.Name)
		one := Metadata{Type: names.Type(&m.Desc), Unit: names.Unit(m.Desc.Units)}
		if !slices.Contains(all[prom], one) {
			all[prom] = append(all[prom], one)
		}
	}
	q := &querier{s: s}
	list, err := q.histograms(ctx, func(n string) bool { return name == "" || n == name })
	if err != nil {
		return nil, err
	}
	for _, h := range list {
		h.describes(all, name, Metadata{Type: names.Type(&h.Desc), Unit: names.Unit(h.Desc.Units)})
	}
	return all, nil
}
