package safefile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to work below it; that needs no right to list it.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW

// procPath is a short path of a name in an open directory.
func procPath(fd int, long string) string {
	if short := fmt.Sprintf("/proc/self/fd/%d", fd); isDir(short) {
		return short + "/s"
	}
	return long
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func statOf(info fs.FileInfo) (*syscall.Stat_t, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}
