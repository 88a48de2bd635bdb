package archive

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// recordHead returns the time of a record and the number of its sets.
func recordHead(body []byte, version int) (t pcp.Timestamp, sets int32, ok bool) {
	head := HeadSize(version)
	if len(body) < head {
		return t, 0, false
	}
	return decodeStamp(body, version), int32(binary.BigEndian.Uint32(body[head-4:])), true
}

// A SetScanner walks over the sets of a record of a volume without decoding their
// values, for a caller that wants a few metrics of many:
//
//	for s.Start(body, version); s.Next(); {
//		if s.PMID == id { use(s.Inst(0), s.Bits(0)) }
//	}
//	if s.Err() != nil { ... }
type SetScanner struct {
	Time pcp.Timestamp
	Sets int // number of sets in the record, 0 for a mark

	PMID   pcp.PMID
	Status pcp.Error  // if not 0, the error in place of values
	ValFmt pcp.ValFmt // of the values, if there are any
	Len    int        // number of values

	body  []byte
	pairs []byte // of the set
	off   int
	left  int
	bad   bool
}

// Start begins with the record whose contents are body. It reports whether the
// record's head is good.
func (s *SetScanner) Start(body []byte, version int) bool {
	t, n, ok := recordHead(body, version)
	head := HeadSize(version)
	if ok && !valueset.Fits(n, len(body)-head) {
		ok = false
	}
	if !ok {
		*s = SetScanner{bad: true}
		return false
	}
	s.Time, s.Sets, s.left = t, int(n), int(n)
	s.body, s.off, s.bad = body, head, false
	return true
}

// Next advances to the next set. It returns false at the end, and if the record is bad.
func (s *SetScanner) Next() bool {
	if s.left <= 0 {
		return false
	}
	b := s.body
	off := s.off
	if len(b)-off < 8 {
		s.left, s.bad = 0, true
		return false
	}
	s.left--
	s.PMID = pcp.PMID(binary.BigEndian.Uint32(b[off:]))
	n := int32(binary.BigEndian.Uint32(b[off+4:]))
	off += 8
	if n <= 0 {
		s.Status, s.Len, s.pairs, s.off = pcp.Error(n), 0, nil, off
		return true
	}
	if 4+8*uint64(n) > uint64(len(b)-off) {
		s.left, s.bad = 0, true
		return false
	}
	s.Status, s.Len = 0, int(n)
	s.ValFmt = pcp.ValFmt(binary.BigEndian.Uint32(b[off:]))
	s.off = off + 4 + 8*int(n)
	s.pairs = b[off+4 : s.off]
	return true
}

// Err returns the error in the part of the record that Next has read.
func (s *SetScanner) Err() error {
	if s.bad {
		return fmt.Errorf("a set past the end of a record: %w", pcp.ErrLogRec)
	}
	return nil
}

// Inst returns the instance of a value of the set.
func (s *SetScanner) Inst(i int) int32 { return int32(binary.BigEndian.Uint32(s.pairs[8*i:])) }

// Word returns the word of a value in the set: an in-situ value, or the place of
// its block.
func (s *SetScanner) Word(i int) uint32 { return binary.BigEndian.Uint32(s.pairs[8*i+4:]) }

// Pairs returns the instances and values of the set, 8 bytes for each: the instance and the
// word of Word, in the byte order of the file. They belong to the record.
func (s *SetScanner) Pairs() []byte { return s.pairs }

// Block returns the type and the contents of a value that is not in situ. The
// contents belong to the record. ok is false if they are not within it.
func (s *SetScanner) Block(i int) (t pcp.Type, data []byte, ok bool) {
	at := int64(s.Word(i))*4 - valueset.Base
	if at < 0 || at > int64(len(s.body)-valueset.BlockHead) {
		return 0, nil, false
	}
	block := s.body[at:]
	t, n := valueset.SplitHead(binary.BigEndian.Uint32(block))
	if n < valueset.BlockHead || n > len(block) {
		return 0, nil, false
	}
	return t, block[valueset.BlockHead:n:n], true
}

// Value returns a value of the set. A string, aggregate or event points into
// the record.
func (s *SetScanner) Value(i int) (pcp.Value, error) {
	if s.ValFmt == pcp.ValInSitu {
		v := pcp.RawValue(pcp.TypeUnknown, uint64(s.Word(i)))
		v.Inst = s.Inst(i)
		return v, nil
	}
	var v pcp.Value
	if err := valueset.DecodeValue(&v, s.body, s.Word(i)); err != nil {
		return v, fmt.Errorf("%w: %w", err, pcp.ErrLogRec)
	}
	v.Inst = s.Inst(i)
	return v, nil
}

// AppendTo appends the set to a result.
func (s *SetScanner) AppendTo(res *pcp.Result) error {
	if s.Len == 0 {
		res.AddError(s.PMID, s.Status)
		return nil
	}
	switch s.ValFmt {
	case pcp.ValInSitu, pcp.ValDPtr, pcp.ValSPtr:
	default:
		return fmt.Errorf("value format %d: %w", s.ValFmt, pcp.ErrLogRec)
	}
	res.AddSet(s.PMID)
	res.Sets[len(res.Sets)-1].ValFmt = s.ValFmt
	vals := res.AddValues(s.Len)
	for i := range vals {
		v, err := s.Value(i)
		if err != nil {
			res.Sets[len(res.Sets)-1].Values = nil
			return err
		}
		vals[i] = v
	}
	return nil
}

// Body returns the contents of the record.
func (s *SetScanner) Body() []byte { return s.body }

// Mark returns the position of the set, for Return. It is never 0.
func (s *SetScanner) Mark() int {
	if s.Len == 0 {
		return s.off - 8
	}
	return s.off - 12 - len(s.pairs)
}

// Return moves to the set of a position from Mark, as Next moves to the next one.
func (s *SetScanner) Return(mark int) bool {
	s.off, s.left = mark, 1
	return s.Next()
}
