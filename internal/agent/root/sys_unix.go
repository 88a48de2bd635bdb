//go:build unix

package root

import (
	"os"
	"syscall"
)

// openFile opens a file to read, and does not wait for a writer if it is a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// exists reports whether a process exists.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}
