//go:build unix

package logrewrite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockDir waits until no other process replaces an archive in a directory.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	// Without locks, on some network, one must do without.
	return func() { f.Close() }, nil
}

// syncDir writes the directory of an archive to the disk, where that is possible.
func syncDir(base string) error {
	f, err := os.Open(filepath.Dir(base))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// sameOwner gives a file the owner of another one, if the process may do so.
func sameOwner(path string, st fs.FileInfo) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		os.Chown(path, int(s.Uid), int(s.Gid)) // for root; others are the owner already
	}
}
