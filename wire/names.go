package wire

import (
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// appendBody appends the status and the PMIDs.
func (p *PMNSIDs) appendBody(b []byte) []byte {
	b = slices.Grow(b, 8+4*len(p.PMIDs))
	return putPMIDs(put32(b, uint32(p.Status)), p.PMIDs)
}

// DecodeBody fills p and reuses its PMIDs.
func (p *PMNSIDs) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Status = pcp.Error(c.i32())
	p.PMIDs = c.pmids(p.PMIDs)
	return c.end()
}

// appendBody appends the counts and the names, each after its status if there
// are any. A name without a status gets 0.
func (p *PMNSNames) appendBody(b []byte) []byte {
	size, strlen := 12, 0
	for _, name := range p.Names {
		size += 8 + valueset.Padded(len(name))
		strlen += len(name) + 1
	}
	b = slices.Grow(b, size)
	b = put32(b, uint32(strlen)) // with the NUL of each in a C receiver's memory
	if p.Status == nil {
		b = put32(b, 0)
	} else {
		b = put32(b, uint32(len(p.Names)))
	}
	b = put32(b, uint32(len(p.Names)))
	for i, name := range p.Names {
		if p.Status != nil {
			status := int32(0)
			if i < len(p.Status) {
				status = p.Status[i]
			}
			b = put32(b, uint32(status))
		}
		b = putBytes(b, name)
	}
	return b
}

// DecodeBody fills p and reuses its slices. The names share one copy of the
// body. Bytes after the last name are ignored, as p_pmns.c does.
func (p *PMNSNames) DecodeBody(body []byte) error {
	c := cursor{b: body}
	claim := c.i32()
	nstatus := c.i32()
	size := 4
	if nstatus != 0 {
		size = 8
	}
	at := c.off
	n := c.count(size)
	if c.err == nil && nstatus != 0 && int(nstatus) != n {
		c.fail(at, "%d names with %d statuses", n, nstatus)
		n = 0
	}
	p.Names = slices.Grow(p.Names[:0], n)
	status := slices.Grow(p.Status[:0], min(n, int(max(nstatus, 0))))
	p.Status = nil
	names, strlen := string(body), 0
	for range n {
		if nstatus != 0 {
			status = append(status, c.i32())
			p.Status = status
		}
		from, to := c.span()
		if strlen += to - from + 1; c.err == nil && int64(strlen) > int64(claim) {
			c.fail(from, "names longer than the %d bytes claimed", claim)
		}
		if c.err != nil {
			break
		}
		p.Names = append(p.Names, names[from:to])
	}
	return c.err
}

// appendBody appends the subtype and the name.
func (p *PMNSChild) appendBody(b []byte) []byte {
	subtype := uint32(0)
	if p.WithStatus {
		subtype = 1
	}
	return putBytes(put32(b, subtype), p.Name)
}

// DecodeBody fills p. Bytes after the name are ignored, as p_pmns.c does.
func (p *PMNSChild) DecodeBody(body []byte) (err error) {
	var subtype uint32
	subtype, p.Name, err = nameReq(body)
	p.WithStatus = subtype != 0
	return err
}

// appendBody appends a subtype of 0 and the name.
func (p *PMNSTraverse) appendBody(b []byte) []byte { return putBytes(put32(b, 0), p.Name) }

// DecodeBody fills p. Bytes after the name are ignored, as p_pmns.c does.
func (p *PMNSTraverse) DecodeBody(body []byte) (err error) {
	_, p.Name, err = nameReq(body)
	return err
}

func nameReq(body []byte) (subtype uint32, name string, err error) {
	c := cursor{b: body}
	subtype = c.u32()
	from, to := c.span()
	if c.err == nil {
		name = string(body[from:to])
	}
	return subtype, name, c.err
}
