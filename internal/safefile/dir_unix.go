//go:build unix && !linux

package safefile

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to work below it.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

func procPath(_ int, long string) string { return long }

func statOf(info fs.FileInfo) (*syscall.Stat_t, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}
