package backend

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// goneFunc returns a function that waits until a process that is not our child
// is gone.
func goneFunc(pid int) func() {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err == unix.EINVAL {
		if fd, err = unix.PidfdOpen(pid, 0); err == nil { // Linux before 5.10
			unix.SetNonblock(fd, true)
		}
	}
	if err != nil {
		return func() { lookUntilGone(pid) }
	}
	f := os.NewFile(uintptr(fd), "process")
	return func() {
		defer f.Close()
		raw, err := f.SyscallConn()
		if err == nil {
			asked := false
			// Called again when the descriptor is readable: the process is gone.
			err = raw.Read(func(uintptr) bool {
				gone := asked || ended(fd)
				asked = true
				return gone
			})
		}
		if err != nil {
			lookUntilGone(pid)
		}
	}
}

// ended reports whether the process of a descriptor is gone.
func ended(fd int) bool {
	list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(list, 0)
	return err == nil && n > 0
}

// lookUntilGone polls until the process is gone.
func lookUntilGone(pid int) {
	for syscall.Kill(pid, 0) != syscall.ESRCH {
		time.Sleep(20 * goneInterval)
	}
}

func endingOfStatus(status int) ending { return endingBy(syscall.WaitStatus(status)) }
