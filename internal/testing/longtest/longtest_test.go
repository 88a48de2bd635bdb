package longtest

import "testing"

func TestEnabled(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true, "yes": true} {
		t.Setenv("PCP_TEST_LONG", value)
		if got := Enabled(); got != want {
			t.Errorf("PCP_TEST_LONG=%q: Enabled() = %v, want %v", value, got, want)
		}
		if got := N(1, 2) == 2; got != want {
			t.Errorf("PCP_TEST_LONG=%q: N takes the long form: %v, want %v", value, got, want)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("PCP_TEST_SEED", "")
	if got := Seed(t); got != 1 {
		t.Errorf("Seed() = %d without PCP_TEST_SEED, want 1", got)
	}
	t.Setenv("PCP_TEST_SEED", "77")
	if got := Seed(t); got != 77 {
		t.Errorf("Seed() = %d with PCP_TEST_SEED=77", got)
	}
	t.Setenv("PCP_TEST_SEED", "now")
	if got := Seed(t); got < 1000 {
		t.Errorf("Seed() = %d with PCP_TEST_SEED=now, want the time", got)
	}
}
