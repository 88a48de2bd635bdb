//go:build unix

package service

import (
	"os"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of the clock by which the manager recognises an old message, in µs.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano() / 1000
}

// closeOnExec keeps child processes from inheriting a file.
func closeOnExec(f *os.File) { unix.CloseOnExec(int(f.Fd())) }
