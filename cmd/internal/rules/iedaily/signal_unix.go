//go:build unix

package iedaily

import "syscall"

// hangUp has a pmie begin a new log.
func hangUp(pid int) error { return syscall.Kill(pid, syscall.SIGHUP) }
