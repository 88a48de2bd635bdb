package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A cursor reads a body from front to back. Its first failure sticks: later reads
// return zero, so that a decoder checks the error once, at its end.
type cursor struct {
	b   []byte
	off int
	err error
}

// fail records a malformed PDU. Offsets in messages count from the header, as
// those in a dump do.
func (c *cursor) fail(at int, format string, args ...any) {
	if c.err == nil {
		c.err = malformed(at, fmt.Sprintf(format, args...))
	}
	c.off = len(c.b)
}

// malformed records the error of the body at an offset into it.
func malformed(at int, what string) error {
	return fmt.Errorf("offset %d: %s: %w", at+HeaderSize, what, pcp.ErrIPC)
}

func (c *cursor) rest() int { return len(c.b) - c.off }

func (c *cursor) u32() uint32 {
	if c.rest() < 4 {
		c.fail(c.off, "%d bytes where a word should be", c.rest())
		return 0
	}
	w := binary.BigEndian.Uint32(c.b[c.off:])
	c.off += 4
	return w
}

func (c *cursor) i32() int32 { return int32(c.u32()) }

func (c *cursor) u64() uint64 {
	if c.rest() < 8 {
		c.fail(c.off, "%d bytes where a double word should be", c.rest())
		return 0
	}
	w := binary.BigEndian.Uint64(c.b[c.off:])
	c.off += 8
	return w
}

// count reads the number of elements that follow, each of at least size bytes. It
// compares in uint64, and before anything is allocated.
func (c *cursor) count(size int) int {
	at := c.off
	n := c.i32()
	if n < 0 || uint64(n)*uint64(size) > uint64(c.rest()) {
		c.fail(at, "%d elements in %d bytes", n, c.rest())
		return 0
	}
	return int(n)
}

// some is count for a list that must not be empty.
func (c *cursor) some(size int) int {
	at := c.off
	n := c.count(size)
	if n == 0 {
		c.fail(at, "an empty list")
	}
	return n
}

// span reads a length and skips that many bytes and the padding to a whole word,
// which may be incomplete at the end of the PDU. It returns the position of the
// bytes.
func (c *cursor) span() (from, to int) {
	n := c.count(1)
	from, to = c.off, c.off+n
	c.off += min(valueset.Padded(n), c.rest())
	return from, to
}

// end refuses bytes after the last field.
func (c *cursor) end() error {
	if c.err == nil && c.rest() != 0 {
		c.fail(c.off, "%d bytes too many", c.rest())
	}
	return c.err
}

func put32(b []byte, w uint32) []byte { return binary.BigEndian.AppendUint32(b, w) }

// putBytes appends a length, the bytes, and padding to a whole word.
func putBytes[T string | []byte](b []byte, s T) []byte {
	b = append(put32(b, uint32(len(s))), s...)
	return valueset.Pad(b, len(s))
}

// putPMIDs appends a count and the identifiers.
func putPMIDs(b []byte, ids []pcp.PMID) []byte {
	b = put32(b, uint32(len(ids)))
	for _, id := range ids {
		b = put32(b, uint32(id))
	}
	return b
}

// pmids reads a count, which must not be 0, and the identifiers into ids.
func (c *cursor) pmids(ids []pcp.PMID) []pcp.PMID {
	n := c.some(4)
	ids = ids[:0]
	if cap(ids) < n {
		ids = make([]pcp.PMID, 0, n)
	}
	for range n {
		ids = append(ids, pcp.PMID(c.u32()))
	}
	return ids
}
