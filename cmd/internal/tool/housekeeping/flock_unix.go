//go:build unix

package housekeeping

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file until it is closed. free reports whether that was possible: where
// there are no locks it never is, so that no lock is taken for left over.
func lockFile(f *os.File) (free bool, err error) {
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return err == nil, nil
}
