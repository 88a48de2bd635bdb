package wire

import (
	"encoding/binary"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A Relay is a result sent from an agent to a client as the received bytes,
// without a Value for each of its values: a long one takes a fraction of the
// memory.
type Relay struct {
	HighRes bool          // the form in which it is sent on
	Time    pcp.Timestamp // of the result as sent on
	Sets    int

	rest []byte // bytes after the head
}

// Take checks the body of a RESULT PDU as [Result.DecodeBody] does, and takes it
// over: p changes it. It returns the time of the PDU, and whether its sets are
// for ids, in their order.
func (p *Relay) Take(body []byte, ids []pcp.PMID) (stamp pcp.Timestamp, same bool, err error) {
	c := cursor{b: body}
	stamp.Sec = int64(c.i32())
	if usec := c.u32(); usec < 1e6 {
		stamp.Nsec = int32(usec) * 1000
	}
	n := c.count(8)
	if c.err != nil {
		return stamp, false, c.err
	}
	// Offsets of blocks count from the start of the PDU.
	more := 0
	if p.HighRes {
		more = highResHead - resultHead
	}
	same, err = valueset.Move(body, c.off, n, ids, more)
	if err != nil {
		return stamp, false, malformedSets(err)
	}
	p.Sets, p.rest = n, body[resultHead:]
	return stamp, same, nil
}

// Append appends the PDU up to its sets, and returns the sets for the caller to
// send after it.
func (p *Relay) Append(b []byte, from int32) (head, sets []byte) {
	if p.HighRes {
		b = AppendHeader(b, Header{Len: uint32(HeaderSize + highResHead + len(p.rest)), Type: TypeHighResResult, From: from})
		b = put32(b, uint32(p.Sets))
		b = binary.BigEndian.AppendUint64(b, uint64(p.Time.Sec))
		b = binary.BigEndian.AppendUint64(b, uint64(p.Time.Nsec))
		return b, p.rest
	}
	b = AppendHeader(b, Header{Len: uint32(HeaderSize + resultHead + len(p.rest)), Type: TypeResult, From: from})
	b = put32(put32(b, uint32(p.Time.Sec)), uint32(p.Time.Nsec/1000))
	return put32(b, uint32(p.Sets)), p.rest
}
