//go:build unix

package fsdir

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sync makes the names in a directory survive a crash of the machine; "" is the working
// directory. It does nothing, without an error, on a file system that does not support
// it.
func Sync(dir string) error {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// Lock waits until no other process has a directory locked, and locks it until unlock is called. It succeeds
// without a lock on a file system that does not support locks.
func Lock(dir string) (unlock func(), err error) { return flock(dir, unix.LOCK_EX) }

// TryLock is Lock without waiting: it returns ErrBusy if another process has the directory locked.
func TryLock(dir string) (unlock func(), err error) { return flock(dir, unix.LOCK_EX|unix.LOCK_NB) }

func flock(dir string, how int) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(d.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			d.Close()
			return nil, ErrBusy
		default:
			return func() { d.Close() }, nil
		}
	}
}
