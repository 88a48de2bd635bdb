package wire

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// Layout of a result. Package valueset describes the part after the head.
//
//	RESULT          sec usec numpmid                 set... block...
//	HIGHRES_RESULT  numpmid sec:64 nsec:64           set... block...

const (
	resultHead  = 12
	highResHead = 20
)

// appendBody appends p. A set is sent in its ValFmt, but values that do not fit in situ never are, in case ValFmt was left
// unset. A set with a value beyond 16 MiB, which a block cannot hold, is sent without values and as pcp.ErrTooBig.
func (p *Result) appendBody(b []byte) []byte {
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
			if n = valueset.BlocksSize(vs.Values); n < 0 {
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
		case tooBig && valfmt != pcp.ValInSitu && valueset.BlocksSize(vs.Values) < 0:
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
				bits = valueset.Word(len(b) - start)
				b = valueset.AppendBlock(b, v) // it was grown before: it does not move
			}
			binary.BigEndian.PutUint32(w, uint32(v.Inst))
			binary.BigEndian.PutUint32(w[4:], bits)
			w = w[8:]
		}
	}
	return b
}

// format returns the encoding of the values of a set: the one of the set, or
// blocks if the type of the first value needs them.
func format(vs *pcp.ValueSet) pcp.ValFmt {
	if vs.ValFmt == pcp.ValInSitu && len(vs.Values) > 0 {
		if t := vs.Values[0].Type(); !t.InSitu() && t != pcp.TypeUnknown {
			return pcp.ValDPtr
		}
	}
	return vs.ValFmt
}

// DecodeBody fills p, of which HighRes must be right, and reuses its memory:
// the sets and values it had are overwritten. Strings, aggregates and events
// point into body. A fraction of a second out of range, which requests to store
// can have from uninitialized memory, counts as 0.
func (p *Result) DecodeBody(body []byte) error {
	p.Result.Reset()
	c := cursor{b: body}
	t, n := c.resultHead(p.HighRes)
	p.Time = t
	if c.err != nil {
		return c.err
	}
	if err := valueset.Decode(&p.Result, body, c.off, n, valueset.PDU); err != nil {
		return malformedSets(err)
	}
	return nil
}

// resultHead reads the head of a result: its time and the number of sets.
func (c *cursor) resultHead(highRes bool) (t pcp.Timestamp, n int) {
	if !highRes {
		t.Sec = int64(c.i32())
		if usec := c.u32(); usec < 1e6 {
			t.Nsec = int32(usec) * 1000
		}
		return t, c.count(8)
	}
	at := c.off
	n = int(c.i32())
	t.Sec = int64(c.u64())
	if nsec := c.u64(); nsec < 1e9 {
		t.Nsec = int32(nsec)
	}
	if c.err == nil && !valueset.Fits(int32(n), c.rest()) {
		c.fail(at, "%d sets in %d bytes", n, c.rest())
	}
	return t, n
}

// malformedSets returns an error of package valueset as one of a PDU.
func malformedSets(err error) error {
	if e, ok := errors.AsType[*valueset.Error](err); ok {
		return malformed(e.Offset, e.Text)
	}
	return err
}
