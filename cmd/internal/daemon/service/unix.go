//go:build unix

package service

import (
	"errors"
	"net"
	"os"
	"syscall"

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

// SetBacklog sets the number of connections that may wait at each listener to be accepted, up to the
// system's limit.
func SetBacklog(lns []net.Listener, n int) error {
	var errs []error
	for _, ln := range lns {
		c, ok := ln.(syscall.Conn)
		if !ok {
			continue
		}
		raw, err := c.SyscallConn()
		if err == nil {
			// The system takes a new length for a socket that listens already.
			if cerr := raw.Control(func(fd uintptr) { err = os.NewSyscallError("listen", unix.Listen(int(fd), n)) }); cerr != nil {
				err = cerr
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// closeOnExec keeps child processes from inheriting a file.
func closeOnExec(f *os.File) { unix.CloseOnExec(int(f.Fd())) }
