//go:build unix

package passwd

import (
	"io/fs"
	"syscall"
)

// owner is who owns a file, and its group.
func owner(info fs.FileInfo) (uid, gid int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(st.Uid), int(st.Gid)
}
