//go:build unix

package loggerdaily

import (
	"syscall"
)

// signalReexec asks a pmlogger to restart with a new archive.
func signalReexec(pid int) error { return syscall.Kill(pid, syscall.SIGUSR2) }
