package archive

import (
	"bytes"
	"encoding/binary"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A Checker finds records that [DecodeResult] refuses, without decoding them. A
// program that walks over records with a [SetScanner] sees the sets that it wants;
// damage to the others would go unnoticed, and may have moved those that it wants.
//
// A logger writes the same metrics time after time, so most records are laid out
// as one before. That they are is found by comparing bytes, many at a time.
type Checker struct {
	layouts map[layoutKey]*layout // nil for one that was seen once
	last    *layout
	key     layoutKey // of last
	learned int       // layouts
	scratch pcp.Result
	sets    []Set // of a record without a layout
}

// A layoutKey is what a layout is looked for by: the length of the record, the
// number of its sets, and the first metric.
type layoutKey struct {
	length, sets int
	first        pcp.PMID
}

// A layout is what good records that differ in values alone have in common.
type layout struct {
	sets   []byte    // the record that it was learned of, up to its blocks
	fixed  []stretch // of sets: all but the values in situ
	blocks []run
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

// Limits of what is remembered: layouts, bytes of a record that has one, and how
// often it may not fit.
const (
	// MaxLayouts is the limit of [Record.Layout].
	MaxLayouts = 64

	maxLayoutLength = 1 << 20
	maxLayoutMisses = 20
)

// Check returns what is wrong with the record that s was started with.
func (c *Checker) Check(s *SetScanner) error {
	if s.bad {
		return s.Err()
	}
	_, err := c.find(s)
	return err
}

// Record checks a record of which Body and Version are known, and fills in its
// time, its sets and its layout.
func (c *Checker) Record(r *Record) error {
	var s SetScanner
	if !s.Start(r.Body, r.Version) {
		return DecodeResult(&c.scratch, r.Body, r.Version) // it says what is wrong
	}
	l, err := c.find(&s)
	if err != nil {
		return err
	}
	r.Time = s.Time
	if l != nil {
		r.Sets, r.Layout = l.list, l.number
		return nil
	}
	c.sets = appendSets(c.sets[:0], r.Body, s.off, s.Sets)
	r.Sets, r.Layout = c.sets, 0
	return nil
}

// appendSets appends the n sets of a good record from an offset on.
func appendSets(list []Set, b []byte, off, n int) []Set {
	for range n {
		set := Set{PMID: pcp.PMID(binary.BigEndian.Uint32(b[off:]))}
		k := int32(binary.BigEndian.Uint32(b[off+4:]))
		if off += valueset.SetHead; k <= 0 {
			set.Status = pcp.Error(k)
		} else {
			set.ValFmt, set.Len, set.At = pcp.ValFmt(binary.BigEndian.Uint32(b[off:])), int(k), off+4
			off += 4 + valueset.Pair*int(k)
		}
		list = append(list, set)
	}
	return list
}

// find checks a record and returns its layout, or nil if none is known.
func (c *Checker) find(s *SetScanner) (*layout, error) {
	b, off := s.body, s.off
	if len(b)-off < 8 || len(b) > maxLayoutLength {
		return nil, c.decode(s)
	}
	key := layoutKey{len(b), s.Sets, pcp.PMID(binary.BigEndian.Uint32(b[off:]))}
	if c.last == nil || c.key != key {
		c.last, c.key = c.layouts[key], key
	}
	if l := c.last; l != nil && l.misses <= maxLayoutMisses {
		if l.fits(b) {
			return l, nil
		}
		l.misses++
	}
	if !regular(b, off, s.Sets) {
		return nil, c.decode(s)
	}
	if _, seen := c.layouts[key]; seen && c.last == nil {
		c.last = learn(b, off, s.Sets)
		c.learned++
		c.last.number = c.learned
		c.layouts[key] = c.last
		return c.last, nil
	} else if !seen && len(c.layouts) < MaxLayouts {
		if c.layouts == nil {
			c.layouts = make(map[layoutKey]*layout)
		}
		c.layouts[key] = nil
	}
	return nil, nil
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

// fits reports whether all blocks of the run begin as they should. Those of 64-bit
// numbers, which most are, are compared eight at once at places that the
// compiler knows to be in range: that takes a third of the time.
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

// learn returns the layout of a regular record of n sets from off on.
func learn(b []byte, off, n int) *layout {
	l := &layout{list: appendSets(nil, b, off, n)}
	fix := func(from, to int) {
		if k := len(l.fixed) - 1; k >= 0 && l.fixed[k].to == from {
			l.fixed[k].to = to
			return
		}
		l.fixed = append(l.fixed, stretch{from, to})
	}
	for range n {
		k := int(int32(binary.BigEndian.Uint32(b[off+4:])))
		if k <= 0 {
			fix(off, off+8)
			off += 8
			continue
		}
		head, values := off, off+12
		off = values + 8*k
		if pcp.ValFmt(binary.BigEndian.Uint32(b[head+8:])) == pcp.ValInSitu {
			fix(head, values)
			continue
		}
		fix(head, off)
		for at := values; at < off; at += 8 {
			block := valueset.At(binary.BigEndian.Uint32(b[at+4:]))
			word := binary.BigEndian.Uint32(b[block:])
			if i := len(l.blocks) - 1; i >= 0 && l.blocks[i].head == word {
				l.blocks[i].n++ // regular: it is behind the one before
				continue
			}
			l.blocks = append(l.blocks, run{block, valueset.Padded(int(word & valueset.MaxBlock)), 1, word})
		}
	}
	l.sets = bytes.Clone(b[:off])
	return l
}

// regular reports whether a record of n sets from an offset on is one as
// pmlogger writes them: its blocks follow the sets, in the order of the values,
// up to the end.
func regular(b []byte, off, n int) bool {
	first, next := -1, -1 // block
	for range n {
		if len(b)-off < 8 {
			return false
		}
		k := int32(binary.BigEndian.Uint32(b[off+4:]))
		off += 8
		if k <= 0 {
			continue
		}
		if 4+8*uint64(k) > uint64(len(b)-off) {
			return false
		}
		format := pcp.ValFmt(binary.BigEndian.Uint32(b[off:]))
		values := b[off+4 : off+4+8*int(k)]
		off += 4 + 8*int(k)
		if format == pcp.ValInSitu {
			continue
		}
		if format != pcp.ValDPtr && format != pcp.ValSPtr {
			return false
		}
		if first < 0 {
			first = valueset.At(binary.BigEndian.Uint32(values[4:]))
			next = first
		}
		for ; len(values) >= 8; values = values[8:] {
			if valueset.At(binary.BigEndian.Uint32(values[4:])) != next || next < 0 || next > len(b)-valueset.BlockHead {
				return false
			}
			t, size := valueset.SplitHead(binary.BigEndian.Uint32(b[next:]))
			if t == pcp.TypeEvent || t == pcp.TypeHighResEvent || size < valueset.BlockHead {
				return false
			}
			next += valueset.Padded(size)
		}
	}
	if first < 0 {
		return off == len(b)
	}
	return first == off && next == len(b)
}
