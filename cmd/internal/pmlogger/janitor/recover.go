package janitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
)

// Recover finishes or undoes operations in a directory of archives that a crash interrupted
// at any time: recording, [Compress] or [Remove]. Afterwards the archives of the directory
// can be read, each up to its last complete record.
//
//   - Incomplete temporary files are removed.
//   - If both a plain file and a compressed one exist, the plain one is removed if the
//     other has the same contents or more, and the compressed one if it is incomplete.
//   - Archives that were being removed are removed.
//   - The incomplete ends of files of a killed recorder are cut off ([archive.Trim]),
//     and an archive without any record is removed.
//
// It does not touch an archive for which written returns true. It reports other damage as
// an error, at the end.
func Recover(ctx context.Context, dir string, written func(*Archive) bool, did func(what, path string)) error {
	if did == nil {
		did = func(string, string) {}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	removed := false
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, temporary) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, name)
		if base, ok := markedBase(name); ok {
			if err := finishRemoval(dir, base, path); err != nil {
				errs = append(errs, err)
				continue
			}
			did("removed the rest of archive", filepath.Join(dir, base))
			continue
		}
		if _, _, ok := archive.BaseName(strings.TrimSuffix(name[1:], temporary)); !ok {
			continue // not one of ours
		}
		if err := ignoreMissing(os.Remove(path)); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = true
		did("removed what was not whole", path)
	}
	if removed {
		errs = append(errs, fsdir.Sync(dir))
	}
	list, err := List(dir)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, a := range list {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		if written(a) {
			continue
		}
		if err := choose(ctx, a, did); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := trim(a, did); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// finishRemoval removes the rest of an archive whose metadata are a marker.
func finishRemoval(dir, base, marker string) error {
	list, err := List(dir)
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.Base != filepath.Join(dir, base) {
			continue
		}
		for _, f := range a.Files {
			if f.Volume == archive.VolMeta {
				return os.Remove(marker) // the name was used for another archive
			}
		}
		return Remove(a) // including the marker
	}
	return errors.Join(ignoreMissing(os.Remove(marker)), fsdir.Sync(dir))
}

// choose keeps either a plain or a compressed file of the same name.
func choose(ctx context.Context, a *Archive, did func(what, path string)) error {
	var errs []error
	for _, plain := range a.Files {
		if plain.Suffix != "" {
			continue
		}
		for _, f := range a.Files {
			if f.Volume != plain.Volume || f.Suffix != ".zst" && f.Suffix != ".xz" {
				continue
			}
			rel, err := compare(ctx, plain.Path, f.Path, f.Suffix)
			loser := ""
			switch rel {
			case same, plainShorter: // it was being removed, or decompressed
				loser = plain.Path
			case packedShorter:
				loser = f.Path
			default:
				if err == nil {
					err = fmt.Errorf("%s and %s have different contents, and both stay", plain.Path, f.Path)
				}
				errs = append(errs, err)
				continue
			}
			if err := ignoreMissing(os.Remove(loser)); err != nil {
				errs = append(errs, err)
				continue
			}
			did("removed one of two files with the same contents", loser)
			if loser == plain.Path {
				break
			}
		}
	}
	return errors.Join(append(errs, fsdir.Sync(filepath.Dir(a.Base)))...)
}

// trim cuts off incomplete ends, and removes an archive without records.
func trim(a *Archive, did func(what, path string)) error {
	if !a.whole() {
		for _, f := range a.Files {
			if f.Suffix != "" || f.Size > 0 {
				return nil // part of an archive, whose rest may be elsewhere
			}
		}
		did("removed archive without records", a.Base)
		return Remove(a)
	}
	done, err := archive.Trim(a.Base)
	if err != nil {
		return err
	}
	if done.Empty {
		did("removed archive without records", a.Base)
		return Remove(a)
	}
	if n := done.Data + done.Meta + done.Index; n > 0 {
		did(fmt.Sprintf("cut %d bytes that were not whole off archive", n), a.Base)
	}
	return nil
}
