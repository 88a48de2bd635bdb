package archive

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

const (
	errInvalid = -pcp.Error(syscall.EINVAL)
	errRange   = -pcp.Error(syscall.ERANGE)
	errFileBig = -pcp.Error(syscall.EFBIG)
)

// The functions of this file append the contents of one record in the encoding of
// the given version, without its length words: the form that Body of a reader
// returns and that WriteMeta and WriteRecord take. They convert a single record
// from one version to the other.

// checkStamp returns an error if a time cannot be written in a version.
func checkStamp(t pcp.Timestamp, version int) error {
	if t.Nsec < 0 || t.Nsec >= 1e9 {
		return fmt.Errorf("time of %d nanoseconds: %w", t.Nsec, errInvalid)
	}
	if version < Version3 && int64(int32(t.Sec)) != t.Sec {
		return fmt.Errorf("time %d does not fit into version 2: %w", t.Sec, errRange)
	}
	return nil
}

// AppendResult appends the contents of a volume's record. It writes a set in the
// form of its ValFmt; values in place must have a type of 4 bytes or no type. A
// record decoded by DecodeResult is encoded to the same bytes, with two
// exceptions: the bytes that fill up a block, which some old programs did not
// set, and strings without a closing NUL, which get one.
func AppendResult(b []byte, res *pcp.Result, version int) ([]byte, error) {
	if err := checkStamp(res.Time, version); err != nil {
		return b, err
	}
	// The length of the sets gives the place of the first block.
	size := HeadSize(version)
	for i := range res.Sets {
		if size += 8; len(res.Sets[i].Values) > 0 {
			size += 4 + 8*len(res.Sets[i].Values)
		}
	}
	start := len(b)
	b = AppendHead(slices.Grow(b, size), res.Time, len(res.Sets), version)
	at := len(b) // of the next set
	b = b[:start+size]
	for i := range res.Sets {
		vs := &res.Sets[i]
		if len(vs.Values) == 0 {
			binary.BigEndian.PutUint32(b[at:], uint32(vs.PMID))
			binary.BigEndian.PutUint32(b[at+4:], uint32(vs.Err))
			at += 8
			continue
		}
		binary.BigEndian.PutUint32(b[at:], uint32(vs.PMID))
		binary.BigEndian.PutUint32(b[at+4:], uint32(len(vs.Values)))
		binary.BigEndian.PutUint32(b[at+8:], uint32(vs.ValFmt))
		at += 12
		switch vs.ValFmt {
		case pcp.ValInSitu:
			w := b[at : at+8*len(vs.Values)]
			for j := range vs.Values {
				v := &vs.Values[j]
				if !fitsInSitu(v) {
					return b[:start], fmt.Errorf("metric %s: value of type %s in place: %w", vs.PMID, v.Type(), pcp.ErrType)
				}
				binary.BigEndian.PutUint64(w[8*j:], uint64(uint32(v.Inst))<<32|uint64(uint32(v.Bits())))
			}
		case pcp.ValDPtr, pcp.ValSPtr:
			// All numbers take 12 bytes each.
			b = slices.Grow(b, 12*len(vs.Values))
			for j := range vs.Values {
				v := &vs.Values[j]
				end := len(b)
				binary.BigEndian.PutUint64(b[at+8*j:], uint64(uint32(v.Inst))<<32|uint64(valueset.Word(end-start)))
				data, t := v.Bytes(), v.Type()
				if data == nil && (t == pcp.TypeU64 || t == pcp.Type64 || t == pcp.TypeDouble) {
					// Most are; AppendBlock does the same.
					b = binary.BigEndian.AppendUint32(b, valueset.Head(t, numberBlock))
					b = binary.BigEndian.AppendUint64(b, v.Bits())
					continue
				}
				if data != nil {
					b = valueset.AppendBytes(b, v.Type(), data)
				} else if b = valueset.AppendBlock(b, v); len(b) == end+valueset.BlockHead && isTypeless(v) {
					return b[:start], fmt.Errorf("metric %s: value of type %s in a block: %w", vs.PMID, v.Type(), pcp.ErrType)
				}
				if len(b) == end {
					return b[:start], fmt.Errorf("metric %s: value of %d bytes: %w", vs.PMID, len(v.Bytes()), pcp.ErrTooBig)
				}
			}
		default:
			return b[:start], fmt.Errorf("metric %s: value format %d: %w", vs.PMID, vs.ValFmt, errInvalid)
		}
		at += 8 * len(vs.Values)
	}
	return b, nil
}

// AppendHead appends the head of the contents of a volume's record: its time and the number of its
// sets.
func AppendHead(b []byte, t pcp.Timestamp, sets, version int) []byte {
	return binary.BigEndian.AppendUint32(appendStamp(b, t, version), uint32(sets))
}

func fitsInSitu(v *pcp.Value) bool {
	switch v.Type() {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat, pcp.TypeUnknown:
		return v.Bytes() == nil
	}
	return false
}

func isTypeless(v *pcp.Value) bool {
	return v.Type() == pcp.TypeUnknown || v.Type() == pcp.TypeNoSupport
}

// AppendDesc appends the contents of the record of a metric. It is the same in
// all versions.
func AppendDesc(b []byte, desc pcp.Desc, names ...string) ([]byte, error) {
	start := len(b)
	for _, w := range [...]uint32{
		uint32(MetaDesc), uint32(desc.PMID), uint32(desc.Type), uint32(desc.InDom), uint32(desc.Sem), desc.Units.Pack(),
	} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	if len(names) == 0 {
		return b, nil
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(names)))
	for _, name := range names {
		if len(name) > MaxName {
			return b[:start], fmt.Errorf("metric %s: name of %d bytes: %w", desc.PMID, len(name), pcp.ErrTooBig)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
		b = append(b, name...)
	}
	return b, nil
}

// AppendInDom appends the contents of the record of an instance domain with
// all its instances, in the order given.
func AppendInDom(b []byte, t pcp.Timestamp, indom pcp.InDom, instances []pcp.Instance, version int) ([]byte, error) {
	typ := MetaInDomV2
	if version >= Version3 {
		typ = MetaInDom
	}
	return appendInDom(b, typ, t, indom, len(instances), func(i int) (int32, string, bool) {
		return instances[i].Inst, instances[i].Name, true
	})
}

// AppendInDomDelta appends the contents of a record with the changes of an
// instance domain. Versions before 3 do not have such records.
func AppendInDomDelta(b []byte, t pcp.Timestamp, indom pcp.InDom, changes []Change) ([]byte, error) {
	return appendInDom(b, MetaInDomDelta, t, indom, len(changes), func(i int) (int32, []byte, bool) {
		return changes[i].Inst, changes[i].Name, changes[i].Name != nil
	})
}

// appendInDom appends n instances that at returns; at returns false for those
// that are gone.
func appendInDom[S string | []byte](b []byte, typ MetaType, t pcp.Timestamp, indom pcp.InDom, n int, at func(i int) (int32, S, bool)) ([]byte, error) {
	version := Version3
	if typ == MetaInDomV2 {
		version = Version2
	}
	start := len(b)
	if err := checkStamp(t, version); err != nil {
		return b, err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(typ))
	b = appendStamp(b, t, version)
	b = binary.BigEndian.AppendUint32(b, uint32(indom))
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	for i := range n {
		inst, _, _ := at(i)
		if inst < 0 {
			return b[:start], fmt.Errorf("instance domain %s: instance %d: %w", indom, inst, pcp.ErrInst)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(inst))
	}
	off := 0
	for i := range n {
		_, name, ok := at(i)
		if !ok {
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(off))
		if off += len(name) + 1; off > maxRecord {
			return b[:start], fmt.Errorf("instance domain %s: names of %d bytes: %w", indom, off, pcp.ErrTooBig)
		}
	}
	for i := range n {
		if _, name, ok := at(i); ok {
			b = append(append(b, name...), 0)
		}
	}
	return b, nil
}

// AppendText appends the contents of the record of a help text. It is the same
// in all versions.
func AppendText(b []byte, kind pcp.TextKind, ident uint32, text string) ([]byte, error) {
	if kind&(pcp.TextOneLine|pcp.TextHelp) == 0 || kind&(pcp.TextPMID|pcp.TextInDom) == 0 {
		return b, fmt.Errorf("help text of kind %s: %w", kind, errInvalid)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(MetaText))
	b = binary.BigEndian.AppendUint32(b, uint32(kind))
	b = binary.BigEndian.AppendUint32(b, ident)
	return append(append(b, text...), 0), nil
}

// AppendLabels appends the contents of the record of the labels of one
// identifier, including optional ones.
func AppendLabels(b []byte, t pcp.Timestamp, level pcp.LabelFlags, ident uint32, sets []pcp.LabelSet, version int) ([]byte, error) {
	if err := checkStamp(t, version); err != nil {
		return b, err
	}
	start, typ := len(b), MetaLabelV2
	if version >= Version3 {
		typ = MetaLabel
	}
	b = binary.BigEndian.AppendUint32(b, uint32(typ))
	b = appendStamp(b, t, version)
	b = binary.BigEndian.AppendUint32(b, uint32(level))
	b = binary.BigEndian.AppendUint32(b, ident)
	b = binary.BigEndian.AppendUint32(b, uint32(len(sets)))
	for i := range sets {
		s := &sets[i]
		if len(s.JSON) > pcp.MaxLabelJSONLen || len(s.Index) > pcp.MaxLabels {
			return b[:start], fmt.Errorf("%d labels of %d bytes: %w", len(s.Index), len(s.JSON), pcp.ErrTooBig)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(s.Inst))
		b = binary.BigEndian.AppendUint32(b, uint32(len(s.JSON)))
		b = append(b, s.JSON...)
		if s.Err != 0 {
			b = binary.BigEndian.AppendUint32(b, uint32(s.Err))
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(s.Index)))
		for _, l := range s.Index {
			b = binary.BigEndian.AppendUint16(b, l.Name)
			b = append(b, l.NameLen, byte(l.Flags))
			b = binary.BigEndian.AppendUint16(b, l.Value)
			b = binary.BigEndian.AppendUint16(b, l.ValueLen)
		}
	}
	return b, nil
}

// AppendMeta appends the contents of a record of the metadata in the form of a
// version. Version 2 has no form for a delta of an instance domain: the caller,
// which knows the earlier records, must compute the result of the delta and write
// that.
func AppendMeta(b []byte, rec *MetaRecord, version int) ([]byte, error) {
	switch rec.Type {
	case MetaDesc:
		return AppendDesc(b, rec.Desc, rec.Names...)
	case MetaInDomV2, MetaInDom:
		typ := MetaInDomV2
		if version >= Version3 {
			typ = MetaInDom
		}
		return appendInDom(b, typ, rec.Time, rec.InDom, len(rec.Instances), func(i int) (int32, []byte, bool) {
			return rec.Instances[i].Inst, rec.Instances[i].Name, true
		})
	case MetaInDomDelta:
		if version < Version3 {
			return b, fmt.Errorf("instance domain %s: a delta in version 2: %w", rec.InDom, pcp.ErrRecType)
		}
		return AppendInDomDelta(b, rec.Time, rec.InDom, rec.Instances)
	case MetaLabelV2, MetaLabel:
		return AppendLabels(b, rec.Time, rec.Level, rec.Ident, rec.Labels, version)
	case MetaText:
		return AppendText(b, rec.TextKind, rec.Ident, rec.Text)
	}
	return b, fmt.Errorf("record type %d: %w", rec.Type, pcp.ErrRecType)
}

// Append appends e in the encoding of an index.
func (e IndexEntry) Append(b []byte, version int) []byte {
	b = appendStamp(b, e.Time, version)
	b = binary.BigEndian.AppendUint32(b, uint32(e.Vol))
	if version >= Version3 {
		b = binary.BigEndian.AppendUint64(b, uint64(e.Meta))
		return binary.BigEndian.AppendUint64(b, uint64(e.Data))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(e.Meta))
	return binary.BigEndian.AppendUint32(b, uint32(e.Data))
}
