//go:build unix

package iedaily

import (
	"errors"
	"syscall"
)

// hangUp has a pmie begin a new log.
func hangUp(pid int) error { return syscall.Kill(pid, syscall.SIGHUP) }

// exists reports whether there is a process.
func exists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
