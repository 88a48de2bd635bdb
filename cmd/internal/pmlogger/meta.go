package pmlogger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// metric writes the metadata of a metric of a task if the archive lacks them.
func (r *Recorder) metric(ctx context.Context, t *task, id pcp.PMID) (*logged, error) {
	if m, ok := r.written[id]; ok {
		return m, nil
	}
	i, ok := t.byID[id]
	if !ok {
		return nil, fmt.Errorf("the collector sent %v, which was not asked for: %w", id, pcp.ErrIPC)
	}
	d := t.metrics[i].desc
	if err := r.putDesc(d, r.names(ctx, id)); err != nil {
		return nil, err
	}
	for _, k := range []labelKey{
		{pcp.LabelContext, uint32(pcp.InDomNull)},
		{pcp.LabelDomain, uint32(id.Domain())},
		{pcp.LabelInDom, uint32(d.InDom)},
		{pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))},
		{pcp.LabelItem, uint32(id)},
		{pcp.LabelInstances, uint32(d.InDom)},
	} {
		if d.InDom == pcp.InDomNull && (k.level == pcp.LabelInDom || k.level == pcp.LabelInstances) || r.labels[k] {
			continue
		}
		if err := r.putLabels(ctx, k.level, k.ident); err != nil {
			return nil, err
		}
		r.labels[k] = true
	}
	if err := r.putTexts(ctx, d); err != nil {
		return nil, err
	}
	m := &logged{desc: d}
	r.written[id] = m
	return m, nil
}

// putDesc writes a descriptor. A derived metric is written like any other.
func (r *Recorder) putDesc(d pcp.Desc, names []string) error {
	d.PMID = d.PMID.Logged()
	b, err := archive.AppendDesc(r.meta[:0], d, names...)
	if err != nil {
		return err
	}
	return r.putMeta(b)
}

// putMeta writes a metadata record. The recorder tracks the written records, so that the writer need
// not.
func (r *Recorder) putMeta(b []byte) error {
	r.meta = b
	return r.out.w.WriteMeta(b)
}

func (r *Recorder) putText(kind pcp.TextKind, ident uint32, text string) error {
	b, err := archive.AppendText(r.meta[:0], kind, ident, text)
	if err != nil {
		return err
	}
	return r.putMeta(b)
}

// ahead requests the metadata of the metrics in r.res that the archive lacks, if there are several.
func (r *Recorder) ahead(ctx context.Context, t *task) (asked bool, err error) {
	var descs []pcp.Desc
	for _, id := range r.ids {
		if _, ok := r.written[id]; ok {
			continue
		}
		if i, ok := t.byID[id]; ok {
			descs = append(descs, t.metrics[i].desc)
		}
	}
	if len(descs) < 2 {
		return false, nil
	}
	return true, r.c.Ahead(ctx, descs)
}

// names returns the names of a metric: the collector's, and those in tasks.
func (r *Recorder) names(ctx context.Context, id pcp.PMID) []string {
	names, err := r.c.NameAll(ctx, id)
	if err != nil {
		names = nil
	}
	return r.plan.names(names, id)
}

// putLabels writes the current labels. A collector that does not support labels
// counts as one without labels.
func (r *Recorder) putLabels(ctx context.Context, level pcp.LabelFlags, ident uint32) error {
	sets, err := r.c.Labels(ctx, level, ident)
	if lost(err) {
		return err
	}
	if err != nil || len(sets) == 0 {
		return nil
	}
	if level == pcp.LabelItem {
		ident = uint32(pcp.PMID(ident).Logged())
	}
	return r.out.w.Labels(r.res.Time, level, ident, sets)
}

// labelsAgain writes the labels that differ from those in the archive. The collector does not report
// which have changed.
func (r *Recorder) labelsAgain(ctx context.Context) error {
	if err := r.putLabels(ctx, pcp.LabelContext, uint32(pcp.InDomNull)); err != nil {
		return err
	}
	var descs []pcp.Desc
	for _, m := range r.written {
		descs = append(descs, m.desc)
	}
	if err := r.c.AheadLabels(ctx, descs); err != nil {
		return err
	}
	defer r.c.Rest()
	keys := slices.SortedFunc(maps.Keys(r.labels), func(a, b labelKey) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.ident, b.ident))
	})
	for _, k := range keys {
		if k.level == pcp.LabelContext {
			continue
		}
		if err := r.putLabels(ctx, k.level, k.ident); err != nil {
			return err
		}
	}
	return nil
}

// putTexts writes the help texts of a metric and of its instance domain.
func (r *Recorder) putTexts(ctx context.Context, d pcp.Desc) error {
	for _, kind := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
		if text, err := r.c.LookupText(ctx, d.PMID, kind); err == nil {
			if err := r.putText(kind|pcp.TextPMID, uint32(d.PMID.Logged()), text); err != nil {
				return err
			}
		}
		if d.InDom == pcp.InDomNull || r.texts[d.InDom] {
			continue
		}
		if text, err := r.c.LookupInDomText(ctx, d.InDom, kind); err == nil {
			if err := r.putText(kind|pcp.TextInDom, uint32(d.InDom), text); err != nil {
				return err
			}
		}
	}
	if d.InDom != pcp.InDomNull {
		r.texts[d.InDom] = true
	}
	return nil
}

// putInDom writes an instance domain if the next record has instances unknown to
// the archive, or other instances than the last record.
func (r *Recorder) putInDom(ctx context.Context, d pcp.Desc, insts []int32, changed bool) error {
	old := r.indoms[d.InDom]
	if old != nil && old.record == r.records {
		return nil // it was written for this record
	}
	// Samples have the time of earlier ones while the collector's clock is behind.
	again := old != nil && r.res.Time.Compare(old.at) <= 0
	if old != nil && (again || !changed) && subset(insts, old.insts) {
		return nil
	}
	list, err := r.c.GetInDom(ctx, d.InDom)
	if err != nil {
		return fmt.Errorf("instance domain %v: %w", d.InDom, err)
	}
	now := &loggedInDom{at: r.res.Time, record: r.records, insts: make([]int32, len(list))}
	for i := range list {
		now.insts[i] = list[i].Inst
	}
	if again {
		now.insts = append(now.insts, old.insts...)
	}
	slices.Sort(now.insts)
	now.insts = slices.Compact(now.insts)
	put := r.out.w.InDom
	if again {
		put = r.out.w.AddInDom
	}
	grown := old != nil && !subset(now.insts, old.insts)
	r.indoms[d.InDom] = now
	if err := put(r.res.Time, d.InDom, list); err != nil {
		return err
	}
	if grown {
		return r.putLabels(ctx, pcp.LabelInstances, uint32(d.InDom))
	}
	return nil
}

// subset reports whether all numbers of a are in of. Both are in ascending order.
func subset(a, of []int32) bool {
	for _, n := range a {
		for len(of) > 0 && of[0] < n {
			of = of[1:]
		}
		if len(of) == 0 || of[0] != n {
			return false
		}
	}
	return true
}

// eventMetric writes the metadata of a metric in event records.
func (r *Recorder) eventMetric(ctx context.Context, id pcp.PMID) error {
	if _, ok := r.written[id]; ok {
		return nil
	}
	names, err := r.c.NameAll(ctx, id)
	if err != nil {
		names = []string{"event_param." + id.String()}
		r.log.printf("Warning: metric %v has no name, using %s\n", id, names[0])
	}
	d, err := r.c.LookupDesc(ctx, id)
	if err != nil {
		d = pcp.Desc{PMID: id, Type: pcp.TypeAggregate, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
		r.log.printf("Warning: metric %s (%v) has no descriptor, using a default one\n", names[0], id)
	}
	r.written[id] = &logged{desc: d}
	return r.putDesc(d, names)
}
