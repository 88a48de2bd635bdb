package archive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A Copier copies records from archives to a new one, and rewrites the parts that its
// caller changes. It copies the other parts as bytes. Records may be of either
// version; the metadata that Meta copies are those of one archive.
//
// A program that writes metadata when the first record needs them, or merges them
// from several archives, uses [SplitMeta], [AppendMetaCopy], [InDomState] and
// [InDomDelta].
type Copier struct {
	w      *Writer
	indoms map[pcp.InDom]*InDomState // if the metadata have changes and the copy cannot
	buf    []byte
}

// NewCopier returns a Copier that writes to w.
func NewCopier(w *Writer) *Copier { return &Copier{w: w} }

// Record writes a copy of a record that a [Scanner] or a [Checker] has accepted. The
// copy has the time rec.Time, which may have been changed, and the parts given. Nil
// means all sets.
func (c *Copier) Record(rec *Record, parts []Part) error {
	w := c.w
	version := w.label.Version
	if parts == nil && rec.Canonical && rec.keepsTime(version) {
		return w.WriteRecord(rec.Time, rec.Body)
	}
	if err := w.beginRecord(rec.Time); err != nil {
		return err
	}
	return w.endRecord(rec.Time, rec.appendCopy(append(w.data.buf, 0, 0, 0, 0), parts, version))
}

// Body returns the contents that Record writes: the contents of the record itself
// if nothing changes. It is valid until the next call of a method.
func (c *Copier) Body(rec *Record, parts []Part) []byte {
	version := c.w.label.Version
	if parts == nil && rec.Canonical && rec.keepsTime(version) {
		return rec.Body
	}
	c.buf = rec.appendCopy(c.buf[:0], parts, version)
	return c.buf
}

// Meta writes a copy of a record of the metadata as of rec.Time, which may have
// been changed. Body is the contents of the record, or nil if more than its time
// was changed: then rec is encoded.
//
// If the copy is of version 2, the changes of an instance domain become records of
// all its instances.
func (c *Copier) Meta(rec *MetaRecord, body []byte) (err error) {
	version := c.w.label.Version
	switch {
	case version < Version3 && (rec.Type == MetaInDom || rec.Type == MetaInDomDelta):
		if c.indoms == nil {
			c.indoms = make(map[pcp.InDom]*InDomState)
		}
		s := c.indoms[rec.InDom]
		if s == nil {
			s = new(InDomState)
			c.indoms[rec.InDom] = s
		}
		for i := range rec.Instances {
			rec.Instances[i].Name = bytes.Clone(rec.Instances[i].Name)
		}
		s.Apply(rec)
		full := MetaRecord{Type: MetaInDomV2, Time: rec.Time, InDom: rec.InDom, Instances: s.Instances}
		c.buf, err = AppendMeta(c.buf[:0], &full, version)
	case body != nil:
		c.buf, err = AppendMetaCopy(c.buf[:0], body, rec.Time, version)
	default:
		c.buf, err = AppendMeta(c.buf[:0], rec, version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.w.meta.path, err)
	}
	return c.w.WriteMeta(c.buf)
}

// A Part is a set of a record, or a part of it, in a copy. The copy has it under
// its PMID, which may differ from that of the set.
type Part struct {
	Set
	Pick []int // indexes of the values in the copy, in its order; nil for all of them

	// Insts, if not nil, are the instances of these values in the copy.
	Insts []int32

	// Values, if not nil, replace those of the record in the copy, in the form of
	// Set.ValFmt. They must be of types that it can hold, and short enough for a
	// block.
	Values []pcp.Value
}

// len returns how many values a part has.
func (p *Part) len() int {
	switch {
	case p.Values != nil:
		return len(p.Values)
	case p.Pick != nil:
		return len(p.Pick)
	}
	return p.Len
}

// keepsTime reports whether a copy begins with the record's bytes; the mark between
// two archives has no bytes.
func (r *Record) keepsTime(version int) bool {
	return r.Body != nil && r.Version == version && r.Time == decodeStamp(r.Body, version)
}

// appendCopy appends the contents of a copy of a record, canonical and in a version.
func (r *Record) appendCopy(b []byte, parts []Part, version int) []byte {
	n := len(r.Sets)
	var whole Part
	part := func(i int) *Part {
		whole.Set = r.Sets[i]
		return &whole
	}
	if parts != nil {
		n = len(parts)
		part = func(i int) *Part { return &parts[i] }
	}
	start := len(b)
	if r.keepsTime(version) {
		b = append(b, r.Body[:stampSize(version)]...) // even if it is damaged
	} else {
		b = appendStamp(b, r.Time, version)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	for i := range n {
		b = r.appendSet(b, part(i))
	}
	// The blocks, now that it is known where they begin.
	at := start + HeadSize(version)
	for i := range n {
		b, at = r.appendBlocks(b, start, at, part(i))
	}
	return b
}

// appendSet appends a set with the values of a part.
func (r *Record) appendSet(b []byte, p *Part) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(p.PMID))
	n := p.len()
	switch {
	case n == 0 && p.Pick == nil && p.Values == nil:
		return binary.BigEndian.AppendUint32(b, uint32(p.Status))
	case n == 0:
		return binary.BigEndian.AppendUint32(b, 0)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	pairs := len(b) + 4
	switch {
	case p.Values != nil:
		b = binary.BigEndian.AppendUint32(b, uint32(p.ValFmt))
		for i := range p.Values {
			v := &p.Values[i]
			b = binary.BigEndian.AppendUint32(b, uint32(v.Inst))
			b = binary.BigEndian.AppendUint32(b, uint32(v.Bits())) // or where the block is, later
		}
	case p.Pick == nil:
		b = append(b, r.Body[p.At-4:p.At+valueset.Pair*n]...)
	default:
		b = append(b, r.Body[p.At-4:p.At]...)
		values := r.Values(&p.Set)
		for _, k := range p.Pick {
			b = append(b, values[valueset.Pair*k:valueset.Pair*(k+1)]...)
		}
	}
	for i, inst := range p.Insts {
		binary.BigEndian.PutUint32(b[pairs+valueset.Pair*i:], uint32(inst))
	}
	return b
}

// appendBlocks appends the blocks of a set that appendSet appended at an offset of
// b, and stores their offsets in the values. It returns the offset of the next
// set.
func (r *Record) appendBlocks(b []byte, start, at int, p *Part) ([]byte, int) {
	at += valueset.SetHead
	n := p.len()
	if n == 0 {
		return b, at
	}
	at += valueset.PairsHead - valueset.SetHead
	next := at + valueset.Pair*n
	if p.ValFmt == pcp.ValInSitu {
		return b, next
	}
	if p.Values != nil {
		for i := range p.Values {
			binary.BigEndian.PutUint32(b[at+4:], valueset.Word(len(b)-start))
			b = valueset.AppendBlock(b, &p.Values[i])
			at += valueset.Pair
		}
		return b, next
	}
	if _, size := valueset.SplitHead(p.Head); p.Head != 0 && size%4 == 0 && p.Pick == nil {
		// They are all alike, and are copied at once.
		word := valueset.Word(len(b) - start)
		b = append(b, r.Body[p.Blocks:p.Blocks+n*size]...)
		for ; at < next; at += valueset.Pair {
			binary.BigEndian.PutUint32(b[at+4:], word)
			word += uint32(size / 4)
		}
		return b, next
	}
	for ; at < next; at += valueset.Pair {
		block := r.Body[valueset.At(binary.BigEndian.Uint32(b[at+4:])):]
		_, size := valueset.SplitHead(binary.BigEndian.Uint32(block))
		binary.BigEndian.PutUint32(b[at+4:], valueset.Word(len(b)-start))
		b = valueset.Pad(append(b, block[:size]...), size)
	}
	return b, next
}

// SplitMeta splits the contents of a record of the metadata, without length words:
// into its type, the time of records that have one, and the rest. It reports
// whether there are enough bytes.
func SplitMeta(body []byte) (typ MetaType, t pcp.Timestamp, rest []byte, ok bool) {
	r := reader{b: body}
	typ = MetaType(r.u32())
	if version := typ.stamped(); version != 0 {
		t = r.stamp(version)
	}
	return typ, t, r.b, !r.fail
}

// stamped returns the version of the time stamp in records of a type, or 0 if
// they have no time stamp.
func (t MetaType) stamped() int {
	switch t {
	case MetaInDomV2, MetaLabelV2:
		return Version2
	case MetaInDom, MetaInDomDelta, MetaLabel:
		return Version3
	}
	return 0
}

// AppendMetaCopy appends the contents of a copy of a record of the metadata, without
// length words, in a version of the format. If the record is of a kind that has a
// time, that becomes t. The rest remains as it is. Like [AppendMeta], it refuses a
// delta of an instance domain in version 2.
func AppendMetaCopy(b, body []byte, t pcp.Timestamp, version int) ([]byte, error) {
	typ, _, rest, ok := SplitMeta(body)
	if !ok {
		return b, fmt.Errorf("record of %d bytes: %w", len(body), pcp.ErrLogRec)
	}
	if typ.stamped() == 0 {
		return append(b, body...), nil
	}
	switch {
	case typ == MetaInDomDelta && version < Version3:
		return b, fmt.Errorf("a delta of an instance domain in version 2: %w", pcp.ErrRecType)
	case version < Version3 && typ == MetaInDom:
		typ = MetaInDomV2
	case version < Version3 && typ == MetaLabel:
		typ = MetaLabelV2
	case version >= Version3 && typ == MetaInDomV2:
		typ = MetaInDom
	case version >= Version3 && typ == MetaLabelV2:
		typ = MetaLabel
	}
	if err := checkStamp(t, version); err != nil {
		return b, err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(typ))
	return append(appendStamp(b, t, version), rest...), nil
}

// An InDomState is the instances of an instance domain after some of its records, in
// the order in which a file has them. Most records of version 3 only have the changes.
type InDomState struct {
	Instances []Change // sorted by number, of equal ones in the order of the record

	room []Change
}

// Apply applies the next record. It keeps the names, which must remain valid. A
// delta renames an existing instance.
func (s *InDomState) Apply(rec *MetaRecord) {
	changes := slices.Clone(rec.Instances)
	slices.SortStableFunc(changes, compareChanges)
	if rec.Type != MetaInDomDelta {
		s.Instances = changes
		return
	}
	old, list := s.Instances, s.room[:0]
	for len(old) > 0 || len(changes) > 0 {
		if len(changes) == 0 || len(old) > 0 && old[0].Inst < changes[0].Inst {
			list, old = append(list, old[0]), old[1:]
			continue
		}
		if len(old) > 0 && old[0].Inst == changes[0].Inst {
			old = old[1:]
		}
		if changes[0].Name != nil {
			list = append(list, changes[0])
		}
		changes = changes[1:]
	}
	s.room, s.Instances = s.Instances[:0], list
}

func compareChanges(a, b Change) int { return cmp.Compare(a.Inst, b.Inst) }

// InDomDelta returns the changes from one set of instances to another, as the C
// library finds them for a record of version 3. It reports whether to write these
// instead of the whole set: there are changes, no more than the set has instances,
// and no instance has a new name. In sets that are not sorted by number, it takes a
// moved instance for a removed and a new one.
func InDomDelta(old, set []Change) (delta []Change, ok bool) {
	gone, came := make([]bool, len(old)), make([]bool, len(set))
	changes := 0
	for i, j := 0, 0; i < len(old) || j < len(set); {
		switch {
		case j == len(set) || i < len(old) && old[i].Inst < set[j].Inst:
			gone[i] = true
			changes++
			i++
		case i == len(old) || old[i].Inst > set[j].Inst:
			came[j] = true
			changes++
			j++
		case !bytes.Equal(old[i].Name, set[j].Name):
			return nil, false
		default:
			i++
			j++
		}
	}
	if changes == 0 || changes > len(set) {
		return nil, false
	}
	for i, j := 0, 0; i < len(old) || j < len(set); {
		switch {
		case i < len(old) && !gone[i]:
			i++
		case j < len(set) && !came[j]:
			j++
		case j == len(set) || i < len(old) && old[i].Inst < set[j].Inst:
			delta = append(delta, Change{Inst: old[i].Inst})
			i++
		default:
			delta = append(delta, set[j])
			j++
		}
	}
	return delta, true
}
