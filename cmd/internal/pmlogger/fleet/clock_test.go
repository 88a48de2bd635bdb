package fleet

import (
	"testing"
	"time"
)

func TestAhead(t *testing.T) {
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	to := from.Add(2 * time.Minute) // a slow host
	f := func(showed time.Time, want time.Duration) {
		t.Helper()
		if got := ahead(showed, from, to); got != want {
			t.Errorf("ahead(%v) = %v, want %v", showed, got, want)
		}
	}
	f(from, 0)
	f(from.Add(time.Minute), 0)
	f(to.Add(4*time.Second), 0)
	f(from.Add(-4*time.Second), 0)
	f(to.Add(24*time.Hour), 24*time.Hour)
	f(from.Add(-24*time.Hour), -24*time.Hour)
}

func TestClockNews(t *testing.T) {
	var h host
	f := func(clock time.Duration, want string) {
		t.Helper()
		h.s.Clock = clock
		if got := h.clockNews(); got != want {
			t.Errorf("after a difference of %v: %q, want %q", clock, got, want)
		}
	}
	f(0, "")
	f(24*time.Hour, "its clock is ahead by 24h0m0s; its records have the times of its clock")
	f(24*time.Hour+time.Second, "")
	f(-time.Hour, "its clock is behind by 1h0m0s; its records have the times of its clock")
	f(0, "its clock is right again")
	f(0, "")
}
