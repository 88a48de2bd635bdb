//go:build unix

package control

import (
	"errors"
	"net"
	"syscall"
)

// queue sets the number of connections that may wait to be accepted.
func queue(ln net.Listener, n int) {
	c, ok := ln.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Listen(int(fd), n) })
	}
}

// alive reports whether a process exists.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
