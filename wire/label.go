package wire

import (
	"encoding/binary"
	"slices"

	"github.com/go-pcp/pcp"
)

// levelIdents are the levels with an identifier; at others PM_ID_NULL is sent in
// its place.
const levelIdents = pcp.LabelDomain | pcp.LabelInDom | pcp.LabelCluster | pcp.LabelItem | pcp.LabelInstances

func labelIdent(ident uint32, kind pcp.LabelFlags) uint32 {
	if kind&levelIdents == 0 {
		return uint32(pcp.PMIDNull)
	}
	return ident
}

// kind reads a level, whose flags fill one byte of a word.
func (c *cursor) kind() pcp.LabelFlags {
	at := c.off
	w := c.u32()
	if w > 0xff {
		c.fail(at, "label type %#x", w)
	}
	return pcp.LabelFlags(w)
}

// appendBody appends the identifier and the level.
func (p *LabelReq) appendBody(b []byte) []byte {
	return put32(put32(b, labelIdent(p.Ident, p.Kind)), uint32(p.Kind))
}

// DecodeBody fills p.
func (p *LabelReq) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Ident = c.u32()
	p.Kind = c.kind()
	p.Ident = labelIdent(p.Ident, p.Kind)
	return c.end()
}

const (
	labelSetSize = 16 // instance, count, offset and length of the JSON
	labelSize    = 8
)

// appendBody appends the sets with their indexes and then, without padding,
// the JSON of each, which is found by its offset from the start of the PDU.
func (p *Labels) appendBody(b []byte) []byte {
	json, size := HeaderSize+16, 0
	for i := range p.Sets {
		json += labelSetSize + labelSize*len(p.Sets[i].Index)
		size += len(p.Sets[i].JSON)
	}
	b = slices.Grow(b, json+size)
	b = put32(b, labelIdent(p.Ident, p.Kind))
	b = put32(b, uint32(p.Kind))
	b = put32(b, 0)
	b = put32(b, uint32(len(p.Sets)))
	for i := range p.Sets {
		s := &p.Sets[i]
		n := uint32(len(s.Index))
		if n == 0 {
			n = uint32(min(s.Err, 0))
		}
		b = put32(b, uint32(s.Inst))
		b = put32(b, n)
		b = put32(b, uint32(json))
		b = put32(b, uint32(len(s.JSON)))
		for _, l := range s.Index {
			b = binary.BigEndian.AppendUint16(b, l.Name)
			b = append(b, l.NameLen, uint8(l.Flags))
			b = binary.BigEndian.AppendUint16(b, l.Value)
			b = binary.BigEndian.AppendUint16(b, l.ValueLen)
		}
		json += len(s.JSON)
	}
	for i := range p.Sets {
		b = append(b, p.Sets[i].JSON...)
	}
	return b
}

// DecodeBody fills p with its own memory. The JSON of all sets shares one copy of
// the body. Every index is within its set's JSON.
func (p *Labels) DecodeBody(body []byte) error {
	c := cursor{b: body}
	*p = Labels{}
	p.Ident = c.u32()
	p.Kind = c.kind()
	p.Ident = labelIdent(p.Ident, p.Kind)
	c.u32()
	n := c.count(labelSetSize)
	if n == 0 {
		return c.err
	}
	text, left := string(body), len(body)
	p.Sets = make([]pcp.LabelSet, n)
	for i := range p.Sets {
		if left -= c.labelSet(&p.Sets[i], text); left < 0 {
			c.fail(c.off, "label sets with more text than the PDU")
		}
		if c.err != nil {
			p.Sets = nil
			break
		}
	}
	return c.err
}

// labelSet reads one set and returns the length of its JSON.
func (c *cursor) labelSet(s *pcp.LabelSet, text string) int {
	s.Inst = c.i32()
	at := c.off
	n := c.i32()
	jsonAt := c.off
	json, size := int64(c.u32())-HeaderSize, int64(c.u32())
	switch {
	case c.err != nil:
		return 0
	case n >= pcp.MaxLabels:
		c.fail(at, "%d labels", n)
		return 0
	case size >= pcp.MaxLabelJSONLen:
		c.fail(jsonAt, "labels of %d bytes", size)
		return 0
	case size == 0: // the offset of nothing does not matter
	case json < 0 || json > int64(len(text)) || size > int64(len(text))-json:
		c.fail(jsonAt, "labels of %d bytes at offset %d of %d", size, json+HeaderSize, len(text)+HeaderSize)
		return 0
	default:
		s.JSON = text[json : json+size]
	}
	if n <= 0 {
		s.Err = pcp.Error(n)
		return int(size)
	}
	if uint64(n)*labelSize > uint64(c.rest()) {
		c.fail(at, "%d labels in %d bytes", n, c.rest())
		return 0
	}
	s.Index = make([]pcp.LabelIndex, n)
	for i := range s.Index {
		at := c.off
		w := c.u64()
		l := pcp.LabelIndex{
			Name:     uint16(w >> 48),
			NameLen:  uint8(w >> 40),
			Flags:    pcp.LabelFlags(w >> 32),
			Value:    uint16(w >> 16),
			ValueLen: uint16(w),
		}
		if int64(l.Name)+int64(l.NameLen) > size || int64(l.Value)+int64(l.ValueLen) > size {
			c.fail(at, "a label outside its %d bytes of text", size)
			return 0
		}
		s.Index[i] = l
	}
	return int(size)
}
