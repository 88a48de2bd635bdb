//go:build unix

package processes

import (
	"errors"
	"syscall"
)

// Exists reports whether there is a process with the number pid, of any user. On other systems
// than Unix each positive number counts as one.
func Exists(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Apart returns the attributes of a process that starts in a session of its own: signals for the
// terminal and the process group of this one do not reach it.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
