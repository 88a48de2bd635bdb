package pmlogger

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLists compares the operations on ordered lists with the results of sets.
func TestLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	list := func() []int32 {
		var l []int32
		for n := range int32(12) {
			if rng.IntN(2) == 0 {
				l = append(l, n)
			}
		}
		return l
	}
	for range 2000 {
		a, b := list(), list()
		all := append(slices.Clone(a), b...)
		slices.Sort(all)
		all = slices.Compact(all)
		if got := union(a, b); !slices.Equal(got, all) {
			t.Fatalf("union(%v, %v) = %v", a, b, got)
		}
		if got, want := subset(a, b), len(all) == len(b); got != want {
			t.Fatalf("subset(%v, %v) = %v", a, b, got)
		}
	}
	a := []int32{1, 2, 3}
	if got := union(a, []int32{2}); !same(got, a) {
		t.Errorf("union with a part of it is another list, %v", got)
	}
}

// TestNote has two groups record instances of a metric in turn, and compares its lists with sets.
func TestNote(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var c listCache
	var m logged
	var groups [2][]int32
	seen := map[int32]bool{}
	for i := range 500 {
		var now []int32
		for n := range int32(6) {
			if rng.IntN(3) == 0 {
				now = append(now, 2*n+int32(i%2)) // the groups have no instance in common
			}
		}
		c.note(&m, groups[i%2], now)
		groups[i%2] = now
		available := append(slices.Clone(groups[0]), groups[1]...)
		slices.Sort(available)
		for _, n := range now {
			seen[n] = true
		}
		if !slices.Equal(m.available, available) || len(m.seen) != len(seen) || !slices.IsSorted(m.seen) {
			t.Fatalf("record %d: available %v, want %v; %d seen, want %d", i, m.available, available, len(m.seen), len(seen))
		}
	}
}

// TestTake takes lists of instances, of which two metrics share one.
func TestTake(t *testing.T) {
	pairs := func(list ...int32) (b []byte) {
		for _, n := range list {
			b = binary.BigEndian.AppendUint64(b, uint64(uint32(n))<<32)
		}
		return b
	}
	var c listCache
	var x, y instances
	if before := c.take(&x, pairs(3, 1, 2)); before != nil || !slices.Equal(x.sorted, []int32{1, 2, 3}) {
		t.Errorf("before %v, now %v", before, x.sorted)
	}
	c.take(&y, pairs(3, 1, 2))
	if !same(x.sorted, y.sorted) || !y.equal(pairs(3, 1, 2)) || y.equal(pairs(1, 2, 3)) {
		t.Errorf("the second metric has %v in order %v", y.sorted, y.order)
	}
	if before := c.take(&x, pairs(4)); !same(before, y.sorted) || !slices.Equal(x.sorted, []int32{4}) {
		t.Errorf("before %v, now %v", before, x.sorted)
	}
}
