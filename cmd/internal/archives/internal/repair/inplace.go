package repair

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
)

// BackupSuffix is the suffix of the base name of the old archive that a repair in place
// keeps.
const BackupSuffix = ".damaged"

// InPlace repairs an archive in its place. The files of the damaged one get names with [BackupSuffix]. If it fails
// before it replaces a file, the damaged archive is not changed.
func InPlace(ctx context.Context, files *archive.Files, o Options) (Summary, error) {
	return repairNear(ctx, files, files.Base+BackupSuffix, o, func(fresh string) error { return replace(files, fresh) })
}

// To repairs an archive to a new one, which must not exist.
func To(ctx context.Context, files *archive.Files, to string, o Options) (Summary, error) {
	return repairNear(ctx, files, to, o, func(fresh string) error {
		if err := Move(fresh, to); err != nil {
			return err
		}
		return SyncFile(filepath.Dir(to))
	})
}

// repairNear repairs an archive in a neighbouring directory of a base name that must be free, so that the name never
// belongs to an incomplete archive. Keep puts the new one in its place when it is on disk.
func repairNear(ctx context.Context, files *archive.Files, free string, o Options, keep func(fresh string) error) (Summary, error) {
	if err := archive.CheckFree(free); err != nil {
		return Summary{}, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(free), ".pcp-repair-")
	if err != nil {
		return Summary{}, err
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, filepath.Base(files.Base))
	sum, err := Archive(ctx, files, base, o)
	if err != nil {
		return sum, err
	}
	if !Whole(base) {
		return sum, fmt.Errorf("%s: the repaired archive is not whole, and not kept", strings.TrimPrefix(files.Base, "./"))
	}
	if err := syncFiles(base); err != nil {
		return sum, err
	}
	return sum, keep(base)
}

// syncFiles syncs the files of an archive to disk.
func syncFiles(base string) error {
	set, err := archive.FindFiles(base)
	if err != nil {
		return err
	}
	for _, path := range set.All() {
		if err := SyncFile(path); err != nil {
			return err
		}
	}
	return nil
}

// Whole reports whether an archive is undamaged.
func Whole(base string) bool {
	ok := true
	c := check.Checker{Path: base, NoWrap: true, Found: func(f check.Finding) {
		// An archive without an index is usable, but slow.
		if f.Severity == check.Error || f.Severity == check.Warning && f.Pass == 1 {
			ok = false
		}
	}}
	return c.Run() && ok
}

// replace replaces an archive, whose files are kept under another name. At each moment
// every file of the old archive has one of its two names.
func replace(files *archive.Files, fresh string) error {
	set, err := archive.FindFiles(fresh)
	if err != nil {
		return err
	}
	// The new names of the old files are on disk before any file is replaced.
	for _, path := range files.All() {
		suffix := strings.TrimPrefix(path, files.Base)
		if err := os.Link(path, files.Base+BackupSuffix+suffix); err != nil {
			return err
		}
	}
	if err := SyncFile(filepath.Dir(files.Base)); err != nil {
		return err
	}
	keep := make(map[string]bool)
	for _, path := range set.All() {
		to := files.Base + strings.TrimPrefix(path, set.Base)
		keep[to] = true
		if err := os.Rename(path, to); err != nil {
			return err
		}
	}
	for _, path := range files.All() {
		if !keep[path] { // it was compressed
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return SyncFile(filepath.Dir(files.Base))
}

// SyncFile syncs a file, or the names in a directory, to disk.
func SyncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
