//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process (__pmProcessRunTimes).
func processorTime() (user, sys time.Duration) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0, 0
	}
	return time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
}
