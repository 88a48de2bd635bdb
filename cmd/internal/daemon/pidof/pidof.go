// Package pidof finds the processes of PCP's programs by name, as the scripts of the C implementation do: by the first word of
// their command line.
//
//	f := pidof.Finder{Dirs: []string{"/usr/bin", "/usr/lib/pcp/bin"}}
//	pids, err := f.Find("pmlogger", false)
package pidof

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A Finder finds processes.
type Finder struct {
	Dirs []string // directories of PCP's programs, and those of PATH
	Proc string   // default /proc

	// Own is the path of this program and the name of its command that is equivalent to the program
	// searched for, such as "logger" in "pcp logger". Both are empty if there is none.
	Own, Command string
}

// maxCommand limits the bytes read of a command line.
const maxCommand = 4 << 10

// Find returns the numbers of the processes of the program called name, in ascending order. It finds processes
// started by a full path in one of the directories, and with all by any path with that name.
func (f Finder) Find(name string, all bool) ([]int, error) {
	proc := f.Proc
	if proc == "" {
		proc = "/proc"
	}
	dir, err := os.Open(proc)
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid > 0 && f.is(proc, n, name, all) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Is reports whether a process exists and runs the program called name.
func (f Finder) Is(pid int, name string) bool {
	proc := f.Proc
	if proc == "" {
		proc = "/proc"
	}
	return pid > 0 && f.is(proc, strconv.Itoa(pid), name, false)
}

func (f Finder) is(proc, pid, name string, all bool) bool {
	file, err := os.Open(filepath.Join(proc, pid, "cmdline"))
	if err != nil {
		return false // it has ended
	}
	defer file.Close()
	b := make([]byte, maxCommand)
	n, _ := file.Read(b)
	first, rest, _ := bytes.Cut(b[:n], []byte{0})
	path := string(first)
	if path == "" {
		return false
	}
	base := filepath.Base(path)
	if base == name && path != name && (all || slices.Contains(f.Dirs, filepath.Dir(path))) {
		return true
	}
	if f.Own == "" || f.Command == "" {
		return false
	}
	own, err := os.Stat(f.Own)
	if err != nil {
		return false
	}
	if exe, err := os.Stat(filepath.Join(proc, pid, "exe")); err != nil || !os.SameFile(exe, own) {
		return false
	}
	second, _, _ := bytes.Cut(rest, []byte{0})
	return base == name || string(second) == f.Command
}
