// Package seriestest provides an in-memory store of series, for tests of packages that use a store.
//
//	store := seriestest.New()
//	id := store.AddMetric("kernel.all.load", desc, `{"hostname":"h"}`, "/archives/h", "h")
//	one := store.AddInstance(id, 1, "1 minute", "")
//	store.Append(id, time, series.InstValue{Instance: one, Value: pcp.FloatValue(0.5)})
package seriestest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A Store is a [series.Store] in memory, to which a test adds series.
type Store struct {
	mu       sync.Mutex
	closed   bool
	metrics  map[sid.ID]*metric
	insts    map[sid.ID]*instance
	contexts map[sid.ID][]string // by source
	exprs    map[sid.ID]series.Expr
}

type metric struct {
	series.Metric
	context pcp.LabelSet
	labels  []pcp.Label
	insts   []sid.ID
	samples []series.Sample
}

type instance struct {
	series.Instance
	labels []pcp.Label
}

var _ series.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{
		metrics: map[sid.ID]*metric{}, insts: map[sid.ID]*instance{},
		contexts: map[sid.ID][]string{}, exprs: map[sid.ID]series.Expr{},
	}
}

// AddMetric adds a metric of a source and returns the identifier of its series. Labels are the JSON of the
// context's labels, which identify the source. Contexts are the names of the source. It panics if labels are
// invalid.
func (s *Store) AddMetric(name string, desc pcp.Desc, labels string, contexts ...string) sid.ID {
	set, err := pcp.ParseLabels(labels, pcp.LabelContext)
	if err != nil {
		panic(err)
	}
	text, err := sid.Labels(set)
	if err != nil {
		panic(err)
	}
	m := &metric{context: set, labels: slices.Collect(set.All())}
	m.Metric = series.Metric{ID: sid.Metric(name, text, desc), Name: name, Desc: desc, Source: sid.Source(text)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.metrics[m.ID] == nil {
		s.metrics[m.ID] = m
	}
	list := append(s.contexts[m.Source], contexts...)
	slices.Sort(list)
	s.contexts[m.Source] = slices.Compact(list)
	return m.ID
}

// AddInstance adds an instance to a series and returns its identifier. Labels are the JSON of the
// instance's own labels, or "". It panics if labels are invalid or the series does not exist.
func (s *Store) AddInstance(id sid.ID, inst int32, name, labels string) sid.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.metrics[id]
	if m == nil {
		panic("no such series: " + id.String())
	}
	sets := []pcp.LabelSet{m.context}
	if labels != "" {
		own, err := pcp.ParseLabels(labels, pcp.LabelInstances)
		if err != nil {
			panic(err)
		}
		sets = append(sets, own)
	}
	text, err := sid.Labels(sets...)
	if err != nil {
		panic(err)
	}
	all, err := pcp.MergeLabels(sets, nil)
	if err != nil {
		panic(err)
	}
	in := &instance{labels: slices.Collect(all.All())}
	in.Instance = series.Instance{ID: sid.Instance(name, text), Inst: inst, Name: name, Source: m.Source}
	s.insts[in.ID] = in
	if !slices.Contains(m.insts, in.ID) {
		m.insts = append(m.insts, in.ID)
	}
	return in.ID
}

// Append adds a sample to a series. It must be later than the existing ones.
func (s *Store) Append(id sid.ID, t pcp.Timestamp, values ...series.InstValue) {
	s.AppendSample(series.Sample{Series: id, Time: t, Values: values})
}

// AppendSample adds a sample, which may be an error.
func (s *Store) AppendSample(sample series.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.metrics[sample.Series]
	if m == nil {
		panic("no such series: " + sample.Series.String())
	}
	m.samples = append(m.samples, sample)
}

// strings calls f with the strings of a series' field.
func (s *Store) strings(m *metric, field series.Field, label string, f func(string)) {
	each := func(list []pcp.Label) {
		for _, l := range list {
			switch {
			case field == series.LabelName:
				f(l.Name)
			case field == series.LabelValue && l.Name == label:
				f(l.Value)
			}
		}
	}
	switch field {
	case series.MetricName:
		f(m.Name)
	case series.ContextName:
		for _, name := range s.contexts[m.Source] {
			f(name)
		}
	case series.InstanceName:
		for _, id := range m.insts {
			f(s.insts[id].Name)
		}
	default:
		each(m.labels)
		for _, id := range m.insts {
			each(s.insts[id].labels)
		}
	}
}

// Select implements [series.Store].
func (s *Store) Select(ctx context.Context, m series.Matcher) ([]sid.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	wants := map[string]bool{}
	var list []sid.ID
	for id, one := range s.metrics {
		found := false
		s.strings(one, m.Field, m.Label, func(text string) {
			want, asked := wants[text]
			if !asked {
				want = m.Wants(text)
				wants[text] = want
			}
			found = found || want
		})
		if found {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, sid.ID.Compare)
	return list, nil
}

// Strings implements [series.Store].
func (s *Store) Strings(ctx context.Context, field series.Field, label string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, one := range s.metrics {
		s.strings(one, field, label, func(text string) { all[text] = true })
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// Metric implements [series.Store].
func (s *Store) Metric(ctx context.Context, id sid.ID) (series.Metric, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return series.Metric{}, err
	}
	m := s.metrics[id]
	if m == nil {
		return series.Metric{}, series.ErrUnknown
	}
	return m.Metric, nil
}

// Instances implements [series.Store].
func (s *Store) Instances(ctx context.Context, id sid.ID) ([]series.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	m := s.metrics[id]
	if m == nil {
		return nil, series.ErrUnknown
	}
	var list []series.Instance
	for _, id := range m.insts {
		list = append(list, s.insts[id].Instance)
	}
	slices.SortFunc(list, func(a, b series.Instance) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Instance implements [series.Store].
func (s *Store) Instance(ctx context.Context, id sid.ID) (series.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return series.Instance{}, err
	}
	in := s.insts[id]
	if in == nil {
		return series.Instance{}, series.ErrUnknown
	}
	return in.Instance, nil
}

// Labels implements [series.Store].
func (s *Store) Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if m := s.metrics[id]; m != nil {
		return slices.Clone(m.labels), nil
	}
	if in := s.insts[id]; in != nil {
		return slices.Clone(in.labels), nil
	}
	return nil, series.ErrUnknown
}

// ContextNames implements [series.Store].
func (s *Store) ContextNames(ctx context.Context, source sid.ID) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	list, ok := s.contexts[source]
	if !ok {
		return nil, series.ErrUnknown
	}
	return slices.Clone(list), nil
}

// Sources implements [series.Store].
func (s *Store) Sources(ctx context.Context) ([]sid.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(s.contexts), sid.ID.Compare), nil
}

// Values implements [series.Store].
func (s *Store) Values(ctx context.Context, ids []sid.ID, w series.Window) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		s.mu.Lock()
		err := s.usable(ctx)
		var all []series.Sample
		for _, id := range ids {
			if m := s.metrics[id]; m != nil {
				all = append(all, choose(slices.DeleteFunc(slices.Clone(m.samples), func(s series.Sample) bool { return s.Gap }), w)...)
			}
		}
		s.mu.Unlock()
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

// Sweep implements [series.Store].
func (s *Store) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		s.mu.Lock()
		err := s.usable(ctx)
		var all []series.Sample
		for _, id := range ids {
			if m := s.metrics[id]; m != nil {
				all = append(all, choose(m.samples, series.Window{Start: start, End: end})...)
			}
		}
		s.mu.Unlock()
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

// Within implements [series.Store]. A series exists between its first and its last sample, and an instance from its first value on until
// the next sample without it.
func (s *Store) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]series.Presence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var list []series.Presence
	for _, id := range ids {
		m := s.metrics[id]
		if m == nil || len(m.samples) == 0 {
			continue
		}
		first, last := m.samples[0].Time, m.samples[len(m.samples)-1].Time
		if last.Compare(start) < 0 || !end.IsZero() && first.Compare(end) > 0 {
			continue
		}
		p := series.Presence{Series: id}
		if insts && m.Desc.InDom != pcp.InDomNull {
			p.Instances = s.existing(m, start, end)
		}
		list = append(list, p)
	}
	return list, nil
}

// existing returns the instances that have existed between two times.
func (s *Store) existing(m *metric, start, end pcp.Timestamp) []series.Instance {
	there := map[sid.ID]bool{}
	for i := range m.samples {
		sample := &m.samples[i]
		if !end.IsZero() && sample.Time.Compare(end) > 0 {
			break
		}
		if sample.Gap || sample.Err != 0 {
			continue
		}
		if sample.Time.Compare(start) <= 0 {
			clear(there)
		}
		for _, v := range sample.Values {
			there[v.Instance] = true
		}
	}
	list := []series.Instance{}
	for _, id := range m.insts {
		if there[id] {
			list = append(list, s.insts[id].Instance)
		}
	}
	slices.SortFunc(list, func(a, b series.Instance) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name))
	})
	return list
}

// choose returns the samples that a window selects.
func choose(all []series.Sample, w series.Window) []series.Sample {
	if w.Newest {
		list := slices.Clone(all[max(0, len(all)-w.Count):])
		slices.Reverse(list)
		return list
	}
	var list []series.Sample
	var before *series.Sample
	t := series.NewThinner(w)
	for i := range all {
		sample := &all[i]
		if !w.Start.IsZero() && sample.Time.Compare(w.Start) < 0 || !w.End.IsZero() && sample.Time.Compare(w.End) > 0 {
			continue
		}
		if t.Next(sample.Time) {
			list = append(list, *before)
		}
		before = sample
	}
	if t.Last() {
		list = append(list, *before)
	}
	return list
}

// PutExpr implements [series.Store].
func (s *Store) PutExpr(ctx context.Context, id sid.ID, e series.Expr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.exprs[id] = e
	return nil
}

// Expr implements [series.Store].
func (s *Store) Expr(ctx context.Context, id sid.ID) (series.Expr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return series.Expr{}, err
	}
	e, ok := s.exprs[id]
	if !ok {
		return series.Expr{}, series.ErrUnknown
	}
	return e, nil
}

// GC implements [series.Store]. It has nothing to do.
func (s *Store) GC(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable(ctx)
}

// Stats implements [series.Store].
func (s *Store) Stats() series.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return series.Stats{Sources: len(s.contexts), Series: len(s.metrics)}
}

// Close implements [series.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return series.ErrClosed
	}
	return ctx.Err()
}
