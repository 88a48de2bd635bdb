package pmlogger

import (
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
