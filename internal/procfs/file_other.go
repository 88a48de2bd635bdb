//go:build !unix

package procfs

import (
	"errors"
	"io"
	"os"
)

type handle struct{ f *os.File }

func openHandle(path string) (handle, error) {
	f, err := os.Open(path)
	return handle{f}, err
}

func openAtOnce(path string) (handle, error) { return openHandle(path) }

func (h handle) readAt(b []byte, off int64) (int, error) {
	n, err := h.f.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (h handle) close() error { return h.f.Close() }

// Exists reports whether there is a file or directory of that name.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
