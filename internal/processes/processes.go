// Package processes asks about other processes, reads the files that they leave under their numbers,
// and starts processes apart from this one.
//
//	if !processes.Exists(pid) {
//		os.Remove(pidFile) // its process was killed
//	}
package processes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// ReadFiles reads the files of a directory that are named by the number of a process, in the order of
// the numbers. It skips links and directories, and files that read refuses or that have vanished.
func ReadFiles[T any](dir string, read func(path string) (T, error)) []T {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	number := func(e os.DirEntry) int {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			return 0
		}
		return n
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return number(e) <= 0 || e.Type()&os.ModeType != 0 })
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return number(a) - number(b) })
	var list []T
	for _, e := range entries {
		if t, err := read(filepath.Join(dir, e.Name())); err == nil {
			list = append(list, t)
		}
	}
	return list
}
