package hashorder_test

import (
	"slices"
	"testing"

	"github.com/go-pcp/pcp/internal/hashorder"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		keys []uint32
		want []int
	}{
		{nil, []int{}},
		{[]uint32{7}, []int{0}},
		{[]uint32{1, 2, 3}, []int{2, 1, 0}}, // one slot, the last first
	} {
		if got := hashorder.Of(c.keys); !slices.Equal(got, c.want) {
			t.Errorf("Of(%v) = %v, want %v", c.keys, got, c.want)
		}
	}
	// However often the table grows, each is listed once.
	keys := make([]uint32, 1000)
	for i := range keys {
		keys[i] = uint32(i * 7919)
	}
	got := hashorder.Of(keys)
	slices.Sort(got)
	for i, k := range got {
		if i != k {
			t.Fatalf("%d is missing or there twice", i)
		}
	}
}
