//go:build unix

package folio

import (
	"os"
	"syscall"
)

// A fileID is that of a file, whatever leads to it.
type fileID struct{ dev, ino uint64 }

func identify(path string) (fileID, error) {
	st, err := os.Stat(path)
	if err != nil {
		return fileID{}, err
	}
	s := st.Sys().(*syscall.Stat_t)
	return fileID{uint64(s.Dev), s.Ino}, nil
}
