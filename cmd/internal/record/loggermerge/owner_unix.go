//go:build unix

package loggermerge

import (
	"os"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
)

// giveTo changes the owner of files to that of another file, if the process may do so:
// archives merged by root still belong to pmlogger.
func giveTo(like string, list []parts.Part) {
	st, err := os.Stat(like)
	if err != nil || os.Getuid() != 0 {
		return
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		for _, p := range list {
			os.Lchown(p.Path, int(s.Uid), int(s.Gid))
		}
	}
}
