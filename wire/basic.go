package wire

import (
	"encoding/binary"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// The thousand status codes of the PMAPI began at v1Base in the first protocol
// version. A server still greets in that numbering (p_error.c: XLATE_ERR_1TO2).
const (
	v1Base  = -1000
	v2Base  = -12345
	v1Shift = v1Base - v2Base
	nCodes  = 1000
)

// appendBody appends the code and, in the extended form, the info word.
func (p *Error) appendBody(b []byte) []byte {
	code := int32(p.Code)
	if !p.Extended {
		return put32(b, uint32(code))
	}
	if code <= v2Base && code > v2Base-nCodes {
		code += v1Shift
	}
	return put32(put32(b, uint32(code)), p.Info)
}

// DecodeBody fills p from either form.
func (p *Error) DecodeBody(body []byte) error {
	c := cursor{b: body}
	*p = Error{Extended: len(body) > 4}
	code := c.i32()
	if p.Extended {
		p.Info = c.u32()
		if code <= v1Base && code > v1Base-nCodes {
			code -= v1Shift
		}
	}
	p.Code = pcp.Error(code)
	return c.end()
}

// appendBody appends the context, two unused words, and the PMIDs.
func (p *Fetch) appendBody(b []byte) []byte {
	b = slices.Grow(b, 16+4*len(p.PMIDs))
	b = put32(b, uint32(p.Context))
	b = put32(put32(b, 0), 0) // formerly the time in an archive
	return putPMIDs(b, p.PMIDs)
}

// DecodeBody fills p and reuses its PMIDs. It leaves HighRes alone: the body
// is the same.
func (p *Fetch) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Context = c.i32()
	c.u64()
	p.PMIDs = c.pmids(p.PMIDs)
	return c.end()
}

// appendBody appends the PMID.
func (p *DescReq) appendBody(b []byte) []byte { return put32(b, uint32(p.PMID)) }

// DecodeBody fills p.
func (p *DescReq) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.PMID = pcp.PMID(c.u32())
	return c.end()
}

// descSize is the size of a descriptor on the wire.
const descSize = 20

func putDesc(b []byte, d *pcp.Desc) []byte {
	b = put32(b, uint32(d.PMID))
	b = put32(b, uint32(d.Type))
	b = put32(b, uint32(d.InDom))
	b = put32(b, uint32(d.Sem))
	return put32(b, d.Units.Pack())
}

func (c *cursor) desc() pcp.Desc {
	return pcp.Desc{
		PMID:  pcp.PMID(c.u32()),
		Type:  pcp.Type(c.i32()),
		InDom: pcp.InDom(c.u32()),
		Sem:   pcp.Sem(c.i32()),
		Units: pcp.UnpackUnits(c.u32()),
	}
}

// appendBody appends the descriptor.
func (p *Desc) appendBody(b []byte) []byte { return putDesc(b, &p.Desc) }

// DecodeBody fills p.
func (p *Desc) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Desc = c.desc()
	return c.end()
}

// appendBody appends a word that distinguishes this list from PMNS_IDS, and the PMIDs.
func (p *DescIDs) appendBody(b []byte) []byte {
	b = slices.Grow(b, 8+4*len(p.PMIDs))
	return putPMIDs(put32(b, ^uint32(0)), p.PMIDs)
}

// DecodeBody fills p and reuses its PMIDs.
func (p *DescIDs) DecodeBody(body []byte) error {
	c := cursor{b: body}
	if status := c.i32(); c.err == nil && status != -1 {
		c.fail(0, "status %d in a list of PMIDs for descriptors", status)
	}
	p.PMIDs = c.pmids(p.PMIDs)
	return c.end()
}

// appendBody appends the count and the descriptors.
func (p *Descs) appendBody(b []byte) []byte {
	b = slices.Grow(b, 4+descSize*len(p.Descs))
	b = put32(b, uint32(len(p.Descs)))
	for i := range p.Descs {
		b = putDesc(b, &p.Descs[i])
	}
	return b
}

// DecodeBody fills p and reuses its Descs.
func (p *Descs) DecodeBody(body []byte) error {
	c := cursor{b: body}
	n := c.some(descSize)
	p.Descs = slices.Grow(p.Descs[:0], n)
	for range n {
		p.Descs = append(p.Descs, c.desc())
	}
	return c.end()
}

// appendBody appends the identifier and the kind. TextDirect is for the caller
// only and is not sent.
func (p *TextReq) appendBody(b []byte) []byte {
	return put32(put32(b, p.Ident), uint32(p.Kind&^pcp.TextDirect))
}

// DecodeBody fills p.
func (p *TextReq) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Ident = c.u32()
	p.Kind = pcp.TextKind(c.i32()) &^ pcp.TextDirect
	return c.end()
}

// appendBody appends the identifier and the text. The identifier is in the byte
// order of the machine, unlike all other numbers: as in C (p_text.c), and no
// client reads it.
func (p *Text) appendBody(b []byte) []byte {
	b = slices.Grow(b, 8+valueset.Padded(len(p.Text)))
	return putBytes(binary.NativeEndian.AppendUint32(b, p.Ident), p.Text)
}

// DecodeBody fills p. Bytes after the text are ignored, as p_text.c does.
func (p *Text) DecodeBody(body []byte) error {
	c := cursor{b: body}
	if c.u32(); c.err == nil {
		p.Ident = binary.NativeEndian.Uint32(body)
	}
	from, to := c.span()
	p.Text = ""
	if c.err == nil {
		p.Text = string(body[from:to])
	}
	return c.err
}

// maxCreds is the maximum number of credentials (LIMIT_CREDS).
const maxCreds = 1024

// appendBody appends the count and the credentials.
func (p *Creds) appendBody(b []byte) []byte {
	b = put32(b, uint32(len(p.Creds)))
	for _, cr := range p.Creds {
		b = append(b, cr.Type, cr.A, cr.B, cr.C)
	}
	return b
}

// DecodeBody fills p and reuses its Creds.
func (p *Creds) DecodeBody(body []byte) error {
	c := cursor{b: body}
	n := c.some(4)
	if n > maxCreds {
		c.fail(0, "%d credentials where %d are accepted", n, maxCreds)
		n = 0
	}
	p.Creds = p.Creds[:0]
	for range n {
		w := c.u32()
		p.Creds = append(p.Creds, Cred{uint8(w >> 24), uint8(w >> 16), uint8(w >> 8), uint8(w)})
	}
	return c.end()
}

// Version returns the version and features of the version credential in p; ok
// is false if there is none.
func (p *Creds) Version() (version uint8, f Features, ok bool) {
	for _, cr := range p.Creds {
		if version, f, ok = cr.Version(); ok {
			return version, f, true
		}
	}
	return 0, 0, false
}

// maxAttr is the length above which an attribute's value is refused; an equal
// length is refused too (LIMIT_ATTR_PDU).
const maxAttr = 4096

// appendBody appends the key and the value, which is not padded.
func (p *Attr) appendBody(b []byte) []byte {
	return append(put32(b, uint32(p.Attr)), p.Value...)
}

// DecodeBody fills p with a copy of the value. A collector closes it with a NUL
// for its agents, a client for its collector does not; see [Attr.Text].
func (p *Attr) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Attr = AttrKey(c.i32())
	if n := c.rest(); n >= maxAttr {
		c.fail(c.off, "an attribute of %d bytes where %d are accepted", n, maxAttr-1)
	}
	p.Value = append(p.Value[:0], c.b[c.off:]...)
	return c.err
}

// Text returns the value without its closing NUL, if it has one.
func (p *Attr) Text() string {
	if n := len(p.Value); n > 0 && p.Value[n-1] == 0 {
		return string(p.Value[:n-1])
	}
	return string(p.Value)
}
