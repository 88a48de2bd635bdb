package logsummary

import (
	"encoding/binary"

	"github.com/go-pcp/pcp"
)

// A shape is how a record is laid out: a logger writes the same metrics time
// after time, and what was found out about one record holds for all that differ
// from it in values alone.
type shape struct {
	length int // of a record
	fixed  []fixed
	blocks []block
	sets   [workers][]set
	errors bool // there are sets with errors
	failed int  // how often a record was of another shape after all
}

// A fixed part of a record is the head of a set: the metric and the number of
// values, and if there are any their format.
type fixed struct {
	at     int32
	head   uint64
	format uint32 // unused without values
}

// A block is where the word is that says where a block is, what it says, and
// what the block begins with: its type and length.
type block struct{ at, word, head uint32 }

// shapes are those that records had. A record is looked for by its length, its
// number of sets and its first metric.
type shapes struct {
	known map[shapeKey]*shape // nil for one that was seen once
	last  *shape
	key   shapeKey // of last
}

type shapeKey struct {
	length, sets int
	first        pcp.PMID
}

// maxShapes is how many shapes are remembered, maxShaped how long the records
// may be, and maxMisses how often one of them may turn out to be another.
const (
	maxShapes = 64
	maxShaped = 1 << 20
	maxMisses = 20
)

func keyOf(body []byte, n, version int) (shapeKey, bool) {
	head := headSize(version)
	if len(body) < head+4 || len(body) > maxShaped {
		return shapeKey{}, false
	}
	return shapeKey{len(body), n, pcp.PMID(binary.BigEndian.Uint32(body[head:]))}, true
}

// find returns the shape of a record of n sets, nil if it is not known.
func (s *shapes) find(body []byte, n, version int) *shape {
	key, ok := keyOf(body, n, version)
	if !ok {
		return nil
	}
	if s.last == nil || s.key != key {
		if s.last = s.known[key]; s.last == nil {
			return nil
		}
		s.key = key
	}
	if s.last.failed > maxMisses {
		return nil
	}
	if !s.last.fits(body) {
		s.last.failed++
		return nil
	}
	return s.last
}

// fits reports whether a record is of the shape. If so it is as good as the one
// that the shape was learned of.
func (x *shape) fits(body []byte) bool {
	if len(body) != x.length {
		return false
	}
	for i := range x.fixed {
		f := &x.fixed[i]
		b := body[f.at:]
		if binary.BigEndian.Uint64(b) != f.head || int32(f.head) > 0 && binary.BigEndian.Uint32(b[8:]) != f.format {
			return false
		}
	}
	for i := range x.blocks {
		b := &x.blocks[i]
		if binary.BigEndian.Uint32(body[b.at:]) != b.word || binary.BigEndian.Uint32(body[int(b.word)*4-blockBase:]) != b.head {
			return false
		}
	}
	return true
}

// learn remembers the shape of a record, which was found to be good, if it is
// one of many.
func (s *shapes) learn(body []byte, n, version int, sets [workers][]set, errors bool) {
	key, ok := keyOf(body, n, version)
	if !ok {
		return
	}
	old, seen := s.known[key]
	switch {
	case !seen && len(s.known) < maxShapes:
		if s.known == nil {
			s.known = make(map[shapeKey]*shape)
		}
		s.known[key] = nil
		return
	case !seen || old != nil:
		return
	}
	x := &shape{length: len(body), errors: errors}
	at := headSize(version)
	for range n {
		f := fixed{at: int32(at), head: binary.BigEndian.Uint64(body[at:])}
		if at += 8; int32(f.head) > 0 {
			f.format = binary.BigEndian.Uint32(body[at:])
			at += 4
			for range int32(f.head) {
				if pcp.ValFmt(f.format) != pcp.ValInSitu {
					word := binary.BigEndian.Uint32(body[at+4:])
					x.blocks = append(x.blocks, block{uint32(at + 4), word, binary.BigEndian.Uint32(body[int(word)*4-blockBase:])})
				}
				at += 8
			}
		}
		x.fixed = append(x.fixed, f)
	}
	for w := range sets {
		x.sets[w] = append([]set(nil), sets[w]...)
	}
	s.known[key] = x
}
