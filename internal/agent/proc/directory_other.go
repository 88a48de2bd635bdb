//go:build !linux

package proc

import "os"

// A directory reads directories of processes. Its zero value is ready for use.
type directory struct{}

// pids calls fn for each name in a directory that is a process identifier.
func (d *directory) pids(path string, fn func(pid int32)) error {
	names, err := readNames(path)
	for _, name := range names {
		if pid, ok := number([]byte(name)); ok {
			fn(pid)
		}
	}
	return err
}

// count returns the number of names in a directory.
func (d *directory) count(path string, _ bool) (int, error) {
	names, err := readNames(path)
	return len(names), err
}

// link returns the target of a symbolic link.
func (d *directory) link(path string) ([]byte, error) {
	target, err := os.Readlink(path)
	return []byte(target), err
}

// subdirectories appends the names of subdirectories to names, each with a NUL at its end.
func (d *directory) subdirectories(path string, names []byte) ([]byte, error) {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() && e.Name()[0] != '.' {
			names = append(append(names, e.Name()...), 0)
		}
	}
	return names, err
}

// There are control groups on Linux only: the root directory is a fixture.

func countsLinks(string) bool { return false }
func isLeaf(string) bool      { return false }

// isProc reports whether a directory is /proc, and not a copy.
func isProc(string) bool { return false }

// openLimit returns the maximum number of open files of this process.
func openLimit() int { return 0 }
