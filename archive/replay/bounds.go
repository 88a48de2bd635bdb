package replay

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
)

// Times are in seconds since the start of the set, as in the C library, since
// results depend on how they are rounded. never is a missing time.
const never = -1.0

// A state is the state of a bound: one of the first three, with scanned or
// without.
type state uint8

const (
	undefined state = 1 << iota // not looked for
	marked                      // a mark
	valued                      // a value
	scanned                     // from the time wanted to the bound, or to the end, nothing else is
)

// A bound has the values of one instance of a metric around the time wanted. The
// fields are those that decide the results of the C library (interp.c).
type bound struct {
	tPrior, tNext float64
	vPrior, vNext uint64  // of numbers; others are in metric.data
	tFirst, tLast float64 // nothing is before, behind
	born, died    float64 // as in the instance domain

	// The first and the last record of the region with it; none if first > last.
	first, last int32

	inst          int32
	sPrior, sNext state
	search        bool // not bound yet
	same          bool // only searched at the time wanted
	wanted        bool // the profile has it
	inResult      bool
	live          bool // in metric.live
}

func (b *bound) reset() {
	b.tPrior, b.tNext = never, never
	b.sPrior, b.sNext = undefined, undefined
}

// A metric is a requested metric.
type metric struct {
	id       pcp.PMID
	desc     pcp.Desc
	unknown  bool // not in the archive
	variable bool // values of variable length
	valfmt   pcp.ValFmt
	hasFmt   bool

	bounds []bound // in the order of the values of a result
	data   [][2][]byte
	index  map[int32]int32 // of bounds, by instance
	guess  []int32         // of bounds, by position in the last record

	// Bounds that can have a value at the time wanted, each once, and
	// perhaps others; see gather.
	live   []int32
	byBorn []int32 // those that have a lifetime
	byDied []int32
	at     float64 // the time that live is for
	atSet  bool

	asked      bool // in this fetch
	part       pcp.ProfileInDom
	all        bool // the profile selects all instances
	err        pcp.Error
	numval     int
	lastNumval int

	log *debug.Log // for interpolation, nil if it is not traced
}

// caliperMin is the number of instances that an instance domain must have at some
// time for their lifetimes to be used (HASH_THRESHOLD in interp.c).
const caliperMin = 16

func (s *Set) newMetric(id pcp.PMID) *metric {
	m := &metric{id: id, lastNumval: -1, log: s.interpLog()}
	var err error
	if m.desc, err = s.meta.Desc(id); err != nil || m.desc.Type == pcp.TypeNoSupport {
		m.unknown = true
		return m
	}
	switch m.desc.Type {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
	default:
		m.variable = true
	}
	if m.desc.InDom == pcp.InDomNull {
		m.bounds = []bound{{inst: pcp.InNull, born: never, died: never}}
	} else {
		l := s.lifetimes(m.desc.InDom)
		m.bounds = make([]bound, len(l.list))
		m.index = make(map[int32]int32, len(l.list))
		for i, k := range hashOrder(l.list) {
			e := &l.list[k]
			b := &m.bounds[i]
			b.inst, b.born, b.died = e.Inst, never, never
			if l.most >= caliperMin {
				b.born = seconds(e.Born, s.start)
				if e.Gone {
					b.died = seconds(e.Died, s.start)
				}
			}
			m.index[e.Inst] = int32(i)
		}
	}
	for i := range m.bounds {
		b := &m.bounds[i]
		b.reset()
		b.tFirst, b.tLast = never, never
		b.first, b.last = 1, 0
		if b.born >= 0 {
			m.byBorn = append(m.byBorn, int32(i))
			if b.died >= 0 {
				m.byDied = append(m.byDied, int32(i))
			}
		} else {
			b.live = true
			m.live = append(m.live, int32(i))
		}
	}
	slices.SortFunc(m.byBorn, func(i, k int32) int { return compare(m.bounds[i].born, m.bounds[k].born) })
	slices.SortFunc(m.byDied, func(i, k int32) int { return compare(m.bounds[i].died, m.bounds[k].died) })
	if m.variable {
		m.data = make([][2][]byte, len(m.bounds))
	}
	return m
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// hashOrder returns the order of the values of a result: that of the C library's
// hash table with a bucket for each (hash.c).
func hashOrder(list []archive.Lifetime) []int32 {
	n := uint32(len(list))
	heads, chain := make([]int32, n), make([]int32, n)
	for i := range heads {
		heads[i] = -1
	}
	for i := range list {
		k := uint32(list[i].Inst) % n
		chain[i], heads[k] = heads[k], int32(i)
	}
	order := make([]int32, 0, n)
	for _, i := range heads {
		for ; i >= 0; i = chain[i] {
			order = append(order, i)
		}
	}
	return order
}

// touch adds a bound to the live ones.
func (m *metric) touch(i int32) {
	if b := &m.bounds[i]; !b.live {
		b.live = true
		m.live = append(m.live, i)
	}
}

// gather makes live hold all bounds whose instance exists at a time, and drops those
// that cannot have a value then.
func (m *metric) gather(t float64) {
	if len(m.byBorn) == 0 {
		return // lifetimes are not used: all are live
	}
	from, to := m.at, t
	if !m.atSet {
		from, to = math.Inf(-1), math.Inf(1)
	}
	m.at, m.atSet = t, true
	if from <= to {
		// New ones since then.
		i, _ := slices.BinarySearchFunc(m.byBorn, from, func(i int32, t float64) int { return compare(m.bounds[i].born, t) })
		for ; i < len(m.byBorn) && m.bounds[m.byBorn[i]].born <= to; i++ {
			m.touch(m.byBorn[i])
		}
	} else {
		i, _ := slices.BinarySearchFunc(m.byDied, to, func(i int32, t float64) int { return compare(m.bounds[i].died, t) })
		for ; i < len(m.byDied) && m.bounds[m.byDied[i]].died <= from; i++ {
			m.touch(m.byDied[i])
		}
	}
	kept := m.live[:0]
	for _, i := range m.live {
		b := &m.bounds[i]
		if b.died >= 0 && t > b.died && b.tNext < t ||
			b.born >= 0 && t < b.born && (b.tPrior < 0 || b.tPrior > t) {
			b.live = false
			continue
		}
		kept = append(kept, i)
	}
	m.live = kept
}

// find returns the index of the bound of an instance at position k of a record; -1
// if there is none.
func (m *metric) find(inst int32, k int) int32 {
	if m.index == nil {
		if k > 0 {
			return -1
		}
		return 0
	}
	if k < len(m.guess) {
		if i := m.guess[k]; i >= 0 && m.bounds[i].inst == inst {
			return i
		}
	}
	i, ok := m.index[inst]
	if !ok {
		i = -1
	}
	for len(m.guess) <= k {
		m.guess = append(m.guess, -1)
	}
	m.guess[k] = i
	return i
}

// checkFormat reports whether the values of a set have the format of this metric's.
func (m *metric) checkFormat(f pcp.ValFmt) bool {
	if m.hasFmt {
		return m.valfmt == f
	}
	ok := f == pcp.ValDPtr || f == pcp.ValSPtr
	switch m.desc.Type {
	case pcp.Type32, pcp.TypeU32:
		ok = f == pcp.ValInSitu
	case pcp.TypeFloat:
		ok = ok || f == pcp.ValInSitu
	}
	m.valfmt, m.hasFmt = f, ok
	return ok
}

// number returns the bits of a value of the current set of s.
func (m *metric) number(s *archive.SetScanner, k int) (uint64, bool) {
	if s.ValFmt == pcp.ValInSitu {
		return uint64(s.Word(k)), true
	}
	t, data, ok := s.Block(k)
	switch {
	case !ok:
	case t == pcp.Type32 && (len(data) == 4 || len(data) == 8):
		// A block without a type, as in very old archives.
		v := archive.Retype(pcp.BytesValue(t, data), m.desc.Type)
		return v.Bits(), v.Type() == m.desc.Type
	case m.desc.Type == pcp.TypeFloat:
		if len(data) >= 4 {
			return uint64(binary.BigEndian.Uint32(data)), true
		}
	case len(data) >= 8:
		return binary.BigEndian.Uint64(data), true
	}
	return 0, false
}

// take updates the bounds with the current set of s, of record number ord, at
// time t. Dir is the direction in which bounds are searched; it is 0 if none are.
// It returns the number of bounds found.
func (m *metric) take(s *archive.SetScanner, ord int32, t, req float64, dir archive.Direction) (found int, err error) {
	if s.Len == 0 || m.unknown {
		return 0, nil
	}
	if !m.checkFormat(s.ValFmt) {
		return 0, fmt.Errorf("metric %v of type %v: value format %d: %w", m.id, m.desc.Type, s.ValFmt, pcp.ErrLogRec)
	}
	for k := range s.Len {
		i := m.find(s.Inst(k), k)
		if i < 0 {
			continue
		}
		b := &m.bounds[i]
		switch {
		case b.first > b.last:
			b.first, b.last = ord, ord
		case ord < b.first:
			b.first = ord
		case ord > b.last:
			b.last = ord
		}
		prior := t <= req && (b.tPrior > req || t >= b.tPrior)
		next := t >= req && (b.tNext < req || t <= b.tNext)
		if !prior && !next {
			continue
		}
		var bits uint64
		var data []byte
		ok := true
		if m.variable {
			_, data, ok = s.Block(k)
		} else {
			bits, ok = m.number(s, k)
		}
		if !ok {
			return found, fmt.Errorf("metric %v, instance %d: a value past the end of its record: %w", m.id, b.inst, pcp.ErrLogRec)
		}
		if !b.live {
			m.touch(i)
		}
		before := found
		if prior {
			if b.tPrior < b.tNext && b.tPrior >= req {
				b.tNext, b.sNext, b.vNext = b.tPrior, b.sPrior&^scanned, b.vPrior
				if m.variable {
					d := &m.data[i]
					d[0], d[1] = d[1], d[0]
				}
			}
			b.tPrior, b.sPrior, b.vPrior = t, valued, bits
			if m.variable {
				m.keep(i, 0, s, k, data)
			}
			if dir == backward && b.search {
				b.search = false
				b.sPrior |= scanned
				found++
			}
		}
		if t >= req && (b.tNext < req || t <= b.tNext) {
			if b.tPrior < b.tNext && b.tNext <= req {
				b.tPrior, b.sPrior, b.vPrior = b.tNext, b.sNext&^scanned, b.vNext
				if m.variable {
					d := &m.data[i]
					d[0], d[1] = d[1], d[0]
				}
			}
			b.tNext, b.sNext, b.vNext = t, valued, bits
			if m.variable {
				m.keep(i, 1, s, k, data)
			}
			if dir == forward && b.search {
				b.search = false
				b.sNext |= scanned
				found++
			}
		}
		switch {
		case m.log == nil:
		case found > before:
			m.traceBound("update_bounds: update+search", i)
		default:
			m.traceBound("update_bounds: update", i)
		}
	}
	return found, nil
}

// keep copies the block of a value, with its type before it.
func (m *metric) keep(i int32, side int, s *archive.SetScanner, k int, data []byte) {
	t, _, _ := s.Block(k)
	if t == pcp.Type32 {
		t = m.desc.Type // a block without a type, as in very old archives
	}
	d := append(m.data[i][side][:0], byte(t))
	m.data[i][side] = append(d, data...)
}

// mark updates the bounds with a mark at time t, in the direction of reading. If
// look is set bounds are being searched; otherwise the mark is passed on the way
// to the time wanted. Seen is set if a counter must not continue across it.
func (m *metric) mark(t, req float64, dir archive.Direction, look bool) (found int, seen bool) {
	for i := len(m.bounds) - 1; i >= 0; i-- {
		b := &m.bounds[i]
		if !m.all && !m.part.Includes(b.inst) {
			continue
		}
		if t <= req && (t >= b.tPrior || b.tPrior > req) {
			b.tPrior, b.sPrior = t, marked
			if dir == backward {
				if b.search && look {
					b.search = false
					b.sPrior |= scanned
					found++
				}
			} else {
				seen = true
			}
			m.traceBound("update_bounds: mark@prior", int32(i))
		}
		if t >= req && (t <= b.tNext || b.tNext < 0 || b.tNext < req) {
			b.tNext, b.sNext = t, marked
			if dir == forward {
				if b.search && look {
					b.search = false
					b.sNext |= scanned
					found++
				}
			} else {
				seen = true
			}
			m.traceBound("update_bounds: mark@next", int32(i))
		}
	}
	return found, seen
}
