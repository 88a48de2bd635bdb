// Package parts lists, examines, syncs and removes the files of an archive, for commands that check, replace and
// merge archives. An archive without metadata cannot be opened, so metadata files are the last
// to be written and the first to be removed.
//
//	list, err := parts.List("/var/log/pcp/pmlogger/host/20240305")
//	if err == nil {
//		err = parts.Remove(list)
//	}
package parts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A Part is a file of an archive.
type Part struct {
	Path    string
	Suffix  string // after the base name
	Meta    bool   // it has the metadata
	Regular bool   // it is a regular file, not a link
}

// List returns the files of the archive with a base name, the metadata last.
func List(base string) ([]Part, error) {
	dir, name := filepath.Split(base)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list, last []Part
	for _, e := range entries {
		b, what, ok := archive.BaseName(e.Name())
		if !ok || b != name {
			continue
		}
		suffix := strings.TrimPrefix(e.Name(), name)
		p := Part{base + suffix, suffix, what == "meta", e.Type().IsRegular()}
		if p.Meta {
			last = append(last, p)
		} else {
			list = append(list, p)
		}
	}
	return append(list, last...), nil
}

// Regular returns the files of an archive without links, the metadata last.
func Regular(base string) ([]Part, error) {
	list, err := List(base)
	return slices.DeleteFunc(list, func(p Part) bool { return !p.Regular }), err
}

// Remove removes files in reverse order. Files that have gone are not an error.
func Remove(list []Part) error {
	for _, p := range slices.Backward(list) {
		if err := os.Remove(p.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Sync syncs the contents of files to the disk, but not their directory.
func Sync(list []Part) error {
	for _, p := range list {
		f, err := os.OpenFile(p.Path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// CutOff reports whether a volume does not end with a record.
func CutOff(volume string) bool {
	f, err := archive.OpenFile(volume)
	if err != nil {
		return true
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return true
	}
	v, _, err := archive.NewVolumeReader(f, size)
	if err != nil {
		return true
	}
	v.SeekTo(size)
	return v.Prev(new(pcp.Result)) != nil
}
