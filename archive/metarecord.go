package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A MetaType is the type of a record of the metadata (TYPE_*).
type MetaType int32

// Types of metadata records. Part of the file format; do not change.
const (
	MetaDesc       MetaType = 1 // TYPE_DESC
	MetaInDomV2    MetaType = 2 // TYPE_INDOM_V2
	MetaLabelV2    MetaType = 3 // TYPE_LABEL_V2
	MetaText       MetaType = 4 // TYPE_TEXT
	MetaInDom      MetaType = 5 // TYPE_INDOM
	MetaInDomDelta MetaType = 6 // TYPE_INDOM_DELTA
	MetaLabel      MetaType = 7 // TYPE_LABEL
)

// A MetaRecord is one record of the metadata; which of its parts are set
// depends on Type. They are valid until the next call to Next.
type MetaRecord struct {
	Type   MetaType
	Offset int64 // of the record in the file

	Desc  pcp.Desc // MetaDesc
	Names []string // MetaDesc: of the metric, none at all in odd archives

	Time pcp.Timestamp // MetaInDom*, MetaLabel*

	InDom     pcp.InDom // MetaInDom*
	Instances []Change  // MetaInDom*: all, or the changes of MetaInDomDelta

	Level  pcp.LabelFlags // MetaLabel*: with LabelCompound and LabelOptional as in the file
	Ident  uint32         // MetaLabel*, MetaText: a PMID, InDom, domain...
	Labels []pcp.LabelSet // MetaLabel*

	Text     string       // MetaText
	TextKind pcp.TextKind // MetaText: TextOneLine or TextHelp, with TextPMID or TextInDom
}

// A Change is one instance of a record of an instance domain. Name belongs to
// the record; for an instance that a delta removes it is empty.
type Change struct {
	Inst int32
	Name []byte // nil: the instance is gone
}

// A MetaReader reads the records of a metadata file.
type MetaReader struct {
	r      *bufio.Reader
	label  Label
	off    int64
	buf    []byte
	rec    MetaRecord
	labels []pcp.LabelIndex
	debug  *debug.Log          // nil unless metadata are traced
	text   func([]byte) string // Options.Text
}

// NewMetaReader reads the label from r.
func NewMetaReader(r io.Reader) (*MetaReader, error) {
	m := &MetaReader{r: bufio.NewReaderSize(r, 1<<16)}
	b, err := m.r.Peek(labelSize3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if m.label, err = DecodeLabel(b); err != nil {
		return nil, fmt.Errorf("offset 0: %w", err)
	}
	n, err := m.r.Discard(LabelSize(m.label.Version))
	m.off = int64(n)
	return m, err
}

// readLabel returns the label of the file.
func (m *MetaReader) readLabel() Label { return m.label }

// Body returns the contents of the record that Next returned, without its
// length words, valid as long as the record.
func (m *MetaReader) Body() []byte { return m.buf[:len(m.buf)-4] }

// Offset returns where the next record starts.
func (m *MetaReader) Offset() int64 { return m.off }

// Next returns the next record, valid until the one after; io.EOF at the end.
// Fewer than the 8 bytes that a record starts with count as the end, as in the C
// library; a record that is cut later is an error.
func (m *MetaReader) Next() (*MetaRecord, error) {
	head, err := m.r.Peek(8)
	if len(head) < 8 {
		if err == io.EOF && len(head) > 0 {
			m.rec = MetaRecord{Offset: m.off}
			err = m.errorf("%d bytes of a record: %w", len(head), errShort)
		}
		return nil, err
	}
	n, typ := int32(binary.BigEndian.Uint32(head)), MetaType(binary.BigEndian.Uint32(head[4:]))
	m.rec = MetaRecord{Type: typ, Offset: m.off, Names: m.rec.Names[:0], Instances: m.rec.Instances[:0], Labels: m.rec.Labels[:0]}
	if m.debug != nil {
		m.debug.Printf("__pmLogLoadMeta: record len=%d, type=%s (%d) @ offset=%d\n", n, typ.name(), int32(typ), m.off)
	}
	if n > 0 && (typ < MetaDesc || typ > MetaLabel) {
		return nil, m.errorf("record type %d: %w", typ, pcp.ErrRecType)
	}
	if n < 12 {
		return nil, m.errorf("record of %d bytes: %w", n, pcp.ErrLogRec)
	}
	m.r.Discard(4)
	body, err := m.body(int(n) - 4)
	if err != nil {
		return nil, m.errorf("record of %d bytes: %w", n, err)
	}
	k := len(body) - 4
	if got := int32(binary.BigEndian.Uint32(body[k:])); got != n {
		return nil, m.errorf("record starts with length %d and ends with %d: %w", n, got, pcp.ErrLogRec)
	}
	if err := m.decode(body[4:k]); err != nil {
		if bad, ok := errors.AsType[*badInstance](err); ok && m.debug != nil {
			m.debug.Printf("__pmLogLoadInDom: InDom: %s%s\n", m.rec.InDom, bad.what)
		}
		return nil, m.errorf("%w", err)
	}
	m.off += int64(n)
	return &m.rec, nil
}

func (m *MetaReader) errorf(format string, args ...any) error {
	return fmt.Errorf("offset %d: %w", m.rec.Offset, fmt.Errorf(format, args...))
}

// body reads n bytes into memory that grows only as they come.
func (m *MetaReader) body(n int) ([]byte, error) {
	const step = 1 << 20
	b := m.buf[:0]
	for len(b) < n {
		k := min(n-len(b), step)
		if cap(b)-len(b) < k {
			b = append(make([]byte, 0, min(n, 2*cap(b)+k)), b...)
		}
		got, err := io.ReadFull(m.r, b[len(b):len(b)+k])
		b = b[:len(b)+got]
		if err != nil {
			m.buf = b
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errShort
			}
			return nil, err
		}
	}
	m.buf = b
	return b, nil
}

// decode decodes the contents of a record, without type and length words.
func (m *MetaReader) decode(body []byte) error {
	rec := &m.rec
	switch rec.Type {
	case MetaDesc:
		return rec.decodeDesc(body, m.text)
	case MetaInDomV2:
		return rec.decodeInDom(body, Version2)
	case MetaInDom, MetaInDomDelta:
		return rec.decodeInDom(body, Version3)
	case MetaLabelV2:
		return m.decodeLabels(body, Version2)
	case MetaLabel:
		return m.decodeLabels(body, Version3)
	}
	return rec.decodeText(body, m.text)
}

// decodeDesc decodes
//
//	pmid type indom sem units nnames {len name}...
func (rec *MetaRecord) decodeDesc(body []byte, text func([]byte) string) error {
	r := reader{b: body}
	rec.Desc = pcp.Desc{
		PMID:  pcp.PMID(r.u32()),
		Type:  pcp.Type(r.i32()),
		InDom: pcp.InDom(r.u32()),
		Sem:   pcp.Sem(r.i32()),
		Units: pcp.UnpackUnits(r.u32()),
	}
	if r.fail {
		return fmt.Errorf("descriptor of %d bytes: %w", len(body), pcp.ErrLogRec)
	}
	if len(r.b) == 0 {
		return nil // written without any name
	}
	names := r.i32()
	for range names {
		n := r.i32()
		if n < 0 || n > MaxName {
			r.fail = true
		}
		name := r.take(int(n))
		if r.fail {
			break
		}
		rec.Names = append(rec.Names, textOf(ctext.Bytes(name), text))
	}
	if r.fail || len(r.b) > 0 {
		return fmt.Errorf("descriptor of %s with %d names: %w", rec.Desc.PMID, names, pcp.ErrLogRec)
	}
	return nil
}

// decodeInDom decodes
//
//	stamp indom n inst[n] stroff[n] strings
//
// where an offset of -1 in a delta removes the instance.
func (rec *MetaRecord) decodeInDom(body []byte, version int) error {
	r := reader{b: body}
	rec.Time = r.stamp(version)
	rec.InDom = pcp.InDom(r.u32())
	n := r.i32()
	if r.fail || n < 0 || uint64(n)*8 > uint64(len(r.b)) {
		return fmt.Errorf("instance domain with %d instances in %d bytes: %w", n, len(body), pcp.ErrLogRec)
	}
	insts, offs := reader{b: r.take(4 * int(n))}, reader{b: r.take(4 * int(n))}
	// Names may share bytes, but a short record must not expand to names without
	// limit.
	budget := nameFactor * len(body)
	for i := range n {
		inst, off := insts.i32(), offs.i32()
		if inst < 0 {
			err := fmt.Errorf("instance domain %s: instance %d: %w", rec.InDom, inst, pcp.ErrLogRec)
			return &badInstance{err, fmt.Sprintf(": instance[%d]: bad instance identifier (%d)", i, inst)}
		}
		c := Change{Inst: inst}
		switch {
		case off >= 0 && int(off) < len(r.b):
			name := r.b[off:]
			c.Name = ctext.Bytes(name[:min(len(name), budget+1)])
			if budget -= len(c.Name) + 1; budget < 0 {
				return fmt.Errorf("instance domain %s: names that share too much: %w", rec.InDom, pcp.ErrLogRec)
			}
		case off >= 0 && int(off) == len(r.b):
			c.Name = r.b[off:off:off] // C reads the length word that follows
		case off != -1 || rec.Type != MetaInDomDelta:
			err := fmt.Errorf("instance domain %s: instance %d: name at offset %d of %d: %w", rec.InDom, inst, off, len(r.b), pcp.ErrLogRec)
			what := fmt.Sprintf(" instance[%d]: bad string index (%d)", i, off)
			if off > 0 {
				what += fmt.Sprintf(" > max index based on record length (%d)", len(r.b))
			}
			return &badInstance{err, what}
		}
		rec.Instances = append(rec.Instances, c)
	}
	return nil
}

// A badInstance is an error of one instance, with the values to trace.
type badInstance struct {
	error
	what string
}

// Unwrap returns the error.
func (e *badInstance) Unwrap() error { return e.error }

// decodeLabels decodes
//
//	stamp level ident nsets {inst jsonlen json nlabels label[nlabels]}...
//	label: name:16 namelen:8 flags:8 value:16 valuelen:16
func (m *MetaReader) decodeLabels(body []byte, version int) error {
	rec := &m.rec
	r := reader{b: body}
	rec.Time = r.stamp(version)
	rec.Level = pcp.LabelFlags(r.u32())
	rec.Ident = r.u32()
	nsets := r.i32()
	if r.fail || nsets < 0 || uint64(nsets)*12 > uint64(len(r.b)) {
		return fmt.Errorf("%d sets of labels in %d bytes: %w", nsets, len(body), pcp.ErrLogRec)
	}
	for range nsets {
		set := pcp.LabelSet{Inst: r.i32()}
		n := r.i32()
		if n < 0 || n > pcp.MaxLabelJSONLen {
			return fmt.Errorf("labels of %d bytes: %w", n, pcp.ErrLogRec)
		}
		json := r.take(int(n))
		count := r.i32()
		if r.fail || count > pcp.MaxLabels || count > 0 && int(count)*8 > len(r.b) {
			return fmt.Errorf("set of %d labels: %w", count, pcp.ErrLogRec)
		}
		set.JSON = string(json)
		if count < 0 {
			set.Err = pcp.Error(count)
		}
		if count > 0 {
			if cap(m.labels)-len(m.labels) < int(count) {
				m.labels = make([]pcp.LabelIndex, 0, 256)
			}
			start := len(m.labels)
			for range count {
				b := r.take(8)
				m.labels = append(m.labels, pcp.LabelIndex{
					Name: binary.BigEndian.Uint16(b), NameLen: b[2], Flags: pcp.LabelFlags(b[3]),
					Value: binary.BigEndian.Uint16(b[4:]), ValueLen: binary.BigEndian.Uint16(b[6:]),
				})
			}
			end := len(m.labels)
			set.Index = m.labels[start:end:end]
		}
		rec.Labels = append(rec.Labels, set)
	}
	return nil
}

// decodeText decodes
//
//	kind ident text NUL
func (rec *MetaRecord) decodeText(body []byte, text func([]byte) string) error {
	r := reader{b: body}
	rec.TextKind, rec.Ident = pcp.TextKind(r.u32()), r.u32()
	if r.fail || rec.TextKind&(pcp.TextOneLine|pcp.TextHelp) == 0 || rec.TextKind&(pcp.TextPMID|pcp.TextInDom) == 0 {
		return fmt.Errorf("help text of kind %#x in %d bytes: %w", int32(rec.TextKind), len(body), pcp.ErrLogRec)
	}
	rec.Text = textOf(ctext.Bytes(r.b), text)
	return nil
}

// textOf returns a name or text as a string, made by f unless that is nil.
func textOf(b []byte, f func([]byte) string) string {
	if f == nil {
		return string(b)
	}
	return f(b)
}

// reset makes m continue with r.
func (m *MetaReader) reset(r io.Reader) { m.r = bufio.NewReaderSize(r, 1<<16) }
