package importrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/internal/safefile"
)

// Setting is the setting that names the directory of the files.
const Setting = "PCP_IMPORTRUN_DIR"

// Limits of a directory.
const (
	MaxTools   = 8 // programs that List returns
	maxEntries = 4096
	maxName    = 255
)

// Write writes the file of a program. It makes the directory if it does not exist, but not those above it.
func Write(dir, tool string, s Status) error {
	if err := checkName(tool); err != nil {
		return err
	}
	b, err := s.Append(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return safefile.ReplaceBytes(filepath.Join(dir, tool), b, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
}

// Remove removes the file of a program if it is the one of a process.
func Remove(dir, tool string, pid int) error {
	if err := checkName(tool); err != nil {
		return err
	}
	path := filepath.Join(dir, tool)
	s, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && s.PID != pid:
		return nil
	case err != nil:
		return err
	}
	return safefile.Remove(path)
}

func checkName(tool string) error {
	if tool == "" || len(tool) > maxName || tool[0] == '.' || strings.ContainsAny(tool, "/\x00\n\r\\") {
		return fmt.Errorf("%q is not a name of a program: %w", tool, fs.ErrInvalid)
	}
	return nil
}

// A Tool is a program with a file.
type Tool struct {
	Name string
	Status
}

// List returns the programs that have a file, sorted by their names: the first MaxTools of those that run, as exists
// reports, or run from time to time. The error names files that cannot be used; the list is valid all the same. A
// directory that does not exist is empty.
func List(dir string, exists func(pid int) bool) ([]Tool, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxEntries)
	if err != nil && err != io.EOF {
		return nil, err
	}
	slices.Sort(names)
	var tools []Tool
	var problems []error
	for _, name := range names {
		if name[0] == '.' {
			continue
		}
		path := filepath.Join(dir, name)
		s, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it has just ended
		case err == nil:
			err = checkName(name)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if s.PID != 0 && !exists(s.PID) {
			continue
		}
		if len(tools) == MaxTools {
			problems = append(problems, fmt.Errorf("%s: there are more than %d programs", path, MaxTools))
			break
		}
		tools = append(tools, Tool{name, s})
	}
	return tools, errors.Join(problems...)
}

// read reads a regular file.
func read(path string) (Status, error) {
	f, err := open(path)
	if err != nil {
		return Status{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Status{}, err
	}
	if !info.Mode().IsRegular() {
		return Status{}, fmt.Errorf("%s: not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return Status{}, err
	}
	s, err := Parse(string(b))
	if err != nil {
		return Status{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
