package fleet

import "testing"

// TestProcessInterval checks that processes of large machines are recorded less often.
func TestProcessInterval(t *testing.T) {
	for n, want := range map[uint32]string{
		0: "1 minutes", 1: "1 minutes", 1000: "1 minutes", 1001: "2 minutes", 10000: "10 minutes", 4294967295: "4294968 minutes",
	} {
		if got := processInterval(n); got != want {
			t.Errorf("of %d processes: %s, want %s", n, got, want)
		}
	}
}
