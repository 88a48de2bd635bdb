//go:build unix

package loggermerge

import (
	"os"
	"syscall"
)

// giveTo changes the owner of files to that of another file, if the process may do so:
// archives merged by root still belong to pmlogger.
func giveTo(like string, parts []part) {
	st, err := os.Stat(like)
	if err != nil || os.Getuid() != 0 {
		return
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		for _, p := range parts {
			os.Lchown(p.path, int(s.Uid), int(s.Gid))
		}
	}
}
