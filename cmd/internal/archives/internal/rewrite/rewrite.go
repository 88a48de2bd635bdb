package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A ReadError is an error of the archive that is rewritten.
type ReadError struct {
	Meta   bool // in the metadata, not in a volume
	Volume int
	Offset int64 // of the unreadable record
	Err    error
}

func (e *ReadError) Error() string { return e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// A rewriter writes the copy of an archive.
type rewriter struct {
	rules  *Rules
	out    *archive.Writer
	copier *archive.Copier
	botch  func(string)

	concerned map[pcp.PMID]*metricSpec // metrics that change in records
	plans     [archive.MaxLayouts + 1]layoutPlan
	parts     []archive.Part
	pool      []pcp.Value
	used      int
	numbers   []int32 // of the parts
	picks     []int

	uses   map[pcp.InDom]int // number of metrics of the copy by instance domain
	states map[pcp.InDom]*archive.InDomState
	last   map[pcp.InDom][]archive.Change // instances in the copy, version 3 only
	buf    []byte

	meta    *archive.MetaReader
	pending *archive.MetaRecord // read and not yet written
	body    []byte
	ended   bool

	needIndex bool
	events    bool // there is a metric of events, whose parameters are not in records
}

// Rewrite writes the archive with the changes of the rules to a Writer that has the
// label that [Rules.Label] returns and makes no index itself ([archive.WriterConfig]).
// The Writer is not closed. Note, if not nil, is called with the oddities of the
// archive.
func (r *Rules) Rewrite(ctx context.Context, out *archive.Writer, note func(string)) error {
	meta, c, err := r.a.OpenMeta()
	if err != nil {
		return &ReadError{Meta: true, Err: err}
	}
	defer c.Close()
	if note == nil {
		note = func(string) {}
	}
	w := &rewriter{
		rules: r, out: out, copier: archive.NewCopier(out), botch: note, meta: meta,
		concerned: make(map[pcp.PMID]*metricSpec), uses: make(map[pcp.InDom]int),
		states: make(map[pcp.InDom]*archive.InDomState), last: make(map[pcp.InDom][]archive.Change),
	}
	for _, s := range r.indoms {
		s.byInst, s.renumbers = make(map[int32]int), false
		for i := range s.insts {
			c := &s.insts[i]
			if c.changed() {
				s.byInst[c.inst] = i
			}
			s.renumbers = s.renumbers || c.setInst || c.deleted
		}
	}
	for _, s := range r.metrics {
		if s.concerns() {
			w.concerned[s.old.PMID] = s
		}
	}
	w.countUses()
	return w.run(ctx)
}

// Label returns the label of the copy. Its start is that of the first record.
func (r *Rules) Label() archive.Label {
	l := r.meta.Label()
	l.Version, l.Start = r.version, pcp.Timestamp{}
	if r.global.setHost {
		l.Host = r.global.host
	}
	if r.global.setTimeZone {
		l.TimeZone = r.global.timeZone
	}
	if r.global.setZoneInfo {
		l.ZoneInfo = r.global.zoneInfo
	}
	if r.global.setFeatures {
		l.Features = r.global.features
	}
	return l
}

// countUses counts the metrics of each instance domain: a domain that no metric of the
// copy has is not copied.
func (w *rewriter) countUses() {
	r := w.rules
	descs := r.meta.Descs()
	if r.tracing() != nil {
		descs = inTableOrder(descs)
	}
	for _, d := range descs {
		if d.InDom != pcp.InDomNull {
			w.use("ref++", d.InDom, 1, d.PMID)
		}
	}
	for s := range fromLast(r.metrics) {
		switch {
		case s.flags&metricDelete != 0:
			if s.old.InDom != pcp.InDomNull {
				w.use("delete metric ref--", s.old.InDom, -1, s.old.PMID)
			}
		case s.flags&metricInDom != 0:
			if s.old.InDom != pcp.InDomNull {
				w.use("renumber indom ref--", s.old.InDom, -1, s.old.PMID)
			}
			if s.new.InDom == pcp.InDomNull {
				continue
			}
			id := s.new.InDom
			if _, ok := w.uses[id]; !ok {
				var from *indomSpec
				for in := range fromLast(r.indoms) {
					if in.new == id {
						from = in
						break
					}
				}
				if from == nil {
					w.botch(fmt.Sprintf("Botch: new InDom: %s (PMID: %s): not in indom_root table", id, s.old.PMID))
					continue
				}
				if _, ok := w.uses[from.old]; !ok {
					w.botch(fmt.Sprintf("Botch: input InDom: %s (PMID: %s): not in indom_hash table", from.old, s.old.PMID))
					continue
				}
				id = from.old
			}
			w.use("renumber indom ref++", id, 1, s.old.PMID)
		}
	}
}

// frame is the number of bytes of the length words of a record.
const frame = 8

// run copies record by record, each after its metadata.
func (w *rewriter) run(ctx context.Context) error {
	r := w.rules
	scan := archive.NewScanner(r.a)
	defer scan.Close()
	index := r.a.Index()
	var last pcp.Timestamp          // of the last record
	entry := pcp.Timestamp{Sec: -1} // of the last entry of the index: PCP 7 has one for a time, and an archive may start at 0
	lastAt, volume := int64(-1), -1
	indexed, readAt := false, int64(archive.LabelSize(r.a.Version()))
	for number := 0; ; number++ {
		if number&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		_, _, metaAt := w.out.Position()
		rec, err := scan.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if volume < 0 { // not even the first record
				volume = r.a.Volumes()[0]
			}
			return &ReadError{Volume: volume, Offset: readAt, Err: err}
		}
		if volume >= 0 && rec.Volume != volume {
			vol, _, _ := w.out.Position()
			if err := w.out.NewVolumeAt(max(rec.Volume, vol+1)); err != nil {
				return err
			}
		}
		volume, readAt = rec.Volume, rec.Offset+int64(len(rec.Body))+frame
		if number&0xff == 0 && r.cfg.Progress != nil {
			r.cfg.Progress(rec.Time)
		}
		if len(index) > 0 && index[0].Time == rec.Time {
			index = index[1:]
			w.needIndex = true
		}
		rec.Time = r.global.shift(rec.Time)
		if number == 0 {
			if err := w.start(rec.Time); err != nil {
				return err
			}
		}
		if err := w.metaFor(rec); err != nil {
			return err
		}
		_, dataAt, _ := w.out.Position()
		if indexed = w.needIndex; indexed && !(r.cfg.Seven && rec.Time == entry) {
			if err := w.out.IndexAt(rec.Time, metaAt, dataAt); err != nil {
				return err
			}
			entry = rec.Time
		}
		w.needIndex = len(rec.Sets) == 0 // a mark
		last, lastAt = rec.Time, dataAt
		if err := w.values(rec); err != nil {
			return err
		}
	}
	if lastAt < 0 {
		if err := w.start(r.global.shift(r.meta.Label().Start)); err != nil {
			return err
		}
		last = w.out.Label().Start
	}
	if err := w.restOfMeta(); err != nil {
		return err
	}
	if !indexed && lastAt >= 0 && !(r.cfg.Seven && last == entry) {
		_, dataAt, metaAt := w.out.Position()
		return w.out.IndexAt(last, metaAt, min(lastAt, dataAt))
	}
	return nil
}

// start sets the start of the copy, and writes the labels that the rules add.
func (w *rewriter) start(t pcp.Timestamp) error {
	if err := w.out.SetStart(t); err != nil {
		return err
	}
	w.needIndex = true
	for _, rec := range w.newLabels(t) {
		if err := w.copier.Meta(&rec, nil); err != nil {
			return err
		}
	}
	return nil
}

// nextMeta reads the next record of the metadata, if there is one and none is pending.
func (w *rewriter) nextMeta() (bool, error) {
	if w.pending != nil || w.ended {
		return w.pending != nil, nil
	}
	rec, err := w.meta.Next()
	if errors.Is(err, io.EOF) {
		w.ended = true
		return false, nil
	}
	if err != nil {
		return false, &ReadError{Meta: true, Offset: w.meta.Offset(), Err: err}
	}
	w.pending, w.body = rec, w.meta.Body()
	switch rec.Type {
	case archive.MetaDesc, archive.MetaText:
	default:
		rec.Time = w.rules.global.shift(rec.Time)
	}
	return true, nil
}

// metaFor writes the metadata up to the first that a record does not need: of a later
// time, or of a metric that is not in it.
func (w *rewriter) metaFor(rec *archive.Record) error {
	var has map[pcp.PMID]bool
	for {
		ok, err := w.nextMeta()
		if !ok || err != nil {
			return err
		}
		m := w.pending
		switch m.Type {
		case archive.MetaDesc:
			if w.events {
				break
			}
			if m.Desc.Type == pcp.TypeEvent || m.Desc.Type == pcp.TypeHighResEvent {
				w.events = true
				break
			}
			if has == nil {
				has = make(map[pcp.PMID]bool, len(rec.Sets))
				for i := range rec.Sets {
					has[rec.Sets[i].PMID] = true
				}
			}
			if !has[m.Desc.PMID] {
				return nil
			}
		case archive.MetaText:
			w.needIndex = true
		default:
			if m.Time.Compare(rec.Time) > 0 {
				return nil
			}
			w.needIndex = true
		}
		if err := w.metaRecord(m); err != nil {
			return err
		}
	}
}

// restOfMeta writes the metadata that no record needs.
func (w *rewriter) restOfMeta() error {
	for {
		ok, err := w.nextMeta()
		if !ok || err != nil {
			return err
		}
		if err := w.metaRecord(w.pending); err != nil {
			return err
		}
	}
}

// metaRecord writes the pending record of the metadata with the changes of the rules.
func (w *rewriter) metaRecord(m *archive.MetaRecord) error {
	body := w.body
	w.pending = nil
	switch m.Type {
	case archive.MetaDesc:
		return w.desc(m, body)
	case archive.MetaInDomV2, archive.MetaInDom, archive.MetaInDomDelta:
		return w.indom(m)
	case archive.MetaText:
		return w.text(m, body)
	}
	return w.labels(m, body)
}

func (w *rewriter) desc(m *archive.MetaRecord, body []byte) error {
	s := w.rules.byMetric[m.Desc.PMID]
	if s == nil || s.flags == 0 {
		if len(body) == descSize(m.Names) {
			return w.out.WriteMeta(body)
		}
		s = &metricSpec{} // bytes behind the names, which C does not copy
	}
	s.trace(w.rules.tracing())
	if s.flags&metricDelete != 0 {
		return nil
	}
	d := m.Desc
	if s.flags&metricPMID != 0 {
		d.PMID = s.new.PMID
	}
	names := slices.Clone(m.Names)
	if s.flags&metricName != 0 {
		i := slices.Index(names, s.name)
		if i < 0 {
			return fmt.Errorf("metric %s: the name %s is not in its descriptor: %w", s.old.PMID, s.name, pcp.ErrLogRec)
		}
		names[i] = s.newName
	}
	if s.flags&metricType != 0 {
		d.Type = s.new.Type
	}
	if s.flags&metricInDom != 0 {
		d.InDom = s.new.InDom
	}
	if s.flags&metricSem != 0 {
		d.Sem = s.new.Sem
	}
	if s.flags&metricUnits != 0 {
		d.Units = s.new.Units
	}
	for i := range names {
		names[i] = ctext.String(names[i])
	}
	var err error
	if w.buf, err = archive.AppendDesc(w.buf[:0], d, names...); err != nil {
		return err
	}
	return w.out.WriteMeta(w.buf)
}

// descSize returns the length of the record of a metric with these names.
func descSize(names []string) int {
	n := 24
	if len(names) > 0 {
		n += 4
	}
	for _, name := range names {
		n += 4 + len(ctext.String(name))
	}
	return n
}

func (w *rewriter) text(m *archive.MetaRecord, body []byte) error {
	for s := range fromLast(w.rules.texts) {
		if s.ident != m.Ident || s.kind != m.TextKind || s.text != m.Text {
			continue
		}
		s.trace(w.rules.tracing())
		if s.flags&textDelete != 0 {
			return nil
		}
		if s.flags == 0 {
			break
		}
		text := m.Text
		if s.flags&textText != 0 {
			text = s.newText
		}
		var err error
		if w.buf, err = archive.AppendText(w.buf[:0], m.TextKind, s.newIdent, text); err != nil {
			return err
		}
		return w.out.WriteMeta(w.buf)
	}
	const head = 12
	if end := head + len(m.Text) + 1; end < len(body) {
		body = body[:end] // bytes behind the text are not copied
	}
	return w.out.WriteMeta(body)
}

// indom writes the instances of a record, which may only have the changes.
func (w *rewriter) indom(m *archive.MetaRecord) error {
	full := w.instances(m)
	if n, ok := w.uses[m.InDom]; !ok {
		w.botch(fmt.Sprintf("Botch: InDom: %s: not in indom_hash table", m.InDom))
	} else if n == 0 {
		w.rules.tracing().Printf("Delete: InDom: %s: no output metrics use this\n", m.InDom)
		return nil
	}
	id, list := m.InDom, full
	if s := w.rules.byInDom[m.InDom]; s != nil && (s.new != s.old || s.duplicate || s.changesInsts()) {
		if s.duplicate {
			if err := w.writeInDom(m.Time, id, full); err != nil {
				return err
			}
		}
		id, list = s.new, s.apply(full)
		s.trace(w.rules.tracing(), full)
		if len(list) == 0 && len(full) > 0 {
			return nil
		}
	}
	return w.writeInDom(m.Time, id, list)
}

// instances returns all instances as of a record. They remain valid.
func (w *rewriter) instances(m *archive.MetaRecord) []archive.Change {
	version3 := m.Type != archive.MetaInDomV2
	list := slices.Clone(m.Instances)
	if !version3 && w.rules.version < archive.Version3 {
		return list // nothing outlives the record
	}
	for i := range list {
		if list[i].Name != nil {
			list[i].Name = append([]byte{}, list[i].Name...)
		}
	}
	if !version3 {
		return list
	}
	st := w.states[m.InDom]
	if st == nil {
		st = new(archive.InDomState)
		w.states[m.InDom] = st
	}
	own := *m
	own.Instances = list
	st.Apply(&own)
	if m.Type == archive.MetaInDomDelta {
		return slices.Clone(st.Instances)
	}
	return list
}

// apply returns the changed instances.
func (s *indomSpec) apply(list []archive.Change) []archive.Change {
	out := make([]archive.Change, 0, len(list))
	for _, x := range list {
		if k, ok := s.byInst[x.Inst]; ok {
			c := &s.insts[k]
			if c.deleted {
				continue
			}
			if c.setInst {
				x.Inst = c.newInst
			}
			if c.setName {
				x.Name = []byte(c.newName)
			}
		}
		out = append(out, x)
	}
	return out
}

// writeInDom writes instances, or the changes since the last time if they are shorter.
func (w *rewriter) writeInDom(t pcp.Timestamp, id pcp.InDom, list []archive.Change) error {
	rec := archive.MetaRecord{Type: archive.MetaInDomV2, Time: t, InDom: id, Instances: list}
	if w.rules.version >= archive.Version3 {
		rec.Type = archive.MetaInDom
		old, was := w.last[id]
		w.last[id] = list
		if was {
			if delta, ok := archive.InDomDelta(old, list); ok {
				rec.Type, rec.Instances = archive.MetaInDomDelta, delta
			}
		}
	}
	for i := range rec.Instances {
		if name := rec.Instances[i].Name; name != nil {
			rec.Instances[i].Name = ctext.Bytes(name)
		}
	}
	var err error
	if w.buf, err = archive.AppendMeta(w.buf[:0], &rec, w.rules.version); err != nil {
		return err
	}
	return w.out.WriteMeta(w.buf)
}
