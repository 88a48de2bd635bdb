//go:build unix

package pmcd

import "syscall"

// openNonblock has an open not wait for who might write to a pipe.
const openNonblock = syscall.O_NONBLOCK

// processExists tells whether there is such a process, whosever it is.
func processExists(pid int) bool {
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
