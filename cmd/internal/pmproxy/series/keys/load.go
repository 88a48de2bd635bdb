package keys

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/pmapi"
)

// maxNames is the maximum number of strings that a Loader remembers having written.
const maxNames = 1 << 22

// LoadOptions are options of a Loader.
type LoadOptions struct {
	// Exclude are patterns of the names of metrics that are left out, ExcludeInDoms the instance domains whose metrics are.
	Exclude       []string
	ExcludeInDoms []pcp.InDom

	NoValues bool // write only metadata

	// Start is the time of the first record, zero for that of the archive. Metadata of earlier records are not written.
	Start pcp.Timestamp
}

// A Loader writes an archive, or a directory of archives of one host, into the keys, in the order of its records. Another
// call of Run continues with those that were added meanwhile. It is for one goroutine.
//
// Labels and instances are those of the time of each record, and values of instances are repeated in later entries, as
// the C implementation does, whose identifiers depend on this.
type Loader struct {
	store *Store
	opt   LoadOptions
	w     *writer
	a     *pmapi.ArchiveContext
	count int

	name, host     string
	nameID, hostID sid.ID
	source         sid.ID
	context        pcp.LabelSet
	begun          bool

	metrics  map[pcp.PMID]*metric // nil for a metric that is left out
	domains  map[int]*level
	clusters map[pcp.PMID]*level
	indoms   map[pcp.InDom]*indom
}

// A level has labels of a domain, cluster or the like.
type level struct{ set *pcp.LabelSet }

type metric struct {
	desc    pcp.Desc
	names   []metricName
	domain  *level
	cluster *level
	indom   *indom
	item    level
	text    string // of the labels that identify it
	labels  []label
	written bool // its metadata
	err     pcp.Error

	one  string
	list []instValue // all that ever had a value
}

type metricName struct {
	text   string
	id     sid.ID // of the text
	series sid.ID
}

type instValue struct {
	inst int32
	text string
}

type indom struct {
	level
	indom   pcp.InDom
	domain  *level
	current bool
	insts   map[int32]*instance
}

type instance struct {
	inst    int32
	name    string
	nameID  sid.ID
	id      sid.ID
	set     *pcp.LabelSet
	text    string // of the labels that identify it
	labels  []label
	written bool
}

type label struct {
	pcp.Label
	name, value sid.ID
}

// ContextName returns the name in the keys of an archive or directory: its absolute path without symbolic links if there is a file of this
// name. The base name of an archive stays as it is.
func ContextName(archive string) string {
	if real, err := filepath.EvalSymlinks(archive); err == nil {
		if abs, err := filepath.Abs(real); err == nil {
			return abs
		}
	}
	return archive
}

// An OpenError is the reason why an archive cannot be opened.
type OpenError struct{ Err error }

// Error implements error.
func (e *OpenError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *OpenError) Unwrap() error { return e.Err }

// NewLoader opens an archive or directory. The caller must close the Loader.
func (s *Store) NewLoader(ctx context.Context, archive string, opt LoadOptions) (*Loader, error) {
	return s.newLoader(ctx, archive, opt, newWriter(&s.cfg, s.client, s.log))
}

// newLoader makes a Loader with a writer that others may share.
func (s *Store) newLoader(ctx context.Context, archive string, opt LoadOptions, w *writer) (*Loader, error) {
	for _, pattern := range opt.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	name := ContextName(archive)
	a, err := pmapi.OpenArchive(name)
	if err != nil {
		return nil, &OpenError{err}
	}
	l := &Loader{
		store: s, opt: opt, a: a, name: name, w: w,
		metrics: map[pcp.PMID]*metric{}, domains: map[int]*level{}, clusters: map[pcp.PMID]*level{}, indoms: map[pcp.InDom]*indom{},
	}
	if err := l.open(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return l, nil
}

// open reads what identifies the source.
func (l *Loader) open(ctx context.Context) error {
	head, err := l.a.Label(ctx)
	if err != nil {
		return err
	}
	l.host = head.Host
	sets, err := l.a.Labels(ctx, pcp.LabelContext, 0)
	if err != nil {
		return err
	}
	if len(sets) > 0 {
		l.context = sets[0]
	}
	if l.context.Err != 0 || len(l.context.Index) == 0 {
		if l.context, err = pcp.ParseLabels(`{"hostname":"`+l.host+`"}`, pcp.LabelContext); err != nil {
			return fmt.Errorf("name of the host: %w", err)
		}
	}
	text, err := sid.Labels(l.context)
	if err != nil {
		return fmt.Errorf("labels of the host: %w", err)
	}
	l.nameID, l.hostID, l.source = sid.String(l.name), sid.String(l.host), sid.Source(text)
	return l.a.SetMode(ctx, pmapi.ModeForw, &l.opt.Start, 0)
}

// Close releases the archive and the connections.
func (l *Loader) Close() error {
	l.w.close()
	return l.a.Close()
}

// Records returns the number of records that were read, marks included.
func (l *Loader) Records() int { return l.count }

// Duplicates returns the number of values that were in the keys before.
func (l *Loader) Duplicates() int { return l.w.duplicates }

// Load writes an archive or directory of archives, and returns the number of its records.
func (s *Store) Load(ctx context.Context, archive string, opt LoadOptions) (records int, err error) {
	l, err := s.NewLoader(ctx, archive, opt)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	err = l.Run(ctx)
	return l.Records(), err
}

// Run writes the records up to the end of the archive, or to the first record with a time in the future. When it returns without an
// error all of them are safe, as the package describes.
func (l *Loader) Run(ctx context.Context) error {
	if !l.begun {
		if err := l.store.mark(ctx); err != nil {
			return err
		}
		if err := l.writeSource(ctx); err != nil {
			return err
		}
		l.begun = true
	} else if err := l.a.Refresh(ctx); err != nil {
		return err
	}
	for {
		res, err := l.a.FetchArchive(ctx)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			return errors.Join(err, l.w.flush(ctx))
		}
		if res.Time.Compare(now()) > 0 {
			break
		}
		l.count++
		if err := l.record(ctx, res); err != nil {
			return err
		}
	}
	return l.w.flush(ctx)
}

func now() pcp.Timestamp {
	t := time.Now()
	return pcp.Timestamp{Sec: t.Unix(), Nsec: int32(t.Nanosecond())}
}

// record writes the values of a record and the metadata that they need.
func (l *Loader) record(ctx context.Context, res *pcp.Result) error {
	res.SortInstances()
	stamp := string(appendStamp(nil, res.Time))
	for i := range res.Sets {
		vs := &res.Sets[i]
		if vs.Err == 0 && len(vs.Values) == 0 {
			continue
		}
		m, known := l.metrics[vs.PMID]
		if known && m == nil {
			continue
		}
		meta, refresh := false, false
		switch {
		case !known:
			var err error
			if m, err = l.newMetric(ctx, vs.PMID); err != nil {
				return err
			}
			if m == nil {
				continue
			}
			meta = true
		case m.written:
			meta = true
		default:
			l.metricMeta(ctx, m)
		}
		if m.err == 0 && vs.Err != 0 {
			meta = true
		}
		if m.take(vs) {
			meta, refresh = true, true
		}
		m.err = vs.Err
		if meta {
			l.instanceMeta(ctx, m, refresh)
		}
		if err := l.writeMetric(ctx, m, stamp, meta); err != nil {
			return err
		}
	}
	return nil
}

// take stores the values of a set, and reports whether the metric has no instances or has new ones.
func (m *metric) take(vs *pcp.ValueSet) bool {
	if len(vs.Values) == 0 {
		return false
	}
	text := func(v pcp.Value) string { return string(series.AppendValue(nil, v, m.desc.Type)) }
	if m.desc.InDom == pcp.InDomNull {
		m.one = text(vs.Values[0])
		return true
	}
	added := false
	for j, v := range vs.Values {
		k := j
		if j >= len(m.list) || m.list[j].inst != v.Inst {
			if j < len(m.list) {
				k = slices.IndexFunc(m.list, func(have instValue) bool { return have.inst == v.Inst })
			}
			if k < 0 || k >= len(m.list) {
				k, added = len(m.list), true
				m.list = append(m.list, instValue{inst: v.Inst})
			}
		}
		m.list[k].text = text(v)
	}
	return added
}

// newMetric looks up a metric. It returns nil if it is left out, or has no descriptor or name yet.
func (l *Loader) newMetric(ctx context.Context, id pcp.PMID) (*metric, error) {
	desc, err := l.a.LookupDesc(ctx, id)
	if err != nil {
		return nil, ctx.Err()
	}
	names, err := l.a.NameAll(ctx, id)
	if err != nil || len(names) == 0 {
		return nil, ctx.Err()
	}
	for _, pattern := range l.opt.Exclude {
		for _, name := range names {
			if ok, _ := path.Match(pattern, name); ok {
				l.metrics[id] = nil
				return nil, nil
			}
		}
	}
	if slices.Contains(l.opt.ExcludeInDoms, desc.InDom) {
		l.metrics[id] = nil
		return nil, nil
	}
	m := &metric{desc: desc, domain: l.domain(id.Domain()), one: string(series.AppendValue(nil, pcp.RawValue(desc.Type, 0), desc.Type))}
	for _, name := range names {
		m.names = append(m.names, metricName{text: name, id: sid.String(name)})
	}
	key := pcp.NewPMID(id.Domain(), id.Cluster(), 0)
	if m.cluster = l.clusters[key]; m.cluster == nil {
		m.cluster = &level{}
		l.clusters[key] = m.cluster
	}
	if desc.InDom != pcp.InDomNull {
		m.indom = l.indom(desc.InDom, m.domain)
	}
	l.metrics[id] = m
	l.metricMeta(ctx, m)
	return m, nil
}

func (l *Loader) domain(n int) *level {
	d := l.domains[n]
	if d == nil {
		d = &level{}
		l.domains[n] = d
	}
	return d
}

func (l *Loader) indom(id pcp.InDom, domain *level) *indom {
	d := l.indoms[id]
	if d == nil {
		d = &indom{indom: id, domain: domain, insts: map[int32]*instance{}}
		l.indoms[id] = d
	}
	return d
}

// find looks up the labels of a level, unless they are known. It reports whether that was possible.
func (l *Loader) find(ctx context.Context, lv *level, kind pcp.LabelFlags, ident uint32) bool {
	if lv.set != nil {
		return true
	}
	sets, err := l.a.Labels(ctx, kind, ident)
	if err != nil {
		return false
	}
	if len(sets) > 0 {
		lv.set = &sets[0]
	}
	return true
}

// metricMeta looks up the labels of a metric and computes its identifiers.
func (l *Loader) metricMeta(ctx context.Context, m *metric) {
	id := m.desc.PMID
	l.find(ctx, m.domain, pcp.LabelDomain, uint32(id.Domain()))
	l.find(ctx, m.cluster, pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0)))
	if m.indom != nil {
		l.instanceLabels(ctx, m.indom)
	}
	l.find(ctx, &m.item, pcp.LabelItem, uint32(id))
	if m.text == "" {
		m.text = labelsText(l.metricSets(m))
	}
	for i := range m.names {
		m.names[i].series = sid.Metric(m.names[i].text, m.text, m.desc)
	}
	m.written = false
}

// labelsText returns the text of labels that identify their owner.
func labelsText(sets []pcp.LabelSet) string {
	text, err := sid.Labels(sets...)
	if err != nil {
		return "null"
	}
	return text
}

// collect returns the labels that are known, the lowest precedence first.
func collect(sets ...*pcp.LabelSet) []pcp.LabelSet {
	var list []pcp.LabelSet
	for _, s := range sets {
		if s != nil && s.Err == 0 {
			list = append(list, *s)
		}
	}
	return list
}

func (l *Loader) metricSets(m *metric) []pcp.LabelSet {
	var in *pcp.LabelSet
	if m.indom != nil {
		in = m.indom.set
	}
	return collect(&l.context, m.domain.set, in, m.cluster.set, m.item.set)
}

func (l *Loader) instanceSets(d *indom, in *instance) []pcp.LabelSet {
	return collect(&l.context, d.domain.set, d.set, in.set)
}

// instanceLabels looks up the labels of a domain, and those of its instances if its list of instances is not current.
// So it misses the labels of instances that have no values yet; identifiers depend on it.
func (l *Loader) instanceLabels(ctx context.Context, d *indom) {
	if !l.find(ctx, &d.level, pcp.LabelInDom, uint32(d.indom)) {
		d.current = false
	}
	if d.current {
		return
	}
	sets, err := l.a.Labels(ctx, pcp.LabelInstances, uint32(d.indom))
	if err != nil {
		return
	}
	for i := range sets {
		in := d.insts[sets[i].Inst]
		if in == nil || sets[i].Err != 0 || sets[i].JSON == "" {
			continue
		}
		in.set = &sets[i]
		l.identify(d, in)
	}
	d.current = true
}

// identify computes the identifier of an instance.
func (l *Loader) identify(d *indom, in *instance) {
	if in.text == "" {
		in.text = labelsText(l.instanceSets(d, in))
	}
	in.id = sid.Instance(in.name, in.text)
	in.written = false
}

// instanceMeta looks up the instances of a metric's domain.
func (l *Loader) instanceMeta(ctx context.Context, m *metric, refresh bool) {
	d := m.indom
	if d == nil {
		return
	}
	l.find(ctx, d.domain, pcp.LabelDomain, uint32(d.indom.Domain()))
	if refresh {
		d.current = true
	}
	if !d.current {
		return
	}
	if list, err := l.a.GetInDom(ctx, d.indom); err == nil {
		for _, have := range list {
			if have.Name == "" {
				continue
			}
			in := d.insts[have.Inst]
			if in == nil {
				in = &instance{inst: have.Inst}
				d.insts[have.Inst] = in
			} else if in.name == have.Name {
				continue
			}
			in.name, in.nameID = have.Name, sid.String(have.Name)
			l.identify(d, in)
		}
	}
	l.instanceLabels(ctx, d)
}
