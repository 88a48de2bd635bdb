package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
)

// Meta holds the metadata of an archive. It is safe for concurrent use, but not
// while [Archive.Refresh] runs.
type Meta struct {
	label Label
	descs map[pcp.PMID]pcp.Desc
	names map[pcp.PMID][]string
	ids   map[string]pcp.PMID

	// In the order of the file.
	descOrder  []pcp.PMID
	nameOrder  []string
	indomOrder []pcp.InDom

	nodes sync.Once // sorts the names of metrics that have several

	indoms map[pcp.InDom]*timeline
	texts  map[textKey]string
	labels map[labelKey][]LabelRecord // by time, the latest first; of the same time the last read first
}

type textKey struct {
	kind  pcp.TextKind
	ident uint32
}

type labelKey struct {
	level pcp.LabelFlags
	ident uint32
}

// A LabelRecord holds the labels of one identifier as of a time.
type LabelRecord struct {
	Time  pcp.Timestamp
	Level pcp.LabelFlags // without flags
	Ident uint32         // pcp.PMIDNull for LabelContext
	Sets  []pcp.LabelSet
}

func newMeta(label Label) *Meta {
	return &Meta{
		label:  label,
		descs:  make(map[pcp.PMID]pcp.Desc),
		names:  make(map[pcp.PMID][]string),
		ids:    make(map[string]pcp.PMID),
		indoms: make(map[pcp.InDom]*timeline),
		texts:  make(map[textKey]string),
		labels: make(map[labelKey][]LabelRecord),
	}
}

// load adds all records that mr still has.
func (m *Meta) load(mr *MetaReader) error {
	m.nodes = sync.Once{}
	for {
		rec, err := mr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if mr.debug != nil {
			mr.traceRecord(rec)
		}
		if err := m.add(rec); err != nil {
			return fmt.Errorf("offset %d: %w", rec.Offset, err)
		}
	}
}

func (m *Meta) add(rec *MetaRecord) error {
	switch rec.Type {
	case MetaDesc:
		return m.addDesc(rec)
	case MetaInDomV2, MetaInDom, MetaInDomDelta:
		t := m.indoms[rec.InDom]
		if t == nil {
			if len(rec.Instances) == 0 {
				return nil
			}
			t = new(timeline)
			m.indoms[rec.InDom] = t
			m.indomOrder = append(m.indomOrder, rec.InDom)
		}
		t.add(rec)
	case MetaText:
		// A later text corrects an earlier one.
		m.texts[textKey{rec.TextKind, rec.Ident}] = rec.Text
	case MetaLabelV2, MetaLabel:
		m.addLabels(rec)
	}
	return nil
}

// addDesc refuses a descriptor that contradicts an earlier one. A name that
// already belongs to another metric stays with that one.
func (m *Meta) addDesc(rec *MetaRecord) error {
	id := rec.Desc.PMID
	old, ok := m.descs[id]
	var what pcp.Error
	switch {
	case !ok:
		m.descs[id] = rec.Desc
		m.descOrder = append(m.descOrder, id)
	case old.Type != rec.Desc.Type:
		what = pcp.ErrLogChangeType
	case old.Sem != rec.Desc.Sem:
		what = pcp.ErrLogChangeSem
	case old.InDom != rec.Desc.InDom:
		what = pcp.ErrLogChangeInDom
	case old.Units != rec.Desc.Units:
		what = pcp.ErrLogChangeUnits
	}
	if what != 0 {
		return fmt.Errorf("metric %s: %w", id, what)
	}
	for _, name := range rec.Names {
		if _, ok := m.ids[name]; !ok {
			m.ids[name] = id
			m.nameOrder = append(m.nameOrder, name)
			m.names[id] = append(m.names[id], name)
		}
	}
	return nil
}

func (m *Meta) addLabels(rec *MetaRecord) {
	level := rec.Level.Level()
	key := labelKey{level, rec.Ident}
	if level == pcp.LabelContext {
		key.ident = uint32(pcp.PMIDNull)
	}
	l := LabelRecord{Time: rec.Time, Level: level, Ident: key.ident, Sets: slices.Clone(rec.Labels)}
	list := m.labels[key]
	// C puts a record behind those of the same time, the latest first.
	i := 0
	for i < len(list) && list[i].Time.Compare(l.Time) >= 0 {
		i++
	}
	m.labels[key] = slices.Insert(list, i, l)
}

// dropRepeatedLabels drops sets that repeat those before them in time. It drops
// the labels of instances together or not at all, as the set of instances may have
// changed.
func (m *Meta) dropRepeatedLabels() {
	for key, list := range m.labels {
		kept := list[:0]
		for i := range list {
			l := list[i]
			if i+1 < len(list) {
				before := list[i+1].Sets
				if key.level != pcp.LabelInstances || slices.EqualFunc(l.Sets, before, sameLabels) {
					l.Sets = slices.DeleteFunc(slices.Clone(l.Sets), func(s pcp.LabelSet) bool {
						return slices.ContainsFunc(before, func(b pcp.LabelSet) bool { return sameLabels(s, b) })
					})
				}
				if len(l.Sets) == 0 {
					continue
				}
			}
			kept = append(kept, l)
		}
		clear(list[len(kept):])
		m.labels[key] = kept
	}
}

// sameLabels reports whether two sets have the same labels, in any order.
func sameLabels(a, b pcp.LabelSet) bool {
	if a.Inst != b.Inst || len(a.Index) != len(b.Index) || a.Err != b.Err {
		return false
	}
	for l := range a.All() {
		if other, ok := b.Lookup(l.Name); !ok || other.Value != l.Value {
			return false
		}
	}
	return true
}

// Label returns the label of the file.
func (m *Meta) Label() Label { return m.label }

// Desc returns the descriptor of a metric; pcp.ErrPMIDLog if there is none.
func (m *Meta) Desc(id pcp.PMID) (pcp.Desc, error) {
	d, ok := m.descs[id]
	if !ok {
		return pcp.Desc{}, fmt.Errorf("metric %s: %w", id, pcp.ErrPMIDLog)
	}
	return d, nil
}

// Descs returns the descriptors of all metrics in the order of the file.
func (m *Meta) Descs() []pcp.Desc {
	list := make([]pcp.Desc, len(m.descOrder))
	for i, id := range m.descOrder {
		list[i] = m.descs[id]
	}
	return list
}

// Names returns the names of a metric, in the order in which the tools list
// them. They belong to m.
func (m *Meta) Names(id pcp.PMID) []string {
	m.nodes.Do(m.sortNames)
	return m.names[id]
}

// sortNames sorts the names of metrics that have several as the C library
// does: by the nodes of the name space, in the order of their first use in the
// file.
func (m *Meta) sortNames() {
	var nodes map[string]int
	for _, names := range m.names {
		if len(names) < 2 {
			continue
		}
		if nodes == nil {
			nodes = make(map[string]int)
			for _, name := range m.nameOrder {
				for i := range len(name) + 1 {
					if i < len(name) && name[i] != '.' {
						continue
					}
					if _, ok := nodes[name[:i]]; !ok {
						nodes[name[:i]] = len(nodes)
					}
				}
			}
		}
		slices.SortStableFunc(names, func(a, b string) int {
			for i := range min(len(a), len(b)) + 1 {
				endA, endB := i == len(a) || a[i] == '.', i == len(b) || b[i] == '.'
				if endA && endB && a[:i] == b[:i] {
					continue
				}
				if !endA && !endB && a[i] == b[i] {
					continue
				}
				// They differ in the component that i is in.
				return cmp.Compare(nodes[component(a, i)], nodes[component(b, i)])
			}
			return 0
		})
	}
}

// component returns name to the end of the component that offset i is in.
func component(name string, i int) string {
	if k := strings.IndexByte(name[i:], '.'); k >= 0 {
		return name[:i+k]
	}
	return name
}

// LookupName returns the metric that has a name.
func (m *Meta) LookupName(name string) (pcp.PMID, bool) {
	id, ok := m.ids[name]
	return id, ok
}

// NamesInOrder returns all names in the order of the file.
func (m *Meta) NamesInOrder() iter.Seq2[string, pcp.PMID] {
	return func(yield func(string, pcp.PMID) bool) {
		for _, name := range m.nameOrder {
			if !yield(name, m.ids[name]) {
				return
			}
		}
	}
}

// InDoms returns the instance domains that have instances, in the order of the file.
func (m *Meta) InDoms() []pcp.InDom { return slices.Clone(m.indomOrder) }

// InDom returns the instances that an instance domain has at a time;
// pcp.ErrInDomLog if it has no record until then.
func (m *Meta) InDom(indom pcp.InDom, at pcp.Timestamp) (InDomRecord, error) {
	t := m.indoms[indom]
	i := -1
	if t != nil {
		i = t.at(at)
	}
	if i < 0 {
		return InDomRecord{}, fmt.Errorf("instance domain %s: %w", indom, pcp.ErrInDomLog)
	}
	return InDomRecord{t.records[i].time, t.instances(nil, t.members(i))}, nil
}

func (t *timeline) instances(room []pcp.Instance, set []member) []pcp.Instance {
	room = slices.Grow(room, len(set))
	for _, m := range set {
		room = append(room, pcp.Instance{Inst: m.inst, Name: t.names[m.name]})
	}
	return room
}

// History returns all records of an instance domain in the order of time, each
// with all instances, valid until the next.
func (m *Meta) History(indom pcp.InDom) iter.Seq[InDomRecord] {
	return func(yield func(InDomRecord) bool) {
		t := m.indoms[indom]
		if t == nil {
			return
		}
		var room []pcp.Instance
		t.each(func(at pcp.Timestamp, set []member) bool {
			room = t.instances(room[:0], set)
			return yield(InDomRecord{at, room})
		})
	}
}

// An InDomView names the instances of one instance domain as of a time.
// Looking up takes a hash and a binary search.
type InDomView struct {
	t      *timeline
	record int
}

// View returns the instance domain as of a time.
func (m *Meta) View(indom pcp.InDom, at pcp.Timestamp) InDomView {
	t := m.indoms[indom]
	if t == nil {
		return InDomView{record: -1}
	}
	return InDomView{t, t.at(at)}
}

// Name returns the name of an instance (pmNameInDom(3)).
func (v InDomView) Name(inst int32) (name string, ok bool) {
	if v.record < 0 {
		return "", false
	}
	return v.t.name(v.record, inst)
}

// Text returns help text; pcp.ErrText if there is none. Kind is TextOneLine or
// TextHelp with TextPMID or TextInDom, which selects the kind of ident.
func (m *Meta) Text(kind pcp.TextKind, ident uint32) (string, error) {
	s, ok := m.texts[textKey{kind &^ pcp.TextDirect, ident}]
	if !ok {
		return "", fmt.Errorf("%s of %d: %w", kind, ident, pcp.ErrText)
	}
	return s, nil
}

// HasText reports whether there is any help text of a kind.
func (m *Meta) HasText(kind pcp.TextKind) bool {
	kind &^= pcp.TextDirect
	for k := range m.texts {
		if k.kind == kind {
			return true
		}
	}
	return false
}

// A Text is one help text.
type Text struct {
	Kind  pcp.TextKind
	Ident uint32
	Text  string
}

// Texts returns all help texts: those of metrics before those of instance
// domains, by identifier, one line before the long form.
func (m *Meta) Texts() []Text {
	list := make([]Text, 0, len(m.texts))
	for k, s := range m.texts {
		list = append(list, Text{k.kind, k.ident, s})
	}
	class := func(k pcp.TextKind) int {
		if k&pcp.TextPMID != 0 {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b Text) int {
		return cmp.Or(cmp.Compare(class(a.Kind), class(b.Kind)), cmp.Compare(a.Ident, b.Ident), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// LookupLabels returns the labels of an identifier as of a time, nil if there
// are none, and reports whether there are any at any time.
func (m *Meta) LookupLabels(level pcp.LabelFlags, ident uint32, at pcp.Timestamp) (sets []pcp.LabelSet, known bool) {
	level = level.Level()
	if level == pcp.LabelContext {
		ident = uint32(pcp.PMIDNull)
	}
	list := m.labels[labelKey{level, ident}]
	i, _ := slices.BinarySearchFunc(list, at, func(l LabelRecord, at pcp.Timestamp) int {
		if l.Time.Compare(at) > 0 {
			return -1
		}
		return 1
	})
	if i == len(list) {
		return nil, len(list) > 0
	}
	return list[i].Sets, true
}

// labelOrder is the order in which the tools list levels.
var labelOrder = [...]pcp.LabelFlags{
	pcp.LabelContext, pcp.LabelDomain, pcp.LabelCluster, pcp.LabelItem, pcp.LabelInDom, pcp.LabelInstances,
}

// LabelRecords returns all labels by time, then by level (context, domain,
// cluster, item, instance domain, instances), then by identifier.
func (m *Meta) LabelRecords() []LabelRecord {
	var list []LabelRecord
	for _, l := range m.labels {
		list = append(list, l...)
	}
	slices.SortStableFunc(list, func(a, b LabelRecord) int {
		return cmp.Or(a.Time.Compare(b.Time),
			cmp.Compare(slices.Index(labelOrder[:], a.Level), slices.Index(labelOrder[:], b.Level)),
			cmp.Compare(a.Ident, b.Ident))
	})
	return list
}
