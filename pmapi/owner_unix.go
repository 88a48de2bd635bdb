//go:build unix

package pmapi

import (
	"io/fs"
	"os"
	"syscall"
)

// ownsSocket reports whether path is a socket of this user or of root. The socket of another user
// could return false data.
func ownsSocket(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}
