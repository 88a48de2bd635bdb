//go:build unix

package deliver

import "syscall"

// apart starts a process in a new session: signals of a terminal do not reach it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
