//go:build unix

package loggercheck

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// writable reports whether this process may write to a file, or create files in a
// directory.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// enterable returns the reason why a directory cannot be used.
func enterable(dir string) error {
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return &fs.PathError{Op: "chdir", Path: dir, Err: err}
	}
	return nil
}
