package archive

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A Checker finds records that [DecodeResult] refuses, without decoding them. A
// program that walks over records with a [SetScanner] sees the sets that it wants;
// damage to the others would go unnoticed, and may have moved the wanted ones.
//
// A logger writes the same metrics time after time, so most records have the
// layout of an earlier one. The Checker finds that out by comparing bytes, many
// at a time.
type Checker struct {
	layouts map[layoutKey]*layout // nil for a layout seen once
	last    *layout
	key     layoutKey // of last
	learned int       // layouts
	scratch pcp.Result
	sets    []Set // of a record without a layout
}

// A layoutKey is the key of a layout: the length of the record, the number of its
// sets, and the first metric.
type layoutKey struct {
	length, sets int
	first        pcp.PMID
}

// A layout is the common part of good records that differ only in values.
type layout struct {
	sets   []byte    // the record that it was learned from, up to its blocks
	fixed  []stretch // of sets: all except the values in situ
	blocks []run
	odd    []run // those of blocks that do not fill a whole word
	misses int   // records that turned out to be different
	list   []Set // see Record
	number int   // see Record.Layout
}

type stretch struct{ from, to int }

// A run is a number of blocks of the same type and length, without gaps.
type run struct {
	at, size, n int
	head        uint32
}

// Limits of the stored layouts: their number, the bytes of a record with a
// layout, and the number of misses of a layout.
const (
	// MaxLayouts is the limit of [Record.Layout].
	MaxLayouts = 64

	maxLayoutLength = 1 << 20
	maxLayoutMisses = 20
)

// rest releases memory that the next record without a known layout allocates again.
func (c *Checker) rest() { c.sets, c.scratch = nil, pcp.Result{} }

// Check returns the error of the record that s was started with.
func (c *Checker) Check(s *SetScanner) error {
	if s.bad {
		return s.Err()
	}
	_, _, err := c.find(s)
	return err
}

// Record checks a record of which Body and Version are known, and fills in its
// time, its sets, its layout, and whether it is canonical.
func (c *Checker) Record(r *Record) error {
	var s SetScanner
	if !s.Start(r.Body, r.Version) {
		return DecodeResult(&c.scratch, r.Body, r.Version) // it returns the error
	}
	l, canonical, err := c.find(&s)
	if err != nil {
		return err
	}
	r.Time, r.Canonical = s.Time, canonical
	if l != nil {
		r.Sets, r.Layout = l.list, l.number
		return nil
	}
	r.Sets, r.Layout = c.sets, 0
	return nil
}

// appendSets appends the n sets of a record from an offset on, and returns their
// end. It reports whether they are all within the record.
func appendSets(list []Set, b []byte, off, n int) (sets []Set, end int, ok bool) {
	for range n {
		if len(b)-off < valueset.SetHead {
			return list, off, false
		}
		set := Set{PMID: pcp.PMID(binary.BigEndian.Uint32(b[off:]))}
		k := int32(binary.BigEndian.Uint32(b[off+4:]))
		if off += valueset.SetHead; k <= 0 {
			set.Status = pcp.Error(k)
		} else {
			if 4+valueset.Pair*uint64(k) > uint64(len(b)-off) {
				return list, off, false
			}
			set.ValFmt, set.Len, set.At = pcp.ValFmt(binary.BigEndian.Uint32(b[off:])), int(k), off+4
			off += 4 + valueset.Pair*int(k)
		}
		list = append(list, set)
	}
	return list, off, true
}

// find checks a record and returns its layout, or nil if none is known: then its
// sets are in c.sets.
func (c *Checker) find(s *SetScanner) (l *layout, canonical bool, err error) {
	b, off := s.body, s.off
	learnable := len(b)-off >= valueset.SetHead && len(b) <= maxLayoutLength
	var key layoutKey
	if learnable {
		key = layoutKey{len(b), s.Sets, pcp.PMID(binary.BigEndian.Uint32(b[off:]))}
		if c.last == nil || c.key != key {
			c.last, c.key = c.layouts[key], key
		}
		if l := c.last; l != nil && l.misses <= maxLayoutMisses {
			if l.fits(b) {
				return l, padded(l.odd, b), nil
			}
			l.misses++
		}
	}
	var end int
	var ok bool
	if c.sets, end, ok = appendSets(c.sets[:0], b, off, s.Sets); ok {
		ok, canonical = regular(c.sets, b, end)
	}
	if !ok {
		return nil, false, c.decode(s)
	}
	if !learnable {
		return nil, canonical, nil
	}
	if _, seen := c.layouts[key]; seen && c.last == nil {
		c.last = learn(c.sets, b, off, end)
		c.learned++
		c.last.number = c.learned
		c.layouts[key] = c.last
		return c.last, canonical, nil
	} else if !seen && len(c.layouts) < MaxLayouts {
		if c.layouts == nil {
			c.layouts = make(map[layoutKey]*layout)
		}
		c.layouts[key] = nil
	}
	return nil, canonical, nil
}

func (c *Checker) decode(s *SetScanner) error {
	return decodeResult(&c.scratch, s.body, s.Time, s.off, s.Sets)
}

// fits reports whether a record of the same length has the layout.
func (l *layout) fits(b []byte) bool {
	for _, f := range l.fixed {
		if !bytes.Equal(b[f.from:f.to], l.sets[f.from:f.to]) {
			return false
		}
	}
	for i := range l.blocks {
		if !l.blocks[i].fits(b) {
			return false
		}
	}
	return true
}

// fits reports whether all blocks of the run begin as they should. Blocks of
// 64-bit numbers, the most frequent ones, are compared eight at a time at offsets
// that the compiler knows to be in range: that takes a third of the time.
func (r *run) fits(b []byte) bool {
	at, n := r.at, r.n
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], r.head)
	want := binary.NativeEndian.Uint32(head[:])
	if r.size == numberBlock {
		for ; n >= 8; n -= 8 {
			p := (*[8 * numberBlock]byte)(b[at:])
			odd := binary.NativeEndian.Uint32(p[:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[numberBlock:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[2*numberBlock:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[3*numberBlock:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[4*numberBlock:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[5*numberBlock:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[6*numberBlock:]) ^ want
			odd |= binary.NativeEndian.Uint32(p[7*numberBlock:]) ^ want
			if odd != 0 {
				return false
			}
			at += 8 * numberBlock
		}
	}
	for ; n > 0; n-- {
		if binary.NativeEndian.Uint32(b[at:]) != want {
			return false
		}
		at += r.size
	}
	return true
}

// numberBlock is the length of the block of a 64-bit number.
const numberBlock = valueset.BlockHead + 8

// learn returns the layout of a regular record with the sets of list, from an
// offset up to another.
func learn(list []Set, b []byte, off, end int) *layout {
	l := &layout{list: slices.Clone(list), sets: bytes.Clone(b[:end])}
	for i := range list {
		set := &list[i]
		if set.Len == 0 || set.ValFmt != pcp.ValInSitu {
			continue
		}
		l.fixed = append(l.fixed, stretch{off, set.At})
		off = set.At + valueset.Pair*set.Len
	}
	if off < end {
		l.fixed = append(l.fixed, stretch{off, end})
	}
	for at := end; at < len(b); { // regular: adjacent
		head := binary.BigEndian.Uint32(b[at:])
		_, size := valueset.SplitHead(head)
		size = valueset.Padded(size)
		if i := len(l.blocks) - 1; i >= 0 && l.blocks[i].head == head {
			l.blocks[i].n++
		} else {
			l.blocks = append(l.blocks, run{at, size, 1, head})
		}
		at += size
	}
	for _, r := range l.blocks {
		if r.fill() > 0 {
			l.odd = append(l.odd, r)
		}
	}
	return l
}

// fill returns the number of bytes that pad each block to a whole word.
func (r *run) fill() int {
	_, n := valueset.SplitHead(r.head)
	return r.size - n
}

// padded reports whether all blocks of some runs are padded with the bytes that
// [valueset.Pad] appends.
func padded(runs []run, b []byte) bool {
	for i := range runs {
		r := &runs[i]
		fill := r.fill()
		for k := 1; k <= r.n; k++ {
			end := r.at + k*r.size
			for _, c := range b[end-fill : end] {
				if c != '~' {
					return false
				}
			}
		}
	}
	return true
}

// regular reports whether the values of the sets of a record, which end at an
// offset, are as pmlogger writes them: their blocks follow the sets, in the order of
// the values, up to the end. The record is canonical if they are padded as well. It
// records runs of equal blocks.
func regular(list []Set, b []byte, end int) (ok, canonical bool) {
	canonical = true
	next := end
	for i := range list {
		set := &list[i]
		if set.Len == 0 {
			continue
		}
		switch set.ValFmt {
		case pcp.ValInSitu:
			continue
		case pcp.ValDPtr, pcp.ValSPtr:
		default:
			return false, false
		}
		values := b[set.At : set.At+valueset.Pair*set.Len]
		if r := (run{at: next, n: set.Len}); r.alike(values, b) {
			set.Head, set.Blocks = r.head, next
			canonical = canonical && (r.fill() == 0 || padded([]run{r}, b))
			next += r.n * r.size
			continue
		}
		for ; len(values) >= valueset.Pair; values = values[valueset.Pair:] {
			if valueset.At(binary.BigEndian.Uint32(values[4:])) != next || next > len(b)-valueset.BlockHead {
				return false, false
			}
			r := run{at: next, n: 1, head: binary.BigEndian.Uint32(b[next:])}
			t, size := valueset.SplitHead(r.head)
			if r.size = valueset.Padded(size); t == pcp.TypeEvent || t == pcp.TypeHighResEvent || size < valueset.BlockHead || r.size > len(b)-next {
				return false, false
			}
			canonical = canonical && (r.fill() == 0 || padded([]run{r}, b))
			next += r.size
		}
	}
	return next == len(b), canonical
}

// alike reports whether the blocks of values begin where r does, are adjacent,
// and all have one type and length, which it stores.
func (r *run) alike(values, b []byte) bool {
	if r.at > len(b)-valueset.BlockHead {
		return false
	}
	r.head = binary.BigEndian.Uint32(b[r.at:])
	t, size := valueset.SplitHead(r.head)
	if size < valueset.BlockHead || t == pcp.TypeEvent || t == pcp.TypeHighResEvent {
		return false
	}
	if r.size = valueset.Padded(size); r.n*r.size > len(b)-r.at {
		return false
	}
	word := valueset.Word(r.at)
	for ; len(values) >= valueset.Pair; values = values[valueset.Pair:] {
		if binary.BigEndian.Uint32(values[4:]) != word {
			return false
		}
		word += uint32(r.size / 4)
	}
	return r.fits(b)
}
