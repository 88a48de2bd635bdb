package wire

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A RawResult is a result as the received bytes, for programs that write them behind another
// head in the same layout, as in archives. It has no Value for each value.
type RawResult struct {
	Time pcp.Timestamp
	Sets int // number of sets; 0 if it is empty

	rest []byte // bytes after the head
	head int    // length of the head
}

// Take takes the body of a RESULT or HIGHRES_RESULT PDU. It reports whether the sets are for
// ids, in their order, and laid out as we would encode them. Otherwise p is empty, and
// [Result.DecodeBody] returns the contents or the error. The body stays the caller's: p is valid as
// long as that is.
func (p *RawResult) Take(body []byte, highRes bool, ids []pcp.PMID) bool {
	*p = RawResult{}
	c := cursor{b: body}
	t, n := c.resultHead(highRes)
	if c.err != nil || n != len(ids) || !valueset.Canonical(body, c.off, ids) {
		return false
	}
	*p = RawResult{Time: t, Sets: n, rest: body[c.off:], head: c.off}
	return true
}

// Len returns the number of bytes that Append appends.
func (p *RawResult) Len() int { return len(p.rest) }

// Append appends the sets and the blocks of their values in the form for a head of the
// given length in bytes, which is a multiple of 4.
func (p *RawResult) Append(b []byte, head int) []byte {
	start := len(b)
	b = append(b, p.rest...)
	valueset.Shift(b[start:], p.Sets, (head-p.head)/4)
	return b
}
