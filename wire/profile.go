package wire

import (
	"slices"

	"github.com/go-pcp/pcp"
)

// appendBody appends the context, the state, a line for each instance domain,
// and then all instances.
func (p *Profile) appendBody(b []byte) []byte {
	size := 16
	for i := range p.Profile.InDoms {
		size += 16 + 4*len(p.Profile.InDoms[i].Insts)
	}
	b = slices.Grow(b, size)
	b = put32(b, uint32(p.Context))
	b = put32(b, uint32(p.Profile.State))
	b = put32(b, uint32(len(p.Profile.InDoms)))
	b = put32(b, 0)
	for i := range p.Profile.InDoms {
		d := &p.Profile.InDoms[i]
		b = put32(b, uint32(d.InDom))
		b = put32(b, uint32(d.State))
		b = put32(b, uint32(len(d.Insts)))
		b = put32(b, 0)
	}
	for i := range p.Profile.InDoms {
		for _, inst := range p.Profile.InDoms[i].Insts {
			b = put32(b, uint32(inst))
		}
	}
	return b
}

// DecodeBody fills p with its own memory, as profiles are kept. Instances are put
// in ascending order, which does not matter to a C client.
func (p *Profile) DecodeBody(body []byte) error {
	c := cursor{b: body}
	*p = Profile{}
	p.Context = c.i32()
	p.Profile.State = c.state()
	if c.err == nil && p.Context < 0 {
		c.fail(0, "context %d", p.Context)
	}
	at := c.off
	n := c.i32()
	c.u32()
	if n < 0 || uint64(n)*16 > uint64(c.rest()) {
		c.fail(at, "%d instance domains in %d bytes", n, c.rest())
		n = 0
	}
	doms := make([]pcp.ProfileInDom, n)
	words := cursor{b: body, off: min(c.off+16*int(n), len(body))}
	for i := range doms {
		doms[i].InDom = pcp.InDom(c.u32())
		doms[i].State = c.state()
		at := c.off
		k := c.i32()
		c.u32()
		if k < 0 || uint64(k)*4 > uint64(words.rest()) {
			c.fail(at, "%d instances in %d bytes", k, words.rest())
			break
		}
		if k == 0 {
			continue
		}
		insts := make([]int32, k)
		for j := range insts {
			insts[j] = words.i32()
		}
		slices.Sort(insts)
		doms[i].Insts = slices.Compact(insts)
	}
	if c.err != nil {
		return c.err
	}
	if n > 0 {
		p.Profile.InDoms = doms
	}
	return words.end()
}

// state reads a profile's state. Any number but 0 excludes.
func (c *cursor) state() pcp.ProfileState {
	if c.u32() == 0 {
		return pcp.ProfileInclude
	}
	return pcp.ProfileExclude
}
