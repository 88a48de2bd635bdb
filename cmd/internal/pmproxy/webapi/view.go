package webapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/pmapi"
)

const (
	maxPlans    = 2000    // plans that are cached, in all contexts that share a view
	maxMetrics  = 200_000 // metrics that are cached
	aheadFrom   = 8       // number of metrics from which requests for metadata are pipelined
	aheadAtOnce = 1000    // metrics of one Ahead, which keeps all replies in memory
)

// A view is a context's view of a collector, with cached metadata. All contexts without own
// state share the view of their source.
type view struct {
	src *source
	own *link // nil for the shared view

	// For a view with its own connection, owned by the holder of the context's turn.
	derived []definition
	profile []func(*pmapi.Context) error

	mu    sync.Mutex
	known *known
	valid time.Time // time until which known is valid
}

// A definition is the definition of a derived metric.
type definition struct {
	name, expr string
	hidden     bool // by a metric of the collector
}

// A known is a cache of a collector's metadata; all of it becomes invalid at once.
type known struct {
	optional bool // labels are shown

	mu     sync.RWMutex
	byName map[string]*metric
	byID   map[pcp.PMID]*metric
	plans  map[string]*plan
	labels map[labelKey][]pcp.LabelSet
	texts  map[pcp.InDom]*indomText
	leaves []string // all names, if they were requested
	scrape scrape
}

type labelKey struct {
	kind  pcp.LabelFlags
	ident uint32
}

type indomText struct{ oneline, help string }

func newView(s *source) *view { return &view{src: s, known: newKnown(s.h.cfg.OptionalLabels)} }

func newKnown(optional bool) *known {
	return &known{
		optional: optional,
		byName:   make(map[string]*metric), byID: make(map[pcp.PMID]*metric), plans: make(map[string]*plan),
		labels: make(map[labelKey][]pcp.LabelSet), texts: make(map[pcp.InDom]*indomText),
	}
}

// reset clears the cache.
func (v *view) reset() {
	v.mu.Lock()
	v.known, v.valid = newKnown(v.known.optional), time.Time{}
	v.mu.Unlock()
}

// knows returns the cache.
func (v *view) knows() *known {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known
}

// fresh reports whether the cache needs no check.
func (v *view) fresh(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return now.Sub(v.valid) < freshFor
}

// note records the changes at the collector that a fetch reported.
func (v *view) note(l *link, changes pmapi.Changes, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case changes != 0 || l.since.After(v.valid):
		// The connection does not report changes before it was made.
		if changes != 0 || !v.valid.IsZero() {
			v.known = newKnown(v.known.optional)
		}
		v.valid = at
		if changes != 0 {
			v.src.mu.Lock()
			v.src.host.known = false
			v.src.mu.Unlock()
		}
	case at.After(v.valid):
		v.valid = at
	}
	l.since = at
}

// with calls f with a connection and a cache that was checked within the last second.
func (v *view) with(ctx context.Context, f func(l *link, k *known) error) error {
	checked := func(l *link) error {
		if now := time.Now(); !v.fresh(now) {
			if err := v.ping(ctx, l, now); err != nil {
				return err
			}
		}
		return f(l, v.knows())
	}
	if v.own == nil {
		return v.src.with(ctx, checked)
	}
	err := checked(v.own)
	if !broken(err) || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, pcp.ErrTimeout) {
		v.restore(ctx)
		return err
	}
	if rerr := v.restore(ctx); rerr != nil {
		return &reconnectError{rerr}
	}
	return checked(v.own)
}

// A reconnectError is the reason why a lost connection cannot be restored.
type reconnectError struct{ err error }

func (e *reconnectError) Error() string { return "cannot reconnect context: " + errText(e.err) }
func (e *reconnectError) Unwrap() error { return e.err }

// restore reopens the view's own connection, with profile and derived metrics.
func (v *view) restore(ctx context.Context) error {
	l, err := v.src.open(ctx)
	if err != nil {
		return err
	}
	for _, set := range v.profile {
		set(l.c)
	}
	for _, d := range v.derived {
		l.c.AddDerived(ctx, d.name, d.expr)
	}
	v.own.c.Close()
	v.own = l
	v.reset()
	return nil
}

// ping asks the collector for changes.
func (v *view) ping(ctx context.Context, l *link, now time.Time) error {
	changes, err := l.c.FetchInto(ctx, []pcp.PMID{pcp.NewPMID(2, 0, 0)}, &l.res)
	if err != nil {
		return err
	}
	v.note(l, changes, now)
	return nil
}

// A metric is the cached metadata of a metric.
type metric struct {
	desc  pcp.Desc
	names []string
	heads []string // of the values in the response to a fetch, for each name
	old   []string // the same for the older form

	mu    sync.Mutex
	about *about
}

// about has metadata that only some requests need.
type about struct {
	oneline, help string
	sets          []pcp.LabelSet // from the context to the item
	labels        string         // JSON of the labels that are shown
	series        []string       // for each name
}

func (m *metric) event() bool {
	return m.desc.Type == pcp.TypeEvent || m.desc.Type == pcp.TypeHighResEvent
}

// numeric reports whether the values of the metric are numbers.
func (m *metric) numeric() bool { return names.Numeric(&m.desc) }

// nameIndex returns the index of one of the names, 0 for an unknown name.
func (m *metric) nameIndex(name string) int { return max(0, slices.Index(m.names, name)) }

// byNames returns the metrics of names, nil for missing ones. It requests those that are not cached.
func (k *known) byNames(ctx context.Context, l *link, names []string) ([]*metric, error) {
	list := make([]*metric, len(names))
	var missing []string
	k.mu.RLock()
	for i, name := range names {
		if list[i] = k.byName[name]; list[i] == nil && name != "" {
			missing = append(missing, name)
		}
	}
	k.mu.RUnlock()
	if len(missing) == 0 {
		return list, nil
	}
	ids, err := l.c.LookupName(ctx, missing...)
	if broken(err) {
		return nil, err
	}
	found := make(map[string]*metric, len(missing))
	for start := 0; start < len(ids); start += aheadAtOnce {
		end := min(start+aheadAtOnce, len(ids))
		if err := k.learn(ctx, l, missing[start:end], ids[start:end], found); err != nil {
			return nil, err
		}
	}
	for i, name := range names {
		if list[i] == nil {
			list[i] = found[name]
		}
	}
	return list, nil
}

// byIDs is byNames for metric numbers.
func (k *known) byIDs(ctx context.Context, l *link, ids []pcp.PMID) ([]*metric, error) {
	list := make([]*metric, len(ids))
	for i, id := range ids {
		k.mu.RLock()
		list[i] = k.byID[id]
		k.mu.RUnlock()
		if list[i] != nil || id == pcp.PMIDNull {
			continue
		}
		if err := k.learn(ctx, l, nil, ids[i:i+1], nil); err != nil {
			return nil, err
		}
		k.mu.RLock()
		list[i] = k.byID[id]
		k.mu.RUnlock()
	}
	return list, nil
}

// learn requests the descriptors and names of metrics. It adds those of names to found.
func (k *known) learn(ctx context.Context, l *link, names []string, ids []pcp.PMID, found map[string]*metric) error {
	var want []pcp.PMID
	for _, id := range ids {
		if id != pcp.PMIDNull {
			want = append(want, id)
		}
	}
	if len(want) == 0 {
		return nil
	}
	descs, err := l.c.LookupDescs(ctx, want...)
	if broken(err) {
		return err
	}
	if len(descs) >= aheadFrom {
		good := slices.DeleteFunc(slices.Clone(descs), func(d pcp.Desc) bool { return d.PMID == pcp.PMIDNull })
		if err := l.c.Ahead(ctx, good); broken(err) {
			return err
		}
		defer l.c.Rest()
	}
	at := 0
	for i, id := range ids {
		if id == pcp.PMIDNull {
			continue
		}
		if at >= len(descs) {
			break
		}
		desc := descs[at]
		at++
		if desc.PMID == pcp.PMIDNull {
			continue
		}
		all, err := l.c.NameAll(ctx, id)
		if broken(err) {
			return err
		}
		if err != nil || len(all) == 0 {
			continue
		}
		name := ""
		if names != nil {
			name = names[i]
		}
		m := k.add(desc, all, name)
		if found != nil {
			found[name] = m
		}
		if len(descs) >= aheadFrom {
			if err := m.learn(ctx, l, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// add caches a metric under all its names, and the name by which it was found.
func (k *known) add(desc pcp.Desc, names []string, by string) *metric {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.byID[desc.PMID]; m != nil {
		if by == "" || slices.Contains(m.names, by) {
			if by != "" {
				k.byName[by] = m
			}
			return m
		}
	}
	if by != "" && !slices.Contains(names, by) {
		names = append(slices.Clip(names), by)
	}
	m := &metric{desc: desc, names: names}
	for _, name := range names {
		m.heads = append(m.heads, string(appendHead(nil, desc.PMID, name, false)))
		m.old = append(m.old, string(appendHead(nil, desc.PMID, name, true)))
	}
	if len(k.byName) >= maxMetrics {
		return m
	}
	k.byID[desc.PMID] = m
	for _, name := range names {
		k.byName[name] = m
	}
	return m
}

// learnAll requests the metadata of metrics.
func (k *known) learnAll(ctx context.Context, l *link, list []*metric) error {
	var descs []pcp.Desc
	for _, m := range list {
		if m != nil && !m.learned() {
			descs = append(descs, m.desc)
		}
	}
	for len(descs) >= aheadFrom {
		n := min(len(descs), aheadAtOnce)
		if err := l.c.Ahead(ctx, descs[:n]); broken(err) {
			return err
		}
		for _, d := range descs[:n] {
			k.mu.RLock()
			m := k.byID[d.PMID]
			k.mu.RUnlock()
			if m != nil {
				if err := m.learn(ctx, l, k); err != nil {
					return err
				}
			}
		}
		l.c.Rest()
		descs = descs[n:]
	}
	for _, m := range list {
		if m != nil {
			if err := m.learn(ctx, l, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *metric) learned() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.about != nil
}

// learn requests the metadata of a metric.
func (m *metric) learn(ctx context.Context, l *link, k *known) error {
	if m.learned() {
		return nil
	}
	a := new(about)
	var err error
	id := m.desc.PMID
	if a.oneline, err = l.c.LookupText(ctx, id, pcp.TextOneLine); broken(err) {
		return err
	}
	if a.help, err = l.c.LookupText(ctx, id, pcp.TextHelp); broken(err) {
		return err
	}
	if a.sets, err = k.labelSets(ctx, l, id, m.desc.InDom); err != nil {
		return err
	}
	a.labels = k.shown(a.sets)
	ident := identifying(a.sets)
	units := m.desc.Units.String()
	for _, name := range m.names {
		a.series = append(a.series, hash(`{"series":"metric","name":"`+name+`","labels":`+ident+`,"semantics":"`+
			m.desc.Sem.String()+`","type":"`+m.desc.Type.String()+`","units":"`+units+`"}`))
	}
	m.mu.Lock()
	m.about = a
	m.mu.Unlock()
	return nil
}

// knows returns the result of learn.
func (m *metric) knows() *about {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.about
}

// shown returns the JSON of the labels that answers have.
func (k *known) shown(sets []pcp.LabelSet) string {
	if !k.optional {
		return identifying(sets)
	}
	merged, err := pcp.MergeLabels(sets, nil)
	if err != nil || merged.JSON == "" {
		return "null"
	}
	return merged.JSON
}

// identifying returns the JSON of the identifying labels, without optional ones.
func identifying(sets []pcp.LabelSet) string {
	merged, err := pcp.MergeLabels(sets, func(l pcp.Label) bool { return l.Flags&pcp.LabelOptional == 0 })
	if err != nil || merged.JSON == "" {
		return "null"
	}
	return merged.JSON
}

// labelSets returns the labels from the context down to a metric, or to an instance domain if id is
// pcp.PMIDNull.
func (k *known) labelSets(ctx context.Context, l *link, id pcp.PMID, indom pcp.InDom) ([]pcp.LabelSet, error) {
	type level struct {
		kind  pcp.LabelFlags
		ident uint32
	}
	levels := make([]level, 0, 5)
	levels = append(levels, level{pcp.LabelContext, 0})
	domain := indom.Domain()
	if id != pcp.PMIDNull {
		domain = id.Domain()
	}
	levels = append(levels, level{pcp.LabelDomain, uint32(domain)})
	if indom != pcp.InDomNull {
		levels = append(levels, level{pcp.LabelInDom, uint32(indom)})
	}
	if id != pcp.PMIDNull {
		levels = append(levels, level{pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))}, level{pcp.LabelItem, uint32(id)})
	}
	var all []pcp.LabelSet
	for _, lv := range levels {
		sets, err := k.labelsOf(ctx, l, lv.kind, lv.ident)
		if err != nil {
			return nil, err
		}
		all = append(all, sets...)
	}
	return all, nil
}

// labelsOf returns the labels of one level, or an empty set if the collector has no labels. The error is the
// connection's.
func (k *known) labelsOf(ctx context.Context, l *link, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	key := labelKey{kind, ident}
	if kind != pcp.LabelItem { // those are cached with their metric
		k.mu.RLock()
		sets, ok := k.labels[key]
		k.mu.RUnlock()
		if ok {
			return sets, nil
		}
	}
	var sets []pcp.LabelSet
	var err error
	if kind == pcp.LabelContext {
		if sets, err = l.c.Labels(ctx, kind, 0); !broken(err) && len(sets) == 0 {
			var name string
			if name, err = l.c.HostName(ctx); err == nil {
				var set pcp.LabelSet
				if set, err = pcp.StringLabels(kind, "hostname", name); err == nil {
					sets = []pcp.LabelSet{set}
				}
			}
		}
	} else {
		sets, err = l.c.Labels(ctx, kind, ident)
	}
	if broken(err) {
		return nil, err
	}
	sets = slices.DeleteFunc(sets, func(s pcp.LabelSet) bool { return s.Err != 0 || len(s.Index) == 0 })
	if kind != pcp.LabelItem {
		k.mu.Lock()
		if len(k.labels) < maxMetrics {
			k.labels[key] = sets
		}
		k.mu.Unlock()
	}
	return sets, nil
}

// below returns the names of the metrics at and below a node of the name space.
func (k *known) below(ctx context.Context, l *link, prefix string) ([]string, error) {
	k.mu.RLock()
	m, leaves := k.byName[prefix], k.leaves
	k.mu.RUnlock()
	switch {
	case prefix == "" && leaves != nil:
		return leaves, nil
	case m != nil:
		return []string{prefix}, nil
	}
	var names []string
	for name, err := range l.c.Traverse(ctx, prefix) {
		if err != nil {
			if broken(err) || len(names) == 0 {
				return nil, err
			}
			break
		}
		names = append(names, name)
	}
	if prefix == "" {
		k.mu.Lock()
		k.leaves = names
		k.mu.Unlock()
	}
	return names, nil
}
