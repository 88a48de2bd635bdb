//go:build unix

package logrewrite

import (
	"io/fs"
	"os"
	"syscall"
)

// sameOwner gives a file the owner of another one, if the process may do so.
func sameOwner(path string, st fs.FileInfo) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		os.Chown(path, int(s.Uid), int(s.Gid)) // for root; other users own the file already
	}
}
