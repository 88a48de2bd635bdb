//go:build unix

package agentadmin

import (
	"io/fs"
	"syscall"
)

// owner returns whose file st is of.
func owner(st fs.FileInfo) (uid, gid int, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(sys.Uid), int(sys.Gid), true
}
