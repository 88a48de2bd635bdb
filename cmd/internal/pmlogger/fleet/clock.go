package fleet

import (
	"fmt"
	"time"
)

// clockTolerance is the difference between two clocks that is not reported. Clocks that are set by the network differ by
// milliseconds.
const clockTolerance = 5 * time.Second

// ahead returns how much a clock is ahead of ours at least, negative if it is behind, if it showed a time between two moments.
func ahead(showed, from, to time.Time) time.Duration {
	d := time.Duration(0)
	switch {
	case showed.After(to):
		d = showed.Sub(to)
	case showed.Before(from):
		d = showed.Sub(from)
	}
	if d.Abs() < clockTolerance {
		return 0
	}
	return d
}

// ClockText describes a difference between the clock of a host and ours, "" if there is none.
func ClockText(ahead time.Duration) string {
	switch {
	case ahead > 0:
		return fmt.Sprintf("its clock is ahead by %v", ahead.Round(time.Second))
	case ahead < 0:
		return fmt.Sprintf("its clock is behind by %v", -ahead.Round(time.Second))
	}
	return ""
}

// clockNews returns the event for a clock that has become wrong or right, "" if there is none; h.mu is held.
func (h *host) clockNews() string {
	if (h.s.Clock - h.clock).Abs() < clockTolerance {
		return ""
	}
	h.clock = h.s.Clock
	if h.clock == 0 {
		return "its clock is right again"
	}
	return ClockText(h.clock) + "; its records have the times of its clock"
}
