package pmlogger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// A dictionary has the metadata that are in the archive, and writes those that the next record needs: descriptors
// with names, labels, help texts, and instance domains.
type dictionary struct {
	c    *pmapi.Context
	w    *archive.Writer
	plan *plan // for more names
	log  journal

	metrics map[pcp.PMID]*logged
	indoms  map[pcp.InDom]*loggedInDom
	labels  map[labelKey]bool  // levels that were requested
	texts   map[pcp.InDom]bool // domains whose texts were written

	at      pcp.Timestamp // time of the next record
	records int           // so far, of all groups
	lists   listCache
	meta    []byte // a record of the metadata
}

// A logged is a metric whose metadata are in the archive.
type logged struct {
	desc pcp.Desc
	// Instances in ascending order, InNull for a metric without an instance domain: those in
	// any record, and those in the last fetch. Both may share memory.
	seen, available []int32
}

// A loggedInDom is the last record of an instance domain in the archive.
type loggedInDom struct {
	at     pcp.Timestamp
	record int     // record for which it was written, as the dictionary counts them
	insts  []int32 // in ascending order
}

// A labelKey identifies the owner of labels.
type labelKey struct {
	level pcp.LabelFlags
	ident uint32
}

// begin starts without any metadata, for an archive just created.
func (d *dictionary) begin(w *archive.Writer) {
	d.w = w
	d.metrics = make(map[pcp.PMID]*logged)
	d.indoms = make(map[pcp.InDom]*loggedInDom)
	d.labels = make(map[labelKey]bool)
	d.texts = make(map[pcp.InDom]bool)
}

// next prepares for another record.
func (d *dictionary) next(at pcp.Timestamp) {
	d.at = at
	d.records++
}

// gone notes that the connection is lost: no instance is available.
func (d *dictionary) gone() {
	for _, m := range d.metrics {
		m.available = nil
	}
}

// state returns the bits of a LogValue about an instance: whether it is in the archive, and in the last fetch.
func (d *dictionary) state(id pcp.PMID, inst int32) (v wire.LogValue) {
	m := d.metrics[id]
	if m == nil {
		return 0
	}
	if m.desc.InDom == pcp.InDomNull {
		inst = pcp.InNull
	}
	if _, ok := slices.BinarySearch(m.seen, inst); ok {
		v |= wire.LogBitInLog
	}
	if _, ok := slices.BinarySearch(m.available, inst); ok {
		v |= wire.LogBitAvailable
	}
	return v
}

// metric writes the metadata of a metric of a task if the archive lacks them.
func (d *dictionary) metric(ctx context.Context, t *task, id pcp.PMID) (*logged, error) {
	if m, ok := d.metrics[id]; ok {
		return m, nil
	}
	i, ok := t.byID[id]
	if !ok {
		return nil, fmt.Errorf("the collector sent %v, which was not asked for: %w", id, pcp.ErrIPC)
	}
	desc := t.metrics[i].desc
	if err := d.putDesc(desc, d.names(ctx, id)); err != nil {
		return nil, err
	}
	for _, k := range []labelKey{
		{pcp.LabelContext, uint32(pcp.InDomNull)},
		{pcp.LabelDomain, uint32(id.Domain())},
		{pcp.LabelInDom, uint32(desc.InDom)},
		{pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))},
		{pcp.LabelItem, uint32(id)},
		{pcp.LabelInstances, uint32(desc.InDom)},
	} {
		if desc.InDom == pcp.InDomNull && (k.level == pcp.LabelInDom || k.level == pcp.LabelInstances) || d.labels[k] {
			continue
		}
		if err := d.putLabels(ctx, k.level, k.ident); err != nil {
			return nil, err
		}
		d.labels[k] = true
	}
	if err := d.putTexts(ctx, desc); err != nil {
		return nil, err
	}
	m := &logged{desc: desc}
	d.metrics[id] = m
	return m, nil
}

// putDesc writes a descriptor. A derived metric is written like any other.
func (d *dictionary) putDesc(desc pcp.Desc, names []string) error {
	desc.PMID = desc.PMID.Logged()
	b, err := archive.AppendDesc(d.meta[:0], desc, names...)
	if err != nil {
		return err
	}
	return d.putMeta(b)
}

// putMeta writes a metadata record. The dictionary tracks the written records, so that the writer need
// not.
func (d *dictionary) putMeta(b []byte) error {
	d.meta = b
	return d.w.WriteMeta(b)
}

// putText writes a help text.
func (d *dictionary) putText(kind pcp.TextKind, ident uint32, text string) error {
	b, err := archive.AppendText(d.meta[:0], kind, ident, text)
	if err != nil {
		return err
	}
	return d.putMeta(b)
}

// ahead requests the metadata of those metrics of a task that the archive lacks, if there are several.
func (d *dictionary) ahead(ctx context.Context, t *task, ids []pcp.PMID) (asked bool, err error) {
	var descs []pcp.Desc
	for _, id := range ids {
		if _, ok := d.metrics[id]; ok {
			continue
		}
		if i, ok := t.byID[id]; ok {
			descs = append(descs, t.metrics[i].desc)
		}
	}
	if len(descs) < 2 {
		return false, nil
	}
	return true, d.c.Ahead(ctx, descs)
}

// names returns the names of a metric: the collector's, and those in tasks.
func (d *dictionary) names(ctx context.Context, id pcp.PMID) []string {
	names, err := d.c.NameAll(ctx, id)
	if err != nil {
		names = nil
	}
	return d.plan.names(names, id)
}

// putLabels writes the current labels. A collector that does not support labels
// counts as one without labels.
func (d *dictionary) putLabels(ctx context.Context, level pcp.LabelFlags, ident uint32) error {
	sets, err := d.c.Labels(ctx, level, ident)
	if lost(err) {
		return err
	}
	if err != nil || len(sets) == 0 {
		return nil
	}
	if level == pcp.LabelItem {
		ident = uint32(pcp.PMID(ident).Logged())
	}
	return d.w.Labels(d.at, level, ident, sets)
}

// relabel writes the labels that differ from those in the archive. The collector does not report
// which have changed.
func (d *dictionary) relabel(ctx context.Context) error {
	if err := d.putLabels(ctx, pcp.LabelContext, uint32(pcp.InDomNull)); err != nil {
		return err
	}
	var descs []pcp.Desc
	for _, m := range d.metrics {
		descs = append(descs, m.desc)
	}
	if err := d.c.AheadLabels(ctx, descs); err != nil {
		return err
	}
	defer d.c.Rest()
	keys := slices.SortedFunc(maps.Keys(d.labels), func(a, b labelKey) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.ident, b.ident))
	})
	for _, k := range keys {
		if k.level == pcp.LabelContext {
			continue
		}
		if err := d.putLabels(ctx, k.level, k.ident); err != nil {
			return err
		}
	}
	return nil
}

// putTexts writes the help texts of a metric and of its instance domain.
func (d *dictionary) putTexts(ctx context.Context, desc pcp.Desc) error {
	for _, kind := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
		if text, err := d.c.LookupText(ctx, desc.PMID, kind); err == nil {
			if err := d.putText(kind|pcp.TextPMID, uint32(desc.PMID.Logged()), text); err != nil {
				return err
			}
		}
		if desc.InDom == pcp.InDomNull || d.texts[desc.InDom] {
			continue
		}
		if text, err := d.c.LookupInDomText(ctx, desc.InDom, kind); err == nil {
			if err := d.putText(kind|pcp.TextInDom, uint32(desc.InDom), text); err != nil {
				return err
			}
		}
	}
	if desc.InDom != pcp.InDomNull {
		d.texts[desc.InDom] = true
	}
	return nil
}

// putInDom writes an instance domain if the next record has instances unknown to
// the archive, or other instances than the last record.
func (d *dictionary) putInDom(ctx context.Context, desc pcp.Desc, insts []int32, changed bool) error {
	old := d.indoms[desc.InDom]
	if old != nil && old.record == d.records {
		return nil // it was written for this record
	}
	// Samples have the time of earlier ones while the collector's clock is behind.
	again := old != nil && d.at.Compare(old.at) <= 0
	if old != nil && (again || !changed) && subset(insts, old.insts) {
		return nil
	}
	list, err := d.c.GetInDom(ctx, desc.InDom)
	if err != nil {
		return fmt.Errorf("instance domain %v: %w", desc.InDom, err)
	}
	now := &loggedInDom{at: d.at, record: d.records, insts: make([]int32, len(list))}
	for i := range list {
		now.insts[i] = list[i].Inst
	}
	if again {
		now.insts = append(now.insts, old.insts...)
	}
	slices.Sort(now.insts)
	now.insts = slices.Compact(now.insts)
	put := d.w.InDom
	if again {
		put = d.w.AddInDom
	}
	grown := old != nil && !subset(now.insts, old.insts)
	d.indoms[desc.InDom] = now
	if err := put(d.at, desc.InDom, list); err != nil {
		return err
	}
	if grown {
		return d.putLabels(ctx, pcp.LabelInstances, uint32(desc.InDom))
	}
	return nil
}

// eventMetric writes the metadata of a metric in event records.
func (d *dictionary) eventMetric(ctx context.Context, id pcp.PMID) error {
	if _, ok := d.metrics[id]; ok {
		return nil
	}
	names, err := d.c.NameAll(ctx, id)
	if err != nil {
		names = []string{"event_param." + id.String()}
		d.log.printf("Warning: metric %v has no name, using %s\n", id, names[0])
	}
	desc, err := d.c.LookupDesc(ctx, id)
	if err != nil {
		desc = pcp.Desc{PMID: id, Type: pcp.TypeAggregate, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
		d.log.printf("Warning: metric %s (%v) has no descriptor, using a default one\n", names[0], id)
	}
	d.metrics[id] = &logged{desc: desc}
	return d.putDesc(desc, names)
}

// put writes the metadata that a set of the record needs.
func (d *dictionary) put(ctx context.Context, t *task, g *group, id pcp.PMID, pairs []byte) error {
	m, err := d.metric(ctx, t, id)
	if err != nil {
		return err
	}
	if m.desc.InDom == pcp.InDomNull || len(pairs) == 0 {
		now := single
		if len(pairs) == 0 {
			now = nil
		}
		if !equalLists(now, m.available) {
			d.lists.note(m, m.available, now)
		}
		return nil
	}
	last := g.last[id]
	if last == nil {
		last = &instances{record: -1}
		g.last[id] = last
	}
	again := last.record >= g.records-1
	last.record = g.records
	of := d.indoms[m.desc.InDom]
	if again && m.available != nil && last.of == of && last.equal(pairs) {
		return nil // usually nothing is new
	}
	before := d.lists.take(last, pairs)
	if !again {
		before = nil
	}
	changed := again && !equalLists(before, last.sorted)
	if !again || m.available == nil || changed {
		d.lists.note(m, before, last.sorted)
	}
	if err := d.putInDom(ctx, m.desc, last.sorted, changed); err != nil {
		return err
	}
	last.of = d.indoms[m.desc.InDom]
	return nil
}

// steady reports whether the record has only metrics and instances that the archive knows, and
// each metric has the instances of the last record.
func (d *dictionary) steady(g *group, v *values) bool {
	for id, pairs := range v.sets() {
		m := d.metrics[id]
		if m == nil {
			return false
		}
		if len(pairs) == 0 {
			if len(m.available) > 0 {
				return false
			}
			continue
		}
		if m.available == nil {
			return false
		}
		if m.desc.InDom == pcp.InDomNull {
			continue
		}
		last := g.last[id]
		if last == nil || last.record < g.records-1 || last.of != d.indoms[m.desc.InDom] || !last.equal(pairs) {
			return false
		}
		last.record = g.records
	}
	return true
}
