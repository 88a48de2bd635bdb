//go:build unix

package pmcd

import "syscall"

// openNonblock keeps an open from waiting for a writer of a pipe.
const openNonblock = syscall.O_NONBLOCK

// processExists reports whether a process of any user exists.
func processExists(pid int) bool {
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
