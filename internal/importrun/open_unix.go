//go:build unix

package importrun

import (
	"os"
	"syscall"
)

// open opens a file to read. It follows no link, and does not wait for the writer of a pipe.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
