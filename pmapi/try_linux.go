package pmapi

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// canTry reports whether tryRead and tryWrite work on this system.
const canTry = true

// tryRead reads the available bytes of a socket.
func tryRead(fd uintptr, b []byte) (int, error) {
	n, err := try(syscall.SYS_READ, fd, b)
	switch {
	case err == syscall.EAGAIN:
		return 0, errNothingYet
	case err != 0:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// tryWrite writes as much to a socket as it takes now.
func tryWrite(fd uintptr, b []byte) (int, error) {
	n, err := try(syscall.SYS_WRITE, fd, b)
	switch {
	case err == syscall.EAGAIN:
		return 0, nil
	case err != 0:
		return 0, os.NewSyscallError("write", err)
	}
	return n, nil
}

// try makes a system call that does not wait, without preparing the scheduler for a wait: that would wake its
// monitor, which then checks this goroutine every 20 µs. In a program that is idle most of the time this costs as
// much as its work.
func try(call, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, err := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		if err != syscall.EINTR {
			return int(n), err
		}
	}
}
