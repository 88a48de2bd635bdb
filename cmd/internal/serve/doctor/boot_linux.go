package doctor

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since the machine started.
func sinceBoot() (d time.Duration, ok bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
