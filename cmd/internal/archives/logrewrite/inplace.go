package logrewrite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
)

// The files of an archive cannot be replaced atomically. The order of the steps ensures
// that nothing is lost if the process is killed at any time:
//
//	1. The new archive is written as .NAME.new, and synced to disk.
//	2. The old one gets a second name, .NAME.old: links to its files, the metadata last.
//	3. NAME.meta is removed. NAME cannot be opened now, so no reader gets half of each.
//	4. The files of .NAME.new get their names, the metadata last. Now NAME is new.
//	5. .NAME.old is removed.
//
// If .NAME.old has metadata and NAME does not, the process ended between 3 and 4, and
// NAME becomes the old archive again. In all other cases NAME is complete, old or new.

// newBase and oldBase return the names of the new and the old archive during a
// replacement.
func newBase(base string) string { return hidden(base, ".new") }
func oldBase(base string) string { return hidden(base, ".old") }

func hidden(base, suffix string) string {
	dir, name := filepath.Split(base)
	return dir + "." + name + suffix
}

// baseOf returns the base name of an archive that may be named by one of its files.
func baseOf(path string) string {
	dir, name := filepath.Split(path)
	if base, _, ok := archive.BaseName(name); ok {
		if _, err := os.Stat(path); err == nil {
			return dir + base
		}
	}
	return path
}

func hasMeta(list []parts.Part) bool {
	return slices.ContainsFunc(list, func(p parts.Part) bool { return p.Meta })
}

// recoverArchive repairs an archive whose replacement was interrupted. It reports
// whether the archive was neither the old nor the new one.
func recoverArchive(base string) (restored bool, err error) {
	now, err := parts.List(base)
	if err != nil {
		return false, err
	}
	old, err := parts.List(oldBase(base))
	if err != nil {
		return false, err
	}
	made, err := parts.List(newBase(base))
	if err != nil {
		return false, err
	}
	if hasMeta(old) && !hasMeta(now) {
		if err := restore(base, now, old); err != nil {
			return false, err
		}
		restored, old = true, nil
	}
	return restored, errors.Join(parts.Remove(old), parts.Remove(made))
}

// restore gives an archive its old files, the metadata last.
func restore(base string, now, old []parts.Part) error {
	if err := parts.Remove(now); err != nil {
		return err
	}
	for _, p := range old {
		// The old names stay until all files are restored, since this may be
		// interrupted too.
		if err := linkOrCopy(p.Path, base+p.Suffix); err != nil {
			return err
		}
	}
	if err := fsdir.Sync(filepath.Dir(base)); err != nil {
		return err
	}
	return parts.Remove(old)
}

// replaceArchive replaces the old archive with the new one.
func replaceArchive(base string) error {
	made, err := parts.List(newBase(base))
	if err != nil {
		return err
	}
	old, err := parts.List(base)
	if err != nil {
		return err
	}
	if err := sameMode(old, made); err != nil {
		return err
	}
	if err := parts.Sync(made); err != nil {
		return err
	}
	var kept []parts.Part
	for _, p := range old {
		to := oldBase(base) + p.Suffix
		if err := linkOrCopy(p.Path, to); err != nil {
			return errors.Join(err, parts.Remove(kept))
		}
		kept = append(kept, parts.Part{Path: to, Suffix: p.Suffix, Meta: p.Meta})
	}
	if err := fsdir.Sync(filepath.Dir(base)); err != nil {
		return errors.Join(err, parts.Remove(kept))
	}
	if err := exchange(base, old, made); err != nil {
		now, err2 := parts.List(base)
		if err2 == nil {
			err2 = restore(base, now, kept)
		}
		return errors.Join(err, err2)
	}
	return parts.Remove(kept)
}

// exchange removes the files of an archive and gives their names to others.
func exchange(base string, old, made []parts.Part) error {
	if err := parts.Remove(old); err != nil {
		return err
	}
	if err := fsdir.Sync(filepath.Dir(base)); err != nil {
		return err
	}
	for _, p := range made {
		if p.Meta {
			if err := fsdir.Sync(filepath.Dir(base)); err != nil {
				return err
			}
		}
		if err := os.Rename(p.Path, base+p.Suffix); err != nil {
			return err
		}
	}
	return fsdir.Sync(filepath.Dir(base))
}

// sameMode gives new files the permissions of old ones, and their owner if possible.
func sameMode(old, made []parts.Part) error {
	i := slices.IndexFunc(old, func(p parts.Part) bool { return p.Meta })
	if i < 0 {
		return nil
	}
	st, err := os.Stat(old[i].Path)
	if err != nil {
		return err
	}
	for _, p := range made {
		sameOwner(p.Path, st)
		if err := os.Chmod(p.Path, st.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// linkOrCopy gives a file a second name, or copies it if links are not supported.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	for _, e := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK} {
		if errors.Is(err, e) {
			return copyFile(from, to)
		}
	}
	return err
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		return err
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		os.Remove(to)
		return fmt.Errorf("copy of %s: %w", from, err)
	}
	return nil
}
