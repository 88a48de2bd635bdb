//go:build !unix

package janitor

import (
	"io/fs"
	"os"
)

func own(*os.File, fs.FileInfo) {}

// alive reports whether a process exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
