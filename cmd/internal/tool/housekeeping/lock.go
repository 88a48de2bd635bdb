package housekeeping

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Lock is a file that only one process can make, as pmlock's, so that it also keeps
// out the scripts of the C implementation. Other than theirs it is known to be left over
// when the process that made it has been killed.
type Lock struct {
	path string
	file *os.File
}

// lockMark is what a file of a Lock begins with.
const lockMark = "go-pcp lock of process "

// TryLock makes the file at path. If another process has made it and may still be at
// work, the error is fs.ErrExist.
func TryLock(path string) (*Lock, error) {
	f, err := prepare(path)
	if err != nil {
		return nil, err
	}
	for range 3 {
		// A process that sees the file also sees its maker, and that it is
		// locked.
		if err = os.Link(f.Name(), path); err == nil || !errors.Is(err, fs.ErrExist) || !removeStale(path, false) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		// Another process has taken the file for a leftover, before it was locked.
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: fs.ErrExist}
	}
	if err := errors.Join(err, os.Remove(f.Name())); err != nil {
		f.Close()
		if errors.Is(err, fs.ErrExist) {
			err = &fs.PathError{Op: "lock", Path: path, Err: fs.ErrExist}
		}
		return nil, err
	}
	removeOthers(path)
	return &Lock{path, f}, nil
}

// prepare makes the file of a lock under a name of its own.
func prepare(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+name+".")
	if err != nil {
		return nil, err
	}
	_, err = lockFile(f)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s%d\n", lockMark, os.Getpid())
	}
	if err != nil { // the disk is full
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return f, nil
}

// removeOthers removes the files that prepare made in processes that were
// killed.
func removeOthers(path string) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+name+".") && e.Type().IsRegular() {
			removeStale(filepath.Join(dir, e.Name()), true)
		}
	}
}

// removeStale removes a lock whose process has ended. A lock without a mark is another
// program's, unless any is set.
func removeStale(path string, any bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	b := make([]byte, len(lockMark))
	if _, err := io.ReadFull(f, b); !any && (err != nil || string(b) != lockMark) {
		return false
	}
	if free, err := lockFile(f); err != nil || !free {
		return false
	}
	// Another process may have removed it meanwhile, and a third one made a new
	// one.
	mine, err1 := f.Stat()
	now, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(mine, now) && os.Remove(path) == nil
}

// Unlock removes the file.
func (l *Lock) Unlock() error {
	return errors.Join(os.Remove(l.path), l.file.Close())
}
