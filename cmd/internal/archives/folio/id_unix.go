//go:build unix

package folio

import (
	"os"
	"syscall"
)

// A fileID identifies a file regardless of its path.
type fileID struct{ dev, ino uint64 }

func identify(path string) (fileID, error) {
	st, err := os.Stat(path)
	if err != nil {
		return fileID{}, err
	}
	s := st.Sys().(*syscall.Stat_t)
	return fileID{uint64(s.Dev), s.Ino}, nil
}
