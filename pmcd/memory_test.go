package pmcd

import (
	"slices"
	"testing"
)

// TestMemoryLimit has clients come and go, and looks at how often and to what
// the limit is set.
func TestMemoryLimit(t *testing.T) {
	var got []int64
	m := memoryLimit{base: 24 << 20, set: func(n int64) int64 {
		got = append(got, n>>20)
		return 0
	}}
	m.start()
	walk := func(counts ...int) {
		at := counts[0]
		for _, to := range counts[1:] {
			for at != to {
				if at < to {
					at++
				} else {
					at--
				}
				m.clients(at)
			}
		}
	}
	walk(0, 1023, 1025, 1020, 1025, 600, 3000, 0)
	if want := []int64{24, 40, 56, 40, 24}; !slices.Equal(got, want) {
		t.Errorf("the limit is set to %v MiB, want %v", got, want)
	}

	// What agents keep counts too, by itself or with the clients, whichever is more.
	got = nil
	for _, live := range []int64{6 << 20, 30 << 20, 28 << 20, 100 << 20, 1 << 20} {
		if !m.collected(live) {
			t.Error("it does not want to be told again")
		}
	}
	if want := []int64{56, 168, 24}; !slices.Equal(got, want) {
		t.Errorf("with agents the limit is set to %v MiB, want %v", got, want)
	}
	m.watch()()
	if m.collected(1 << 30) {
		t.Error("it wants to be told after it has ended")
	}

	got = nil
	m.base = 0
	m.start()
	walk(0, 5000, 0)
	if got != nil {
		t.Errorf("without a limit it is set to %v", got)
	}
}
