package loggermerge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
)

// A part is a file of an archive.
type part struct {
	path   string
	suffix string // after the base name
	meta   bool
}

// partsOf returns the files of an archive, the metadata first.
func partsOf(base string) ([]part, error) {
	dir, name := filepath.Split(base)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var first, list []part
	for _, e := range entries {
		b, what, ok := archive.BaseName(e.Name())
		if !ok || b != name || !e.Type().IsRegular() {
			continue
		}
		suffix := strings.TrimPrefix(e.Name(), name)
		p := part{base + suffix, suffix, what == "meta"}
		if p.meta {
			first = append(first, p)
		} else {
			list = append(list, p)
		}
	}
	return append(first, list...), nil
}

// removeParts removes files. An archive without metadata cannot be opened, so they go first.
func removeParts(parts []part) error {
	for _, p := range parts {
		if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func dropArchive(base string) error {
	parts, err := partsOf(base)
	if err != nil {
		return err
	}
	return removeParts(parts)
}

// syncParts syncs an archive to disk.
func syncParts(base string) error {
	parts, err := partsOf(base)
	if err != nil {
		return err
	}
	for _, p := range parts {
		f, err := os.OpenFile(p.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return fsdir.Sync(filepath.Dir(base))
}
