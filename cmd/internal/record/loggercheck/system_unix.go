//go:build unix

package loggercheck

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart has a process go on without the terminal and the group of this one.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// writable reports whether this process may write to a file, or make files in a directory.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// enterable returns why a directory cannot be worked in.
func enterable(dir string) error {
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return &fs.PathError{Op: "chdir", Path: dir, Err: err}
	}
	return nil
}
