package logextract

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A metric is the state of a metric in all inputs.
type metric struct {
	id    pcp.PMID
	known bool // there is a descriptor
	desc  pcp.Desc
	names []string
	body  []byte // the record, starting at the type, until it is written

	labels [3]*labelRec // of the item, the domain and the cluster
	texts  [2]*textRec
	indom  *indom // nil if it has no instances

	want    *wanted // from the configuration file, nil if that does not name the metric
	skip    bool    // -x
	settled bool    // nothing is left to write except the instance domain
}

// A labelRec is a record of labels. Only one counts for each identifier, as in version 6 of the C tool; with allLabels
// the others are in later.
type labelRec struct {
	stamp pcp.Timestamp
	body  []byte // nil: it is written
	later []*labelRec
}

// written reports whether all records of an identifier are written.
func (l *labelRec) written() bool {
	return l == nil || l.body == nil && !slices.ContainsFunc(l.later, func(l *labelRec) bool { return l.body != nil })
}

// A textRec is a help text; the last of several counts.
type textRec struct {
	body    []byte
	written bool
}

type textKey struct {
	kind  pcp.TextKind // TextOneLine or TextHelp, with TextPMID or TextInDom
	ident uint32
}

// labelTable holds the labels of one level.
type labelTable struct {
	chain chain
	recs  []*labelRec
}

func (t *labelTable) find(ident uint32) *labelRec {
	if t == nil {
		return nil
	}
	if n := t.chain.find(ident); n >= 0 {
		return t.recs[n]
	}
	return nil
}

// metadata is all of the metadata that may be needed.
type metadata struct {
	metrics   map[pcp.PMID]*metric
	chain     chain     // of descriptors
	described []*metric // in the order of chain
	byName    map[string][]*metric
	indoms    map[pcp.InDom]*indom
	labels    map[pcp.LabelFlags]*labelTable
	texts     map[textKey]*textRec
	context   *labelRec
	skipped   []pcp.PMID
	record    uint64 // number of the output record
}

// loadMeta loads the metadata of all inputs, a record of each in turn, as the C tool
// does: this order determines the later one of two conflicting records.
func (x *extractor) loadMeta() error {
	x.md = metadata{
		metrics: make(map[pcp.PMID]*metric), byName: make(map[string][]*metric),
		indoms: make(map[pcp.InDom]*indom), labels: make(map[pcp.LabelFlags]*labelTable),
		texts: make(map[textKey]*textRec),
	}
	histories := make(map[histKey]*history)
	for left := len(x.inputs); left > 0; {
		left = 0
		for _, in := range x.inputs {
			if in.metaEnd {
				continue
			}
			left++
			for {
				body, err := in.meta.next()
				if err != nil {
					in.metaEnd = true
					if err == io.EOF {
						break
					}
					x.complain("Error: pmaGetLog[meta %s]: %s", in.name, errText(err))
					x.report(err)
					return errAbandon
				}
				took, err := x.takeMeta(in, body, histories)
				if err != nil {
					return err
				}
				if took {
					break
				}
			}
		}
	}
	x.link()
	return nil
}

type histKey struct {
	meta *metaFile
	id   pcp.InDom
}

// takeMeta adds a record, if it is selected.
func (x *extractor) takeMeta(in *input, body []byte, histories map[histKey]*history) (bool, error) {
	typ, stamp, rest, ok := archive.SplitMeta(body)
	size := map[archive.MetaType]int{
		archive.MetaDesc: 20, archive.MetaInDomV2: 8, archive.MetaInDom: 8, archive.MetaInDomDelta: 8,
		archive.MetaLabelV2: 12, archive.MetaLabel: 12, archive.MetaText: 9,
	}[typ]
	if size == 0 {
		x.complain("Error: unrecognised meta data type: %d", typ)
		return false, errAbandon
	}
	if !ok || len(rest) < size {
		return false, fmt.Errorf("%s.meta: record of %d bytes: %w", in.a.Path(), len(body), pcp.ErrLogRec)
	}
	switch typ {
	case archive.MetaDesc:
		return x.takeDesc(body)
	case archive.MetaInDomV2, archive.MetaInDom, archive.MetaInDomDelta:
		id := pcp.InDom(be(rest))
		key := histKey{in.meta, id}
		rec := indomRec{stamp: stamp, typ: typ, body: body}
		if typ != archive.MetaInDomV2 {
			h := histories[key]
			if h == nil {
				h = new(history)
				histories[key] = h
			}
			rec.number = len(h.bodies)
			h.bodies = append(h.bodies, body)
			if typ == archive.MetaInDomDelta {
				rec.delta = h
			}
		}
		if x.sel != nil && !x.sel.indoms[id] {
			return false, nil
		}
		if typ == archive.MetaInDomDelta && in.meta.version < archive.Version3 {
			return false, fmt.Errorf("%s.meta: instance domain %s: a delta in version 2: %w", in.a.Path(), id, pcp.ErrRecType)
		}
		d := x.md.indom(id)
		d.recs = append(d.recs, rec)
		return true, nil
	case archive.MetaLabelV2, archive.MetaLabel:
		return x.takeLabels(labelRec{stamp: stamp, body: body}, rest)
	}
	return x.takeText(body)
}

func (md *metadata) indom(id pcp.InDom) *indom {
	d := md.indoms[id]
	if d == nil {
		d = &indom{id: id}
		md.indoms[id] = d
	}
	return d
}

// metric returns the metric with an identifier, which may be unknown.
func (md *metadata) metric(id pcp.PMID) *metric {
	m := md.metrics[id]
	if m == nil {
		m = &metric{id: id}
		md.metrics[id] = m
	}
	return m
}

// descNames returns the names in a descriptor.
func descNames(body []byte) []string {
	if len(body) < 28 {
		return nil
	}
	n, b := int(int32(be(body[24:]))), body[28:]
	var names []string
	for range n {
		if len(b) < 4 {
			break
		}
		k := int(be(b))
		if k > len(b)-4 {
			break
		}
		names = append(names, string(b[4:4+k]))
		b = b[4+k:]
	}
	return names
}

// takeDesc adds a descriptor, and compares it with the previous one.
func (x *extractor) takeDesc(body []byte) (bool, error) {
	md := &x.md
	desc := pcp.Desc{
		PMID: pcp.PMID(be(body[4:])), Type: pcp.Type(be(body[8:])), InDom: pcp.InDom(be(body[12:])),
		Sem: pcp.Sem(be(body[16:])), Units: pcp.UnpackUnits(be(body[20:])),
	}
	if x.sel != nil && x.sel.metrics[desc.PMID] == nil || slices.Contains(md.skipped, desc.PMID) {
		return false, nil
	}
	names := descNames(body)
	if err := x.sameNames(desc.PMID, names); err != nil {
		return false, err
	}
	m := md.metric(desc.PMID)
	if m.known {
		return true, x.sameDesc(m, desc, names)
	}
	m.known, m.desc, m.names, m.body = true, desc, names, body
	m.indom = md.indom(desc.InDom)
	md.chain.add(uint32(desc.PMID))
	md.described = append(md.described, m)
	for _, name := range names {
		if !slices.Contains(md.byName[name], m) {
			md.byName[name] = append(md.byName[name], m)
		}
	}
	return true, nil
}

// sameNames looks for other metrics with one of the names.
func (x *extractor) sameNames(id pcp.PMID, names []string) error {
	md := &x.md
	var other []*metric
	for _, name := range names {
		for _, m := range md.byName[name] {
			if m.id != id && !slices.Contains(other, m) {
				other = append(other, m)
			}
		}
	}
	if len(other) == 0 {
		return nil
	}
	for _, n := range md.chain.order() {
		m := md.described[n]
		if !slices.Contains(other, m) {
			continue
		}
		if err := x.conflict(m, "metric %s: PMID changed from %s to %s!", strings.Join(m.names, ", "), m.id, id); err != nil {
			return err
		}
	}
	return nil
}

// conflict reports that a metric differs between inputs, which only -x permits.
func (x *extractor) conflict(m *metric, format string, args ...any) error {
	level := "Error"
	if x.ignoreConflicts {
		level = "Warning"
	}
	x.complain("%s: %s", level, fmt.Sprintf(format, args...))
	if !x.ignoreConflicts {
		return errAbandon
	}
	m.skip = true
	if !slices.Contains(x.md.skipped, m.id) {
		x.md.skipped = append(x.md.skipped, m.id)
	}
	return nil
}

// sameDesc compares the descriptor of a metric with that of another input.
func (x *extractor) sameDesc(m *metric, desc pcp.Desc, names []string) error {
	old := strings.Join(m.names, ", ")
	if !equalNames(m.names, names) {
		if err := x.conflict(m, "metric PMID %s: name changed from %s to %s!", m.id, old, strings.Join(names, ", ")); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		differs  bool
		what     string
		from, to string
	}{
		{m.desc.Type != desc.Type, "type", m.desc.Type.String(), desc.Type.String()},
		{m.desc.InDom != desc.InDom, "indom", m.desc.InDom.String(), desc.InDom.String()},
		{m.desc.Sem != desc.Sem, "semantics", semText(m.desc.Sem), semText(desc.Sem)},
		{m.desc.Units != desc.Units, "units", m.desc.Units.String(), desc.Units.String()},
	} {
		if !c.differs {
			continue
		}
		if err := x.conflict(m, "metric %s: %s changed from %s to %s!", old, c.what, c.from, c.to); err != nil {
			return err
		}
	}
	return nil
}

func semText(s pcp.Sem) string {
	switch s {
	case pcp.SemCounter, pcp.SemInstant, pcp.SemDiscrete:
		return s.String()
	}
	return fmt.Sprintf("unknown (%d)", int32(s))
}

// equalNames reports whether two sets of names are equal; a name may occur more than
// once.
func equalNames(a, b []string) bool {
	has := func(list []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(list, name) }
	}
	return !slices.ContainsFunc(a, has(b)) && !slices.ContainsFunc(b, has(a))
}

// takeLabels adds labels, which begin with their level and identifier.
func (x *extractor) takeLabels(rec labelRec, b []byte) (bool, error) {
	level, ident := pcp.LabelFlags(be(b)), be(b[4:])
	if be(b) > 0xff {
		level = 0
	}
	if x.sel != nil {
		want, known := x.sel.wantsLabels(level, ident)
		if !known {
			x.complain("Error: invalid label set type: %d", int32(be(b)))
			return false, errAbandon
		}
		if !want {
			return false, nil
		}
	}
	t := x.md.labels[level]
	if t == nil {
		t = new(labelTable)
		x.md.labels[level] = t
	}
	if x.allLabels {
		if first := t.find(ident); first != nil {
			first.later = append(first.later, &rec)
			return true, nil
		}
	}
	t.chain.add(ident)
	t.recs = append(t.recs, &rec)
	return true, nil
}

// takeText adds a help text.
func (x *extractor) takeText(body []byte) (bool, error) {
	kind, ident := pcp.TextKind(be(body[4:])), be(body[8:])
	if x.sel != nil {
		switch {
		case kind&pcp.TextPMID != 0:
			if x.sel.metrics[pcp.PMID(ident)] == nil {
				return false, nil
			}
		case kind&pcp.TextInDom != 0:
			if !x.sel.indoms[pcp.InDom(ident)] {
				return false, nil
			}
		default:
			x.complain("Error: invalid text type: %d", kind)
			return false, errAbandon
		}
	}
	target := kind & (pcp.TextPMID | pcp.TextInDom)
	class := kind & (pcp.TextOneLine | pcp.TextHelp)
	if target != pcp.TextPMID && target != pcp.TextInDom {
		x.complain("append_textreclist: Botch: bad type %d for ident %d", kind, int32(ident))
		return false, errAbandon
	}
	what := "metric PMID " + pcp.PMID(ident).String()
	if target == pcp.TextInDom {
		what = "instance domain " + pcp.InDom(ident).String()
	}
	if class != pcp.TextOneLine && class != pcp.TextHelp {
		of := "pmid " + pcp.PMID(ident).String()
		if target == pcp.TextInDom {
			of = "indom " + pcp.InDom(ident).String()
		}
		x.complain("append_textreclist: Botch: bad type %d for %s", kind, of)
		return false, errAbandon
	}
	key := textKey{target | class, ident}
	rec := x.md.texts[key]
	if rec == nil {
		x.md.texts[key] = &textRec{body: body}
		return true, nil
	}
	from, to := ctext.Bytes(rec.body[12:]), ctext.Bytes(body[12:])
	if !bytes.Equal(from, to) {
		if class == pcp.TextOneLine {
			x.complain("Warning: %s one line text changed from\n  \"%s\" to\n  \"%s\"!", what, from, to)
		} else {
			x.complain("Warning: %s help text changed!", what)
		}
	}
	rec.body = body
	return true, nil
}

// link links metrics and instance domains to their labels and texts, once all are
// loaded.
func (x *extractor) link() {
	md := &x.md
	md.context = md.labels[pcp.LabelContext].find(uint32(pcp.PMIDNull))
	text := func(kind pcp.TextKind, ident uint32) [2]*textRec {
		return [2]*textRec{md.texts[textKey{kind | pcp.TextOneLine, ident}], md.texts[textKey{kind | pcp.TextHelp, ident}]}
	}
	if x.sel != nil {
		for id, w := range x.sel.metrics {
			md.metric(id).want = w
		}
	}
	for _, m := range md.metrics {
		m.labels = [3]*labelRec{
			md.labels[pcp.LabelItem].find(uint32(m.id)),
			md.labels[pcp.LabelDomain].find(uint32(m.id.Domain())),
			md.labels[pcp.LabelCluster].find(uint32(pcp.NewPMID(m.id.Domain(), m.id.Cluster(), 0))),
		}
		m.texts = text(pcp.TextPMID, uint32(m.id))
		if m.desc.InDom == pcp.InDomNull {
			m.indom = nil
		}
	}
	for _, d := range md.indoms {
		d.labels = [2]*labelRec{
			md.labels[pcp.LabelInDom].find(uint32(d.id)), md.labels[pcp.LabelInstances].find(uint32(d.id)),
		}
		d.texts = text(pcp.TextInDom, uint32(d.id))
	}
}

// writeMeta writes the metadata that a record needs and that have not been written yet.
// It reports whether they included an instance domain.
func (x *extractor) writeMeta(r *record) (indoms bool, err error) {
	md := &x.md
	md.record++
	if err := x.writeLabels(md.context, r.Time); err != nil {
		return false, err
	}
	for _, m := range r.metrics {
		if m.settled && (m.indom == nil || m.indom.settled || m.indom.looked == md.record) {
			continue
		}
		if !m.known {
			x.complain("Error: meta data (TYPE_DESC) for pmid %s has not been found.", m.id)
			return false, errAbandon
		}
		if !m.settled {
			if err := x.writeMetric(m, r.Time); err != nil {
				return false, err
			}
		}
		if m.indom != nil && m.indom.looked != md.record && !m.indom.settled {
			m.indom.looked = md.record
			wrote, err := x.writeInDom(m.indom, r.Time)
			if err != nil {
				return false, err
			}
			indoms = indoms || wrote
		}
	}
	return indoms, nil
}

func (x *extractor) writeMetric(m *metric, t pcp.Timestamp) error {
	if m.body != nil {
		if err := x.out.WriteMeta(m.body); err != nil {
			return x.writeFailed("pmaPutLog: meta data ", err)
		}
		m.body = nil
	}
	m.settled = true
	for _, l := range m.labels {
		if err := x.writeLabels(l, t); err != nil {
			return err
		}
		m.settled = m.settled && l.written()
	}
	return x.writeTexts(m.texts)
}

func (x *extractor) writeTexts(texts [2]*textRec) error {
	for _, rec := range texts {
		if rec == nil || rec.written {
			continue
		}
		if err := x.out.WriteMeta(rec.body); err != nil {
			return x.writeFailed("pmaPutLog: meta data ", err)
		}
		rec.written = true
	}
	return nil
}

// writeLabels writes the labels that hold at a time, unless already written.
func (x *extractor) writeLabels(l *labelRec, t pcp.Timestamp) error {
	if l == nil {
		return nil
	}
	if err := x.writeLabel(l, t); err != nil {
		return err
	}
	for _, l := range l.later {
		if err := x.writeLabel(l, t); err != nil {
			return err
		}
	}
	return nil
}

func (x *extractor) writeLabel(l *labelRec, t pcp.Timestamp) error {
	if l.body == nil || l.stamp.Compare(t) > 0 {
		return nil
	}
	var err error
	if x.buf, err = archive.AppendMetaCopy(x.buf[:0], l.body, t, x.version); err == nil {
		err = x.out.WriteMeta(x.buf)
	}
	if err != nil {
		return x.writeFailed("pmaPutLog: meta data ", err)
	}
	l.body = nil
	return nil
}

// writeInDom writes the instances as of a time, unless already written.
func (x *extractor) writeInDom(d *indom, t pcp.Timestamp) (wrote bool, err error) {
	if len(d.recs) > 0 {
		rec := d.closest(t)
		if rec == nil || rec.written {
			return false, nil
		}
		if x.buf, err = d.append(x.buf[:0], rec, t, x.version); err == nil {
			err = x.out.WriteMeta(x.buf)
		}
		if err != nil {
			return false, x.writeFailed("pmaPutLog: meta data ", err)
		}
		rec.written, wrote = true, true
		d.settled = len(d.recs) == 1
	}
	for _, l := range d.labels {
		if err := x.writeLabels(l, t); err != nil {
			return wrote, err
		}
	}
	return wrote, x.writeTexts(d.texts)
}
