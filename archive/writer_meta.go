package archive

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
)

// known has the metadata that a Writer has written, so that it writes nothing
// twice.
type known struct {
	descs  map[pcp.PMID]pcp.Desc
	indoms map[pcp.InDom]*knownInDom
	texts  map[textKey]string
	labels map[labelKey][]pcp.LabelSet
	sorted []pcp.Instance
	delta  []change
}

type knownInDom struct {
	instances []pcp.Instance
}

// A change is one instance of a delta.
type change struct {
	inst int32
	name string
	gone bool
}

// Desc writes a metric and its names. It does nothing if that metric is already
// written. If the metric had another descriptor then, it returns an error such as
// pcp.ErrLogChangeType.
func (w *Writer) Desc(desc pcp.Desc, names ...string) error {
	if old, ok := w.descs[desc.PMID]; ok {
		if err := sameDesc(old, desc); err != nil {
			return fmt.Errorf("%s: %w", w.meta.path, err)
		}
		return w.err
	}
	b, err := w.beginMeta()
	if err != nil {
		return err
	}
	if b, err = AppendDesc(b, desc, names...); err != nil {
		return fmt.Errorf("%s: %w", w.meta.path, err)
	}
	if err := w.endMeta(b); err != nil {
		return err
	}
	if w.descs == nil {
		w.descs = make(map[pcp.PMID]pcp.Desc)
	}
	w.descs[desc.PMID] = desc
	return nil
}

// sameDesc returns an error if the descriptors of a metric differ.
func sameDesc(old, desc pcp.Desc) error {
	var what pcp.Error
	switch {
	case old.Type != desc.Type:
		what = pcp.ErrLogChangeType
	case old.Sem != desc.Sem:
		what = pcp.ErrLogChangeSem
	case old.InDom != desc.InDom:
		what = pcp.ErrLogChangeInDom
	case old.Units != desc.Units:
		what = pcp.ErrLogChangeUnits
	default:
		return nil
	}
	return fmt.Errorf("metric %s: %w", desc.PMID, what)
}

// InDom writes all instances that an instance domain has from a time on, in any
// order. It does nothing if they are the same as before. In version 3 it writes
// only the changes if they are shorter.
func (w *Writer) InDom(t pcp.Timestamp, indom pcp.InDom, instances []pcp.Instance) error {
	if !slices.IsSortedFunc(instances, compareInstances) {
		w.sorted = append(w.sorted[:0], instances...)
		slices.SortStableFunc(w.sorted, compareInstances)
		instances = w.sorted
	}
	return w.putInDom(t, indom, instances, true)
}

// AddInDom writes an instance domain again for a time for which InDom has written it
// already: with the instances of both, as readers know one set for a time.
func (w *Writer) AddInDom(t pcp.Timestamp, indom pcp.InDom, instances []pcp.Instance) error {
	old := w.indoms[indom]
	if old == nil {
		return w.InDom(t, indom, instances)
	}
	both := slices.Concat(instances, old.instances)
	slices.SortStableFunc(both, compareInstances)
	both = slices.CompactFunc(both, func(a, b pcp.Instance) bool { return a.Inst == b.Inst })
	return w.putInDom(t, indom, both, false) // all: the C library does not apply a change of the same time
}

// putInDom writes an instance domain, perhaps as its changes only. Instances are in ascending order.
func (w *Writer) putInDom(t pcp.Timestamp, indom pcp.InDom, instances []pcp.Instance, delta bool) error {
	old := w.indoms[indom]
	if old != nil && slices.Equal(old.instances, instances) {
		return w.err
	}
	b, err := w.beginMeta()
	if err != nil {
		return err
	}
	if delta && old != nil && w.label.Version >= Version3 && w.compare(old.instances, instances) {
		changes := w.delta
		b, err = appendInDom(b, MetaInDomDelta, t, indom, len(changes), func(i int) (int32, string, bool) {
			return changes[i].inst, changes[i].name, !changes[i].gone
		})
	} else {
		b, err = AppendInDom(b, t, indom, instances, w.label.Version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.meta.path, err)
	}
	w.need = true
	if err := w.endMeta(b); err != nil {
		return err
	}
	if old == nil {
		if w.indoms == nil {
			w.indoms = make(map[pcp.InDom]*knownInDom)
		}
		old = new(knownInDom)
		w.indoms[indom] = old
	}
	old.instances = append(old.instances[:0], instances...)
	return nil
}

func compareInstances(a, b pcp.Instance) int { return cmp.Compare(a.Inst, b.Inst) }

// compare puts the changes between two sorted sets of instances into w.delta and
// reports whether to write that. As in the C library, it does if the delta has no
// more instances than the new set. A delta cannot give an instance a new name, nor
// follow or make an empty set, as readers ignore empty sets.
func (w *Writer) compare(old, set []pcp.Instance) bool {
	if len(old) == 0 || len(set) == 0 {
		return false
	}
	w.delta = w.delta[:0]
	limit := len(set)
	for len(old) > 0 || len(set) > 0 {
		switch {
		case len(set) == 0 || len(old) > 0 && old[0].Inst < set[0].Inst:
			w.delta = append(w.delta, change{inst: old[0].Inst, gone: true})
			old = old[1:]
		case len(old) == 0 || set[0].Inst < old[0].Inst:
			w.delta = append(w.delta, change{inst: set[0].Inst, name: set[0].Name})
			set = set[1:]
		case old[0].Name != set[0].Name:
			return false
		default:
			old, set = old[1:], set[1:]
		}
		if len(w.delta) > limit {
			return false
		}
	}
	return true
}

// Text writes help text: kind is TextOneLine or TextHelp with TextPMID or
// TextInDom, which selects the kind of ident. It does nothing if the same text is
// already written.
func (w *Writer) Text(kind pcp.TextKind, ident uint32, text string) error {
	key := textKey{kind &^ pcp.TextDirect, ident}
	if old, ok := w.texts[key]; ok && old == text {
		return w.err
	}
	b, err := w.beginMeta()
	if err != nil {
		return err
	}
	if b, err = AppendText(b, key.kind, ident, text); err != nil {
		return fmt.Errorf("%s: %w", w.meta.path, err)
	}
	if err := w.endMeta(b); err != nil {
		return err
	}
	if w.texts == nil {
		w.texts = make(map[textKey]string)
	}
	w.texts[key] = text
	return nil
}

// Labels writes the labels that an identifier has from a time on: one set, or
// with LabelInstances one for each instance. Optional labels do not belong in an
// archive and are left out. It does nothing if nothing is left, or if the labels
// are the same as before.
func (w *Writer) Labels(t pcp.Timestamp, level pcp.LabelFlags, ident uint32, sets []pcp.LabelSet) error {
	if w.err != nil {
		return w.err
	}
	level = level.Level()
	if level == pcp.LabelContext {
		ident = uint32(pcp.PMIDNull)
	}
	sets, err := withoutOptional(sets)
	if err != nil {
		return fmt.Errorf("%s: %w", w.meta.path, err)
	}
	key := labelKey{level, ident}
	if len(sets) == 0 || slices.EqualFunc(sets, w.labels[key], equalSets) {
		return nil
	}
	b, err := w.beginMeta()
	if err != nil {
		return err
	}
	if b, err = AppendLabels(b, t, level, ident, sets, w.label.Version); err != nil {
		return fmt.Errorf("%s: %w", w.meta.path, err)
	}
	if err := w.endMeta(b); err != nil {
		return err
	}
	if w.labels == nil {
		w.labels = make(map[labelKey][]pcp.LabelSet)
	}
	kept := make([]pcp.LabelSet, len(sets))
	for i, s := range sets {
		s.Index = slices.Clone(s.Index)
		kept[i] = s
	}
	w.labels[key] = kept
	return nil
}

func equalSets(a, b pcp.LabelSet) bool {
	return a.Inst == b.Inst && a.Err == b.Err && a.JSON == b.JSON && slices.Equal(a.Index, b.Index)
}

// withoutOptional returns the sets without optional labels, and without sets that
// are empty then. It returns sets itself if there is nothing to leave out.
func withoutOptional(sets []pcp.LabelSet) ([]pcp.LabelSet, error) {
	optional := func(l pcp.LabelIndex) bool { return l.Flags&pcp.LabelOptional != 0 }
	drop := func(s pcp.LabelSet) bool {
		return s.Err != 0 || len(s.Index) == 0 || slices.ContainsFunc(s.Index, optional)
	}
	if !slices.ContainsFunc(sets, drop) {
		return sets, nil
	}
	var kept []pcp.LabelSet
	for _, s := range sets {
		if s.Err != 0 || !slices.ContainsFunc(s.Index, func(l pcp.LabelIndex) bool { return !optional(l) }) {
			continue
		}
		if slices.ContainsFunc(s.Index, optional) {
			inst := s.Inst
			var err error
			s, err = pcp.MergeLabels([]pcp.LabelSet{s}, func(l pcp.Label) bool { return l.Flags&pcp.LabelOptional == 0 })
			if err != nil {
				return nil, err
			}
			s.Inst = inst
		}
		kept = append(kept, s)
	}
	return kept, nil
}
