//go:build unix

package dirlock

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// alone keeps other processes of this program from removing locks in the directory of path.
func alone(path string) (unlock func(), ok bool) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, false
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		dir.Close()
		return nil, false
	}
	return func() { dir.Close() }, true // a file system without such locks
}
