package janitor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/archive"
)

// Written reports whether a recorder writes an archive: one of this program, in any process,
// or another one, whose process the label names. If it cannot find out, it returns true.
func Written(a *Archive) bool {
	if w, err := archive.Written(a.Base); w || err != nil {
		return true
	}
	for _, f := range a.Files {
		if f.Volume < 0 || f.Suffix != "" {
			continue
		}
		pid, ok := writer(f.Path)
		if !ok || pid == os.Getpid() || !alive(pid) {
			continue // for this process the lock is conclusive
		}
		return holds(pid, filepath.Base(a.Base))
	}
	return false
}

// writer returns the process that wrote a volume.
func writer(path string) (pid int, ok bool) {
	f, _, err := openRegular(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	_, l, err := archive.NewVolumeReader(f, 0)
	return int(l.PID), err == nil
}

// holds reports whether a process has a file of an archive open, as far as this can be determined.
func holds(pid int, name string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, err := os.ReadDir(dir)
	if err != nil {
		return true // another user's, or a system without /proc
	}
	for _, e := range list {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return true
		}
		if base, _, ok := archive.BaseName(filepath.Base(strings.TrimSuffix(to, " (deleted)"))); ok && base == name {
			return true
		}
	}
	return false
}
