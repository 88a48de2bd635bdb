package wire

import (
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// appendBody appends the domain, two unused words, the instance and the name.
func (p *InstanceReq) appendBody(b []byte) []byte {
	b = slices.Grow(b, 20+valueset.Padded(len(p.Name)))
	b = put32(b, uint32(p.InDom))
	b = put32(put32(b, 0), 0) // formerly the time in an archive
	b = put32(b, uint32(p.Inst))
	return putBytes(b, p.Name)
}

// DecodeBody fills p.
func (p *InstanceReq) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.InDom = pcp.InDom(c.u32())
	c.u64()
	p.Inst = c.i32()
	from, to := c.span()
	p.Name = ""
	if c.err == nil {
		p.Name = string(body[from:to])
	}
	return c.end()
}

// appendBody appends the domain, the count and the instances.
func (p *Instance) appendBody(b []byte) []byte {
	size := 8
	for i := range p.Instances {
		size += 8 + valueset.Padded(len(p.Instances[i].Name))
	}
	b = slices.Grow(b, size)
	b = put32(put32(b, uint32(p.InDom)), uint32(len(p.Instances)))
	for i := range p.Instances {
		b = put32(b, uint32(p.Instances[i].Inst))
		b = putBytes(b, p.Instances[i].Name)
	}
	return b
}

// DecodeBody fills p and reuses its Instances. The names share one copy of the
// body.
func (p *Instance) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.InDom = pcp.InDom(c.u32())
	n := c.count(8)
	p.Instances = slices.Grow(p.Instances[:0], n)
	names := string(body)
	for range n {
		inst := c.i32()
		from, to := c.span()
		if c.err != nil {
			break
		}
		p.Instances = append(p.Instances, pcp.Instance{Inst: inst, Name: names[from:to]})
	}
	return c.end()
}
