package pmiestats

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp/internal/processes"
)

// A Process is the contents of a file, with the number of its process.
type Process struct {
	PID int
	Stats
}

// Read reads a file. A file that a process is still creating is an error.
func Read(path string) (Process, error) {
	f, err := os.Open(path)
	if err != nil {
		return Process{}, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return Process{}, fmt.Errorf("%s is not a file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, Size+1))
	var p Process
	if err == nil {
		err = p.Decode(b)
	}
	if err == nil && p.Version != Version {
		err = fmt.Errorf("version %d, not %d", p.Version, Version)
	}
	if err != nil {
		return Process{}, fmt.Errorf("%s: %w", path, err)
	}
	p.PID, _ = strconv.Atoi(filepath.Base(path))
	return p, nil
}

// List reads all files of a directory, in the order of the numbers of processes. A file that cannot be read, or is gone
// by now, is left out. A pmie that was killed leaves its file: the caller asks whether the process runs.
func List(dir string) []Process { return processes.ReadFiles(dir, Read) }
