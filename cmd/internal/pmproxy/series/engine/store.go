package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

const (
	maxCached = 200_000         // descriptions and instances in memory, each
	maxIndex  = 500_000         // instances of which one is found by its identifier alone
	absentAge = 5 * time.Second // for which an identifier is known to be unknown
	indexAge  = time.Minute     // of the index for that
	maxExprs  = 10_000          // expressions in memory
	maxQuery  = 6 << 10         // bytes of alternatives in a selector; VictoriaMetrics accepts 16 KiB
	future    = 24 * time.Hour  // how far the clocks of hosts may be ahead
)

// A Store has the series of an engine. It implements [series.Store].
type Store struct {
	c     *Client
	blind *noExport

	mu      sync.Mutex
	closed  bool
	metrics map[sid.ID]*metric
	insts   map[sid.ID]*instance
	absent  map[sid.ID]time.Time // series that the engine did not have
	exprs   map[sid.ID]series.Expr
	order   []sid.ID // of exprs, the oldest first

	finding sync.Mutex // held while the index is made
	index   map[sid.ID][2]string
	indexed time.Time
}

var _ series.Store = (*Store)(nil)

// New returns a Store, which closes the client.
func New(c *Client) *Store {
	return &Store{
		c: c, blind: &noExport{}, metrics: map[sid.ID]*metric{}, insts: map[sid.ID]*instance{}, absent: map[sid.ID]time.Time{}, exprs: map[sid.ID]series.Expr{},
	}
}

// Close implements [series.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.c.Close()
	return nil
}

// usable returns the error of a call that cannot be answered.
func (s *Store) usable(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return series.ErrClosed
	}
	return ctx.Err()
}

// get makes a request.
func (s *Store) get(ctx context.Context, path string, form url.Values, read func(io.Reader) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	err := s.c.get(ctx, path, form, read)
	if cerr := s.usable(ctx); err != nil && cerr != nil {
		return cerr
	}
	if err == errTooLarge {
		return fmt.Errorf("%w: %w", series.ErrTooMany, err)
	}
	return err
}

// always returns a form for all times.
func always(match ...string) url.Values {
	return url.Values{
		"match[]": match, "start": {"1"}, "end": {strconv.FormatInt(time.Now().Add(future).Unix(), 10)},
		"limit": {strconv.Itoa(maxFound + 1)},
	}
}

// described returns the selector of descriptions that matchers match.
func described(matchers ...string) string {
	return names.Series + "{" + strings.Join(matchers, ",") + "}"
}

// find returns the metrics whose descriptions match.
func (s *Store) find(ctx context.Context, matchers ...string) ([]*metric, error) {
	var found []map[string]string
	err := s.get(ctx, "series", always(described(matchers...)), func(r io.Reader) (err error) {
		found, err = decodeSeries(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	byID := map[sid.ID]*metric{}
	for _, of := range found {
		m := parseMetric(of)
		if m == nil {
			continue
		}
		// Labels may have changed: take the same description each time.
		if old := byID[m.ID]; old == nil || of[names.SeriesLabels] < jsonOf(old) {
			byID[m.ID] = m
		}
	}
	s.mu.Lock()
	for id, m := range byID {
		if len(s.metrics) >= maxCached {
			clear(s.metrics)
		}
		s.metrics[id] = m
	}
	s.mu.Unlock()
	list := slices.Collect(maps.Values(byID))
	slices.SortFunc(list, func(a, b *metric) int { return a.ID.Compare(b.ID) })
	return list, nil
}

// jsonOf returns the JSON of a metric's labels.
func jsonOf(m *metric) string {
	var b strings.Builder
	for i, l := range m.labels {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(strconv.Quote(l.Name) + ":" + l.Value)
	}
	return b.String() + "}"
}

// findAny returns the metrics of which a label of the description is one of the given strings.
func (s *Store) findAny(ctx context.Context, label string, values []string, more ...string) ([]*metric, error) {
	byID := map[sid.ID]*metric{}
	for part := range parts(values) {
		op, value := "=~", alternatives(part)
		if len(part) == 1 {
			op, value = "=", part[0]
		}
		list, err := s.find(ctx, append([]string{matcher(label, op, value)}, more...)...)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			byID[m.ID] = m
		}
		if len(byID) > maxFound {
			return nil, series.ErrTooMany
		}
	}
	return slices.Collect(maps.Values(byID)), nil
}

// parts divides strings so that the alternatives of each part are short enough for a selector.
func parts(values []string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for len(values) > 0 {
			n, size := 0, 0
			for n < len(values) && (n == 0 || size+2*len(values[n]) < maxQuery) {
				size += 2*len(values[n]) + 1
				n++
			}
			if !yield(values[:n]) {
				return
			}
			values = values[n:]
		}
	}
}

// values returns the values of a label in all series that a selector matches.
func (s *Store) values(ctx context.Context, label, selector string) ([]string, error) {
	var list []string
	err := s.get(ctx, "label/"+label+"/values", always(selector), func(r io.Reader) (err error) {
		list, err = decodeStrings(r)
		return err
	})
	return list, err
}

// metric returns a metric by its identifier.
func (s *Store) metric(ctx context.Context, id sid.ID) (*metric, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	m := s.metrics[id]
	absent := time.Since(s.absent[id]) < absentAge
	s.mu.Unlock()
	if m != nil {
		return m, nil
	}
	if absent {
		return nil, series.ErrUnknown
	}
	list, err := s.find(ctx, matcher(names.SeriesID, "=", id.String()))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		s.mu.Lock()
		if len(s.absent) >= maxCached {
			clear(s.absent)
		}
		s.absent[id] = time.Now()
		s.mu.Unlock()
		return nil, series.ErrUnknown
	}
	return list[0], nil
}

// Metric implements [series.Store].
func (s *Store) Metric(ctx context.Context, id sid.ID) (series.Metric, error) {
	m, err := s.metric(ctx, id)
	if err != nil {
		return series.Metric{}, err
	}
	return m.Metric, nil
}

// Instances implements [series.Store]. They are those that ever had a value of the metric.
func (s *Store) Instances(ctx context.Context, id sid.ID) ([]series.Instance, error) {
	m, err := s.metric(ctx, id)
	if err != nil || m.Desc.InDom == pcp.InDomNull {
		return nil, err
	}
	var found []map[string]string
	err = s.get(ctx, "series", always(m.selector()), func(r io.Reader) (err error) {
		found, err = decodeSeries(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.take(m, found), nil
}

// take returns the instances of a metric by the labels of series, and remembers them.
func (s *Store) take(m *metric, found []map[string]string) []series.Instance {
	list := []series.Instance{}
	for _, labels := range found {
		if !m.has(labels) {
			continue
		}
		in := m.instance(labels)
		s.remember(in)
		list = append(list, in.Instance)
	}
	slices.SortFunc(list, func(a, b series.Instance) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name))
	})
	// An instance with several numbers gets the first.
	seen := make(map[sid.ID]bool, len(list))
	return slices.DeleteFunc(list, func(in series.Instance) bool {
		again := seen[in.ID]
		seen[in.ID] = true
		return again
	})
}

// remember keeps an instance, so that it is found by its identifier.
func (s *Store) remember(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.insts[in.ID]; old != nil && (old.Inst < in.Inst || old.Inst == in.Inst && len(old.labels) >= len(in.labels)) {
		return // the first number, as in Instances
	}
	if len(s.insts) >= maxCached {
		clear(s.insts)
	}
	s.insts[in.ID] = in
}

// instance returns an instance by its identifier.
func (s *Store) instance(ctx context.Context, id sid.ID) (*instance, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	in := s.insts[id]
	s.mu.Unlock()
	if in != nil {
		return in, nil
	}
	of, err := s.lookup(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := s.find(ctx, matcher(names.SeriesWithin, "=", of[1]))
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		sel := strings.TrimSuffix(m.selector(), "}") + "," + matcher(names.InstanceName, "=", of[0]) + "}"
		var found []map[string]string
		err := s.get(ctx, "series", always(sel), func(r io.Reader) (err error) {
			found, err = decodeSeries(r)
			return err
		})
		if err != nil {
			return nil, err
		}
		s.take(m, found)
		s.mu.Lock()
		in := s.insts[id]
		s.mu.Unlock()
		if in != nil {
			return in, nil
		}
	}
	return nil, series.ErrUnknown
}

// lookup returns the name of an instance and the labels that identify it, from an index of all instances of the engine.
func (s *Store) lookup(ctx context.Context, id sid.ID) ([2]string, error) {
	s.finding.Lock()
	defer s.finding.Unlock()
	if of, ok := s.index[id]; ok {
		return of, nil
	}
	if time.Since(s.indexed) < indexAge {
		return [2]string{}, series.ErrUnknown
	}
	texts, err := s.values(ctx, names.SeriesWithin, described())
	if err != nil {
		return [2]string{}, err
	}
	insts, err := s.values(ctx, names.InstanceName, ofPCP)
	if err != nil {
		return [2]string{}, err
	}
	if len(texts)*len(insts) > maxIndex {
		return [2]string{}, fmt.Errorf("%w: an instance cannot be found by its identifier alone among %d names; request the instances of its series first", series.ErrTooMany, len(insts))
	}
	s.index = make(map[sid.ID][2]string, len(texts)*len(insts))
	for _, text := range texts {
		for _, name := range insts {
			s.index[sid.Instance(name, text)] = [2]string{name, text}
		}
	}
	s.indexed = time.Now()
	if of, ok := s.index[id]; ok {
		return of, nil
	}
	return [2]string{}, series.ErrUnknown
}

// Instance implements [series.Store].
func (s *Store) Instance(ctx context.Context, id sid.ID) (series.Instance, error) {
	in, err := s.instance(ctx, id)
	if err != nil {
		return series.Instance{}, err
	}
	return in.Instance, nil
}

// Labels implements [series.Store].
func (s *Store) Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	m, err := s.metric(ctx, id)
	if err == nil {
		return slices.Clone(m.labels), nil
	}
	if err != series.ErrUnknown {
		return nil, err
	}
	in, err := s.instance(ctx, id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(in.labels), nil
}

// sortLabels sorts labels by name. Of several with a name it leaves the first.
func sortLabels(list []pcp.Label) []pcp.Label {
	slices.SortStableFunc(list, func(a, b pcp.Label) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b pcp.Label) bool { return a.Name == b.Name })
}

// ContextNames implements [series.Store]. They are the names of hosts.
func (s *Store) ContextNames(ctx context.Context, source sid.ID) ([]string, error) {
	list, err := s.values(ctx, names.SeriesHost, described(matcher(names.SeriesSource, "=", source.String())))
	if err == nil && len(list) == 0 {
		err = series.ErrUnknown
	}
	slices.Sort(list)
	return list, err
}

// Sources implements [series.Store].
func (s *Store) Sources(ctx context.Context) ([]sid.ID, error) {
	texts, err := s.values(ctx, names.SeriesSource, described())
	if err != nil {
		return nil, err
	}
	var list []sid.ID
	for _, text := range texts {
		if id, err := sid.Parse(text); err == nil {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, sid.ID.Compare)
	return list, nil
}

// PutExpr implements [series.Store]. The last 10,000 are kept, in memory.
func (s *Store) PutExpr(ctx context.Context, id sid.ID, e series.Expr) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.exprs[id]; !ok {
		if len(s.order) >= maxExprs {
			delete(s.exprs, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, id)
	}
	s.exprs[id] = e
	return nil
}

// Expr implements [series.Store].
func (s *Store) Expr(ctx context.Context, id sid.ID) (series.Expr, error) {
	if err := s.usable(ctx); err != nil {
		return series.Expr{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.exprs[id]
	if !ok {
		return series.Expr{}, series.ErrUnknown
	}
	return e, nil
}

// GC implements [series.Store]. It forgets the descriptions in memory.
func (s *Store) GC(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	clear(s.metrics)
	clear(s.absent)
	s.mu.Unlock()
	s.finding.Lock()
	s.indexed = time.Time{}
	s.finding.Unlock()
	return nil
}

// Stats implements [series.Store]. Series are those that are remembered.
func (s *Store) Stats() series.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return series.Stats{Series: len(s.metrics)}
}

// Names returns the names in Prometheus of the metrics of agents and of instance domains, sorted.
func (s *Store) Names(ctx context.Context, agents []int, indoms []pcp.InDom) ([]string, error) {
	var selectors []string
	for _, d := range agents {
		selectors = append(selectors, described(matcher(names.SeriesPMID, "=~", strconv.Itoa(d)+`\..*`)))
	}
	for _, indom := range indoms {
		selectors = append(selectors, described(matcher(names.SeriesInDom, "=", indom.String())))
	}
	var all []string
	for _, sel := range selectors {
		list, err := s.values(ctx, names.SeriesMetric, sel)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			all = append(all, names.Metric(name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
