//go:build unix

package archive

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file that is being written until it is closed. File systems
// without locks are accepted: Written then returns false.
func lockFile(f *os.File) {
	// Other programs hold it while they look.
	for errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX), unix.EINTR) {
		continue
	}
}

// locked reports whether another open file has the lock.
func locked(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}

// lockFileNow is lockFile for a caller that does not wait. It reports whether no other open file has
// the lock.
func lockFileNow(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return !errors.Is(err, unix.EWOULDBLOCK)
}
