//go:build unix

package sockets

import (
	"os"
	"syscall"
)

// inode returns the number of a directory.
func inode(dir string) (uint64, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Ino), true
}
