//go:build unix

package loggermerge

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockDir waits until no other process merges archives in a directory.
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

// syncDir writes a directory to the disk, where that is possible.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// giveTo gives files the owner of another one, if the process may do so: what root
// merges is still pmlogger's.
func giveTo(like string, parts []part) {
	st, err := os.Stat(like)
	if err != nil || os.Getuid() != 0 {
		return
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		for _, p := range parts {
			os.Lchown(p.path, int(s.Uid), int(s.Gid))
		}
	}
}
