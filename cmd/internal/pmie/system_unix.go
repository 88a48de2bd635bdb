//go:build unix

package pmie

import "syscall"

// apart has a process begin a session of its own: signals of a terminal do not reach it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
