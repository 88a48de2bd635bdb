//go:build unix

package containers

import (
	"os"
	"syscall"
)

// open opens a file to read, and does not wait for a writer if it is a pipe.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
