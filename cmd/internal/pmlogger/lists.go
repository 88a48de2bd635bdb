package pmlogger

import (
	"encoding/binary"
	"slices"

	"github.com/go-pcp/pcp"
)

// single is the instance of a metric without an instance domain.
var single = []int32{pcp.InNull}

// An instances lists the instances of a metric in a record.
type instances struct {
	record int          // last record with any, as group counts them
	of     *loggedInDom // the domain with all of them
	order  []int32      // unsorted; others may share it
	sorted []int32
}

// equal reports whether the values of a set are of the same instances, in the same order.
func (l *instances) equal(pairs []byte) bool { return sameOrder(l.order, pairs) }

func sameOrder(order []int32, pairs []byte) bool {
	if len(pairs) != 8*len(order) {
		return false
	}
	for _, inst := range order {
		if int32(binary.BigEndian.Uint32(pairs)) != inst {
			return false
		}
		pairs = pairs[8:]
	}
	return true
}

// A listCache has the last results of take and note. Metrics of a domain usually have the same instances, and
// share the lists.
type listCache struct {
	taken *instances // the instances last stored by take
	noted noted
}

// A noted has the last results of note, for the next metric with the same lists.
type noted struct {
	before, insts, available, seen []int32
	nowAvailable, nowSeen          []int32
}

// take stores the instances of a set, and returns the previous ones, sorted. The sorted
// list may be retained.
func (c *listCache) take(l *instances, pairs []byte) (before []int32) {
	before = l.sorted
	// Metrics of a domain usually have the same instances.
	if m := c.taken; m != nil && sameOrder(m.order, pairs) {
		l.order, l.sorted = m.order, m.sorted
		return before
	}
	l.order = make([]int32, len(pairs)/8)
	for i := range l.order {
		l.order[i] = int32(binary.BigEndian.Uint32(pairs[8*i:]))
	}
	l.sorted = l.order
	if !slices.IsSorted(l.sorted) {
		l.sorted = slices.Clone(l.order)
		slices.Sort(l.sorted)
	}
	c.taken = l
	return before
}

// note stores the instances of a metric in a record; before are the instances in the
// group's last record. Both are in ascending order, and are retained.
func (c *listCache) note(m *logged, before, insts []int32) {
	n := &c.noted
	if same(n.before, before) && same(n.insts, insts) && same(n.available, m.available) && same(n.seen, m.seen) {
		m.available, m.seen = n.nowAvailable, n.nowSeen
		return
	}
	*n = noted{before: before, insts: insts, available: m.available, seen: m.seen}
	if equalLists(before, m.available) {
		m.available = insts // the usual case: one group has the metric
	} else {
		m.available = union(without(m.available, before), insts)
	}
	m.seen = union(m.seen, insts)
	n.nowAvailable, n.nowSeen = m.available, m.seen
}

// same reports whether two lists are the same slice.
func same(a, b []int32) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

// equalLists reports whether two lists are equal.
func equalLists(a, b []int32) bool { return same(a, b) || slices.Equal(a, b) }

// union returns the numbers in either list, in ascending order like both: a itself if it
// contains b.
func union(a, b []int32) []int32 {
	if len(a) == 0 {
		return b
	}
	more := 0
	for i, j := 0, 0; j < len(b); j++ {
		for i < len(a) && a[i] < b[j] {
			i++
		}
		if i == len(a) || a[i] != b[j] {
			more++
		}
	}
	if more == 0 {
		return a
	}
	all := make([]int32, 0, len(a)+more)
	i := 0
	for j, n := range b {
		if j > 0 && b[j-1] == n {
			continue
		}
		for i < len(a) && a[i] < n {
			all = append(all, a[i])
			i++
		}
		if i < len(a) && a[i] == n {
			i++
		}
		all = append(all, n)
	}
	return append(all, a[i:]...)
}

// without returns the numbers of a that are not in b.
func without(a, b []int32) []int32 {
	var left []int32
	for _, n := range a {
		if _, ok := slices.BinarySearch(b, n); !ok {
			left = append(left, n)
		}
	}
	return left
}

// subset reports whether all numbers of a are in of. Both are in ascending order.
func subset(a, of []int32) bool {
	for _, n := range a {
		for len(of) > 0 && of[0] < n {
			of = of[1:]
		}
		if len(of) == 0 || of[0] != n {
			return false
		}
	}
	return true
}
