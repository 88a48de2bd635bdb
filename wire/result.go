package wire

import (
	"encoding/binary"
	"slices"

	"github.com/go-pcp/pcp"
)

// Layout of a result. The values of a set follow it at once; those that need
// more than a word are blocks behind the last set, and what stands for them is
// the block's distance from the start of the PDU in words.
//
//	RESULT          sec usec numpmid                 set... block...
//	HIGHRES_RESULT  numpmid sec:64 nsec:64           set... block...
//	set             pmid numval [valfmt {inst value}...]   valfmt only if numval > 0
//	block           type:8 len:24 bytes, '~' to a whole word; len counts its own word

const (
	resultHead  = 12
	highResHead = 20
	blockHead   = 4        // PM_VAL_HDR_SIZE
	maxBlock    = 0xffffff // PM_VAL_VLEN_MAX
)

// AppendBody appends p. A set goes out in its ValFmt, but never in situ what
// does not fit there, should its maker have left ValFmt unset. A set with a value beyond 16 MiB, which a block cannot hold,
// goes out without values and as pcp.ErrTooBig.
func (p *Result) AppendBody(b []byte) []byte {
	start := len(b)
	sets, blocks, tooBig := resultHead, 0, false
	if p.HighRes {
		sets = highResHead
	}
	for i := range p.Sets {
		vs := &p.Sets[i]
		sets += 8
		if vs.Err < 0 || len(vs.Values) == 0 {
			continue
		}
		n := 0
		if format(vs) != pcp.ValInSitu {
			if n = blocksSize(vs.Values); n < 0 {
				tooBig = true
				continue
			}
		}
		sets += 4 + 8*len(vs.Values)
		blocks += n
	}
	b = slices.Grow(b, sets+blocks)[:start+sets]
	w := b[start:]
	if p.HighRes {
		binary.BigEndian.PutUint32(w, uint32(len(p.Sets)))
		binary.BigEndian.PutUint64(w[4:], uint64(p.Time.Sec))
		binary.BigEndian.PutUint64(w[12:], uint64(p.Time.Nsec))
		w = w[highResHead:]
	} else {
		binary.BigEndian.PutUint32(w, uint32(p.Time.Sec))
		binary.BigEndian.PutUint32(w[4:], uint32(p.Time.Nsec/1000))
		binary.BigEndian.PutUint32(w[8:], uint32(len(p.Sets)))
		w = w[resultHead:]
	}
	for i := range p.Sets {
		vs := &p.Sets[i]
		valfmt, numval := format(vs), int32(len(vs.Values))
		switch {
		case vs.Err < 0:
			numval = int32(vs.Err)
		case tooBig && valfmt != pcp.ValInSitu && blocksSize(vs.Values) < 0:
			numval = int32(pcp.ErrTooBig)
		}
		binary.BigEndian.PutUint32(w, uint32(vs.PMID))
		binary.BigEndian.PutUint32(w[4:], uint32(numval))
		if numval <= 0 {
			w = w[8:]
			continue
		}
		binary.BigEndian.PutUint32(w[8:], uint32(valfmt))
		w = w[12:]
		for j := range vs.Values {
			v := &vs.Values[j]
			bits := uint32(v.Bits())
			if valfmt != pcp.ValInSitu {
				bits = uint32((len(b) - start + HeaderSize) / 4)
				b = putBlock(b, v)
			}
			binary.BigEndian.PutUint32(w, uint32(v.Inst))
			binary.BigEndian.PutUint32(w[4:], bits)
			w = w[8:]
		}
	}
	return b
}

// format returns how the values of a set travel: as the set says, or in blocks
// if the type of the first one leaves no choice.
func format(vs *pcp.ValueSet) pcp.ValFmt {
	if vs.ValFmt == pcp.ValInSitu && len(vs.Values) > 0 {
		if t := vs.Values[0].Type(); !t.InSitu() && t != pcp.TypeUnknown {
			return pcp.ValDPtr
		}
	}
	return vs.ValFmt
}

// blocksSize returns how many bytes the blocks of values take, or -1 if one of
// them is too long.
func blocksSize(values []pcp.Value) int {
	size := 0
	for i := range values {
		n := blockSize(&values[i])
		if n > maxBlock {
			return -1
		}
		size += padded(n)
	}
	return size
}

// blockSize returns the length of a value's block without its padding.
func blockSize(v *pcp.Value) int {
	switch v.Type() {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return blockHead + 4
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		return blockHead + 8
	case pcp.TypeString:
		return blockHead + len(v.Bytes()) + 1
	}
	return blockHead + len(v.Bytes())
}

// putBlock appends a value's block. AppendBody grew b before: it does not move.
func putBlock(b []byte, v *pcp.Value) []byte {
	t := v.Type()
	switch t {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return put32(put32(b, uint32(t)<<24|8), uint32(v.Bits()))
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		return binary.BigEndian.AppendUint64(put32(b, uint32(t)<<24|12), v.Bits())
	}
	n := blockSize(v)
	b = append(put32(b, uint32(t)<<24|uint32(n)), v.Bytes()...)
	if t == pcp.TypeString {
		b = append(b, 0)
	}
	return pad(b, n)
}

// DecodeBody fills p, of which HighRes must be right, and reuses its memory:
// the sets and values it had are overwritten. Strings, aggregates and events
// point into body. A fraction of a second out of range, as requests to store
// carry from memory never set, counts as 0.
func (p *Result) DecodeBody(body []byte) error {
	p.Result.Reset()
	c := cursor{b: body}
	n := 0
	if p.HighRes {
		at := c.off
		n = int(c.i32())
		p.Time.Sec = int64(c.u64())
		if nsec := c.u64(); nsec < 1e9 {
			p.Time.Nsec = int32(nsec)
		}
		if c.err == nil && (n < 0 || uint64(n)*8 > uint64(c.rest())) {
			c.fail(at, "%d sets in %d bytes", n, c.rest())
		}
	} else {
		p.Time.Sec = int64(c.i32())
		if usec := c.u32(); usec < 1e6 {
			p.Time.Nsec = int32(usec) * 1000
		}
		n = c.count(8)
	}
	if c.err != nil {
		return c.err
	}

	// What is to come, before it gets memory.
	end, values := c.off, 0
	for range n {
		if len(body)-end < 8 {
			return malformed(end, "a set past the end")
		}
		numval := int32(binary.BigEndian.Uint32(body[end+4:]))
		end += 8
		if numval <= 0 {
			continue
		}
		if 4+8*uint64(numval) > uint64(len(body)-end) {
			return malformed(end-4, "values past the end")
		}
		end += 4 + 8*int(numval)
		values += int(numval)
	}
	p.Grow(n, values)

	d := blockDecoder{body: body, first: end, left: len(body) - end}
	w := body[c.off:end]
	for range n {
		id, numval := pcp.PMID(binary.BigEndian.Uint32(w)), int32(binary.BigEndian.Uint32(w[4:]))
		if numval <= 0 {
			p.AddError(id, pcp.Error(numval))
			w = w[8:]
			continue
		}
		p.AddSet(id)
		vs := &p.Sets[len(p.Sets)-1]
		vs.ValFmt = pcp.ValFmt(binary.BigEndian.Uint32(w[8:]))
		vals := p.AddValues(int(numval))
		at := end - len(w) + 8
		w = w[12:]
		switch vs.ValFmt {
		case pcp.ValInSitu:
			for j := range vals {
				vals[j] = pcp.RawValue(pcp.TypeUnknown, uint64(binary.BigEndian.Uint32(w[4:])))
				vals[j].Inst = int32(binary.BigEndian.Uint32(w))
				w = w[8:]
			}
		case pcp.ValDPtr, pcp.ValSPtr:
			for j := range vals {
				if err := d.value(&vals[j], binary.BigEndian.Uint32(w[4:])); err != nil {
					p.Result.Reset()
					return err
				}
				vals[j].Inst = int32(binary.BigEndian.Uint32(w))
				w = w[8:]
			}
		default:
			p.Result.Reset()
			return malformed(at, "an unknown value format")
		}
	}
	if d.left != 0 {
		p.Result.Reset()
		return malformed(end, "bytes that belong to no value")
	}
	return nil
}

// A blockDecoder decodes the blocks of a body, from offset first to its end.
// Each byte may be used once: blocks that overlap would let a short PDU stand
// for a result of any size.
type blockDecoder struct {
	body  []byte
	first int
	left  int
}

func (d *blockDecoder) value(v *pcp.Value, word uint32) error {
	at := int64(word)*4 - HeaderSize
	if at < int64(d.first) || at > int64(len(d.body)-blockHead) {
		return malformed(d.first, "a value whose block is outside the PDU")
	}
	block := d.body[at:]
	head := binary.BigEndian.Uint32(block)
	t, n := pcp.Type(head>>24), int(head&maxBlock)
	if n < blockHead || n > len(block) {
		return malformed(int(at), "a block of a wrong length")
	}
	if d.left -= padded(n); d.left < 0 {
		return malformed(int(at), "blocks that overlap")
	}
	data := block[blockHead:n:n]
	switch t {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		if len(data) < 4 {
			return malformed(int(at), "a number cut short")
		}
		*v = pcp.RawValue(t, uint64(binary.BigEndian.Uint32(data)))
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		if len(data) < 8 {
			return malformed(int(at), "a number cut short")
		}
		*v = pcp.RawValue(t, binary.BigEndian.Uint64(data))
	case pcp.TypeString:
		if k := len(data); k > 0 && data[k-1] == 0 {
			data = data[:k-1]
		}
		*v = pcp.BytesValue(t, data)
	default:
		*v = pcp.BytesValue(t, data)
	}
	return nil
}
