package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// Limits on the metadata of one archive. Exceeding one is an error of the archive.
const (
	maxMetrics   = 1 << 20 // names of metrics
	maxInstances = 1 << 22 // instances of all domains
	maxLabelText = 64 << 10
)

// MaxName is the maximum number of bytes in the name of a metric or an instance. Instances with longer names are left out.
const MaxName = 4 << 10

// maxFirst is the maximum number of bytes of records read to find out which metrics were logged
// before their labels.
const maxFirst = 16 << 20

// A Catalog is the metadata of an archive that identify its series. Of labels that changed over time it has the
// first ones.
//
// Identifiers depend on the labels known when a metric or an instance was first logged: pmlogger writes the
// metrics of its prologue before any labels, and others perhaps before the labels of their agent. The context is
// that of the first record, usually without labels yet; then the host name identifies it. The C implementation
// does the same, and identifiers must match. Queries for labels see all of them.
type Catalog struct {
	Host    string
	Start   pcp.Timestamp
	Labels  pcp.LabelSet // labels of the context
	Source  sid.ID
	Metrics []Metric // by name
	InDoms  []InDom  // by identifier
}

// A Metric is a metric with one of its names.
type Metric struct {
	Name   string
	Desc   pcp.Desc
	ID     sid.ID
	Labels pcp.LabelSet
	Within string // the identifying labels of the instances of its domain, as JSON for [sid.Instance]
}

// An InDom is an instance domain with all its instances.
type InDom struct {
	InDom pcp.InDom
	Insts []Inst // by number, then name
}

// An Inst is an instance of a domain.
type Inst struct {
	Inst   int32
	Name   string
	ID     sid.ID
	Labels pcp.LabelSet
}

// A labelOf identifies the owner of labels.
type labelOf struct {
	level pcp.LabelFlags
	ident uint32
}

type levelSet struct {
	pcp.LabelSet
	since pcp.Timestamp
}

type instKey struct {
	inst int32
	name string
}

// A gatherer collects the records of the metadata.
type gatherer struct {
	label  archive.Label
	names  map[string]pcp.Desc
	levels map[labelOf]levelSet                    // the first ones
	own    map[pcp.InDom]map[int32]pcp.LabelSet    // of instances
	insts  map[pcp.InDom]map[instKey]pcp.Timestamp // first appearance

	first   map[pcp.PMID]pcp.Timestamp // first log times of metrics, as far as they matter
	late    pcp.Timestamp              // time of the last labels that arrived late
	n       int
	only    pcp.InDom                     // if not InDomNull, all other domains are ignored
	changes func(rec *archive.MetaRecord) // called with the records of this domain
}

// Read reads the metadata of an archive record by record.
func Read(a *archive.Archive) (*Catalog, error) {
	g, err := gather(a, pcp.InDomNull, nil)
	if err != nil {
		return nil, err
	}
	g.firstLogged(a)
	return g.catalog()
}

// ReadInDom reads one instance domain of an archive, and passes its records to changes.
func ReadInDom(a *archive.Archive, indom pcp.InDom, changes func(*archive.MetaRecord)) (InDom, error) {
	g, err := gather(a, indom, changes)
	if err != nil {
		return InDom{}, err
	}
	g.firstLogged(a)
	identify, context, err := g.context()
	if err != nil {
		return InDom{}, err
	}
	at, early := g.from()[indom]
	return g.indom(identify, context, indom, at, early)
}

// gather reads metadata; with only, those of one instance domain, whose records it passes to changes.
func gather(a *archive.Archive, only pcp.InDom, changes func(*archive.MetaRecord)) (*gatherer, error) {
	mr, closer, err := a.OpenMeta()
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	g := &gatherer{
		label: a.Label(), names: map[string]pcp.Desc{}, levels: map[labelOf]levelSet{},
		own: map[pcp.InDom]map[int32]pcp.LabelSet{}, insts: map[pcp.InDom]map[instKey]pcp.Timestamp{}, only: only, changes: changes,
	}
	for {
		rec, err := mr.Next()
		if err == io.EOF || err != nil && errors.Is(err, io.ErrUnexpectedEOF) {
			return g, nil // the last record may be incomplete while it is written
		}
		if err != nil {
			return nil, fmt.Errorf("%s.meta: %w", a.Path(), err)
		}
		if err := g.add(rec); err != nil {
			return nil, fmt.Errorf("%s.meta: offset %d: %w", a.Path(), rec.Offset, err)
		}
	}
}

func (g *gatherer) add(rec *archive.MetaRecord) error {
	switch rec.Type {
	case archive.MetaDesc:
		for _, name := range rec.Names {
			if len(name) > MaxName {
				return fmt.Errorf("name of %d bytes: %w", len(name), pcp.ErrLogRec)
			}
			if _, ok := g.names[name]; ok || strings.IndexByte(name, 0) >= 0 {
				continue
			}
			if len(g.names) == maxMetrics {
				return fmt.Errorf("more than %d metrics: %w", maxMetrics, pcp.ErrLogRec)
			}
			g.names[strings.Clone(name)] = rec.Desc
		}
	case archive.MetaInDomV2, archive.MetaInDom, archive.MetaInDomDelta:
		if g.only != pcp.InDomNull && g.only != rec.InDom {
			return nil
		}
		if g.changes != nil {
			g.changes(rec)
		}
		all := g.insts[rec.InDom]
		if all == nil {
			all = map[instKey]pcp.Timestamp{}
			g.insts[rec.InDom] = all
		}
		for _, c := range rec.Instances {
			// The C implementation ignores instances without a name, too.
			if len(c.Name) == 0 || len(c.Name) > MaxName {
				continue
			}
			if _, ok := all[instKey{c.Inst, string(c.Name)}]; ok {
				continue
			}
			if g.n++; g.n > maxInstances {
				return fmt.Errorf("more than %d instances: %w", maxInstances, pcp.ErrLogRec)
			}
			all[instKey{c.Inst, string(c.Name)}] = rec.Time
		}
	case archive.MetaLabelV2, archive.MetaLabel:
		level := rec.Level.Level()
		if level == pcp.LabelInstances {
			own := g.own[pcp.InDom(rec.Ident)]
			if own == nil {
				own = map[int32]pcp.LabelSet{}
				g.own[pcp.InDom(rec.Ident)] = own
			}
			for i := range rec.Labels {
				if _, ok := own[rec.Labels[i].Inst]; !ok && rec.Labels[i].Err == 0 {
					if g.n++; g.n > maxInstances {
						return fmt.Errorf("labels of more than %d instances: %w", maxInstances, pcp.ErrLogRec)
					}
					own[rec.Labels[i].Inst] = keep(rec.Labels[i])
				}
			}
			return nil
		}
		key := labelOf{level, rec.Ident}
		if level == pcp.LabelContext {
			key.ident = 0
		}
		if _, ok := g.levels[key]; !ok && len(rec.Labels) > 0 && rec.Labels[0].Err == 0 {
			g.levels[key] = levelSet{keep(rec.Labels[0]), rec.Time}
			if rec.Time.Compare(g.late) > 0 {
				g.late = rec.Time
			}
		}
	}
	return nil
}

// keep copies the labels of a record.
func keep(s pcp.LabelSet) pcp.LabelSet {
	s.JSON, s.Index = strings.Clone(s.JSON), slices.Clone(s.Index)
	return s
}

// firstLogged finds the first log times of metrics logged before their labels. Damage is ignored; it is
// reported when values are read.
func (g *gatherer) firstLogged(a *archive.Archive) {
	g.first = map[pcp.PMID]pcp.Timestamp{}
	r := a.NewReader()
	defer r.Close()
	var scan archive.SetScanner
	for n := 0; n < maxFirst; {
		body, err := r.Step(archive.Forward)
		if err != nil || !scan.Start(body, a.Version()) || scan.Time.Compare(g.late) >= 0 {
			return
		}
		n += len(body)
		for scan.Next() {
			if scan.Status == 0 && scan.Len == 0 {
				continue
			}
			if _, ok := g.first[scan.PMID]; !ok {
				g.first[scan.PMID] = scan.Time
			}
		}
	}
}

// logged returns the time when a metric was first logged, and false if all labels were known then.
func (g *gatherer) logged(id pcp.PMID) (pcp.Timestamp, bool) {
	t, ok := g.first[id]
	return t, ok
}

// from returns the times when instance domains were first logged, for those logged before all labels were
// known.
func (g *gatherer) from() map[pcp.InDom]pcp.Timestamp {
	from := map[pcp.InDom]pcp.Timestamp{}
	for _, desc := range g.names {
		if at, early := g.logged(desc.PMID); early {
			if t, ok := from[desc.InDom]; !ok || at.Compare(t) < 0 {
				from[desc.InDom] = at
			}
		}
	}
	return from
}

// none returns a label set for missing labels.
func none() pcp.LabelSet { return pcp.LabelSet{Inst: pcp.InNull, Err: pcp.ErrNoLabels} }

// set returns the labels of a level, or an empty set.
func (g *gatherer) set(level pcp.LabelFlags, ident uint32) pcp.LabelSet {
	if s, ok := g.levels[labelOf{level, ident}]; ok {
		return s.LabelSet
	}
	return none()
}

// known returns the labels of a level known at a time, or at the end if early is not set.
func (g *gatherer) known(level pcp.LabelFlags, ident uint32, at pcp.Timestamp, early bool) pcp.LabelSet {
	s, ok := g.levels[labelOf{level, ident}]
	if !ok || early && s.since.Compare(at) > 0 {
		return none()
	}
	return s.LabelSet
}

// context returns the identifying labels of the context, and all its labels.
func (g *gatherer) context() (identify, all pcp.LabelSet, err error) {
	host, err := pcp.ParseLabels(`{"hostname":"`+g.label.Host+`"}`, pcp.LabelContext)
	if err != nil {
		return host, host, fmt.Errorf("name of the host: %w", err)
	}
	identify, all = host, host
	if s := g.known(pcp.LabelContext, 0, g.label.Start, true); s.Err == 0 && len(s.Index) > 0 {
		identify = s
	}
	if s := g.set(pcp.LabelContext, 0); s.Err == 0 && len(s.Index) > 0 {
		all = s
	}
	return identify, all, nil
}

func (g *gatherer) catalog() (*Catalog, error) {
	identify, context, err := g.context()
	if err != nil {
		return nil, err
	}
	text, err := sid.Labels(identify)
	if err != nil {
		return nil, err
	}
	c := &Catalog{Host: g.label.Host, Start: g.label.Start, Labels: context, Source: sid.Source(text)}
	if len(g.names) == 0 {
		return nil, fmt.Errorf("no metrics: %w", pcp.ErrNoData)
	}

	type merged struct {
		text   string
		within string
		all    pcp.LabelSet
	}
	memo := map[[4]uint32]merged{} // domain, cluster, item, instance domain
	for _, name := range slices.Sorted(maps.Keys(g.names)) {
		desc := g.names[name]
		id := desc.PMID
		key := [4]uint32{uint32(id.Domain()), uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0)), uint32(id), uint32(desc.InDom)}
		if _, ok := g.levels[labelOf{pcp.LabelItem, uint32(id)}]; !ok {
			key[2] = uint32(pcp.PMIDNull) // those of a cluster are mostly the same
		}
		at, early := g.logged(id)
		m, ok := memo[key]
		if !ok || early {
			if m.text, err = sid.Labels(identify, g.known(pcp.LabelDomain, key[0], at, early), g.known(pcp.LabelInDom, key[3], at, early),
				g.known(pcp.LabelCluster, key[1], at, early), g.known(pcp.LabelItem, key[2], at, early)); err != nil {
				return nil, fmt.Errorf("labels of metric %s: %w", name, err)
			}
			if m.within, err = sid.Labels(identify, g.known(pcp.LabelDomain, key[0], at, early), g.known(pcp.LabelInDom, key[3], at, early)); err != nil {
				return nil, fmt.Errorf("labels of metric %s: %w", name, err)
			}
			sets := []pcp.LabelSet{
				context, g.set(pcp.LabelDomain, key[0]), g.set(pcp.LabelInDom, key[3]),
				g.set(pcp.LabelCluster, key[1]), g.set(pcp.LabelItem, key[2]),
			}
			if m.all, err = pcp.MergeLabels(sets, nil); err != nil {
				return nil, fmt.Errorf("labels of metric %s: %w", name, err)
			}
			if !early {
				memo[key] = m
			}
		}
		c.Metrics = append(c.Metrics, Metric{name, desc, sid.Metric(name, m.text, desc), m.all, m.within})
	}
	from := g.from()
	for _, indom := range slices.Sorted(maps.Keys(g.insts)) {
		at, early := from[indom]
		d, err := g.indom(identify, context, indom, at, early)
		if err != nil {
			return nil, err
		}
		c.InDoms = append(c.InDoms, d)
	}
	return c, nil
}

// indom returns the instances of a domain. If early is set, the domain was first logged at a time when labels
// may not have been known. The labels of the instances themselves are not part of their identifiers, since the
// C implementation computes these before it has such labels.
func (g *gatherer) indom(identify, context pcp.LabelSet, indom pcp.InDom, at pcp.Timestamp, early bool) (InDom, error) {
	above := []pcp.LabelSet{context, g.set(pcp.LabelDomain, uint32(indom.Domain())), g.set(pcp.LabelInDom, uint32(indom))}
	shared, err := pcp.MergeLabels(above, nil)
	if err != nil {
		return InDom{}, fmt.Errorf("labels of instance domain %v: %w", indom, err)
	}
	texts := map[pcp.Timestamp]string{}
	d := InDom{InDom: indom}
	for key, since := range g.insts[indom] {
		// An instance is looked up when it exists and a metric has it.
		if since.Compare(at) < 0 || !early {
			since = at
		}
		text, ok := texts[since]
		if !ok {
			text, err = sid.Labels(identify, g.known(pcp.LabelDomain, uint32(indom.Domain()), since, early),
				g.known(pcp.LabelInDom, uint32(indom), since, early))
			if err != nil {
				return InDom{}, fmt.Errorf("labels of instance domain %v: %w", indom, err)
			}
			texts[since] = text
		}
		in := Inst{Inst: key.inst, Name: key.name, ID: sid.Instance(key.name, text), Labels: shared}
		if own, ok := g.own[indom][key.inst]; ok {
			if in.Labels, err = pcp.MergeLabels(append(above, own), nil); err != nil {
				return InDom{}, fmt.Errorf("labels of instance %d of %v: %w", key.inst, indom, err)
			}
		}
		d.Insts = append(d.Insts, in)
	}
	slices.SortFunc(d.Insts, func(a, b Inst) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name))
	})
	return d, nil
}
