package logrewrite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
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

// A part is a file of an archive.
type part struct {
	path   string
	suffix string // after the base name
	meta   bool
}

// parts returns the files of an archive, the metadata last.
func parts(base string) ([]part, error) {
	dir, name := filepath.Split(base)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list, last []part
	for _, e := range entries {
		b, what, ok := archive.BaseName(e.Name())
		if !ok || b != name {
			continue
		}
		suffix := strings.TrimPrefix(e.Name(), name)
		p := part{base + suffix, suffix, what == "meta"}
		if p.meta {
			last = append(last, p)
		} else {
			list = append(list, p)
		}
	}
	return append(list, last...), nil
}

func hasMeta(list []part) bool {
	return slices.ContainsFunc(list, func(p part) bool { return p.meta })
}

// removeAll removes files in reverse order.
func removeAll(list []part) error {
	for _, p := range slices.Backward(list) {
		if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// recoverArchive repairs an archive whose replacement was interrupted. It reports
// whether the archive was neither the old nor the new one.
func recoverArchive(base string) (restored bool, err error) {
	now, err := parts(base)
	if err != nil {
		return false, err
	}
	old, err := parts(oldBase(base))
	if err != nil {
		return false, err
	}
	made, err := parts(newBase(base))
	if err != nil {
		return false, err
	}
	if hasMeta(old) && !hasMeta(now) {
		if err := restore(base, now, old); err != nil {
			return false, err
		}
		restored, old = true, nil
	}
	return restored, errors.Join(removeAll(old), removeAll(made))
}

// restore gives an archive its old files, the metadata last.
func restore(base string, now, old []part) error {
	if err := removeAll(now); err != nil {
		return err
	}
	for _, p := range old {
		// The old names stay until all files are restored, since this may be
		// interrupted too.
		if err := linkOrCopy(p.path, base+p.suffix); err != nil {
			return err
		}
	}
	if err := fsdir.Sync(filepath.Dir(base)); err != nil {
		return err
	}
	return removeAll(old)
}

// replaceArchive replaces the old archive with the new one.
func replaceArchive(base string) error {
	made, err := parts(newBase(base))
	if err != nil {
		return err
	}
	old, err := parts(base)
	if err != nil {
		return err
	}
	if err := sameMode(old, made); err != nil {
		return err
	}
	for _, p := range made {
		if err := syncFile(p.path); err != nil {
			return err
		}
	}
	var kept []part
	for _, p := range old {
		to := oldBase(base) + p.suffix
		if err := linkOrCopy(p.path, to); err != nil {
			return errors.Join(err, removeAll(kept))
		}
		kept = append(kept, part{to, p.suffix, p.meta})
	}
	if err := fsdir.Sync(filepath.Dir(base)); err != nil {
		return errors.Join(err, removeAll(kept))
	}
	if err := exchange(base, old, made); err != nil {
		now, err2 := parts(base)
		if err2 == nil {
			err2 = restore(base, now, kept)
		}
		return errors.Join(err, err2)
	}
	return removeAll(kept)
}

// exchange removes the files of an archive and gives their names to others.
func exchange(base string, old, made []part) error {
	if err := removeAll(old); err != nil {
		return err
	}
	if err := fsdir.Sync(filepath.Dir(base)); err != nil {
		return err
	}
	for _, p := range made {
		if p.meta {
			if err := fsdir.Sync(filepath.Dir(base)); err != nil {
				return err
			}
		}
		if err := os.Rename(p.path, base+p.suffix); err != nil {
			return err
		}
	}
	return fsdir.Sync(filepath.Dir(base))
}

// sameMode gives new files the permissions of old ones, and their owner if possible.
func sameMode(old, made []part) error {
	i := slices.IndexFunc(old, func(p part) bool { return p.meta })
	if i < 0 {
		return nil
	}
	st, err := os.Stat(old[i].path)
	if err != nil {
		return err
	}
	for _, p := range made {
		sameOwner(p.path, st)
		if err := os.Chmod(p.path, st.Mode().Perm()); err != nil {
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

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
