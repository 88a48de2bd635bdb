//go:build !unix

package safefile

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// Elsewhere directories are guarded by the system's access lists, and files
// have no owner to keep.

// CreateLog creates the log at path, for appending. An existing log becomes
// path.prev.
func CreateLog(path string, perm fs.FileMode) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		if err := os.Rename(path, path+".prev"); err != nil {
			os.Remove(path)
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, perm)
}

// Create creates the file at path, replacing any file with that name.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
}

// Remove removes the name at path.
func Remove(path string) error { return os.Remove(path) }

// OpenAppend opens the file at path for appending, or creates it, which created reports.
func OpenAppend(path string, flags int, perm fs.FileMode) (f *os.File, created bool, err error) {
	if flags&os.O_RDWR == 0 {
		flags |= os.O_WRONLY
	}
	f, err = os.OpenFile(path, flags|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, flags|os.O_APPEND|os.O_CREATE|os.O_EXCL, perm)
		created = err == nil
	}
	return f, created, err
}

// Open opens the file at path for reading.
func Open(path string) (*os.File, error) { return os.Open(path) }

// Replace writes a new file in the place of the one at path, in one step.
func Replace(path string, how Replacement, write func(io.Writer) error) (err error) {
	if how.Follow {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			path = to
		}
	}
	if how.Writable {
		old, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			old.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return pathError(OpCreate, path, err)
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if how.Was != nil || how.MustBeNew {
		now, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && how.MustBeNew:
		case err != nil:
			return err
		case how.Was == nil || !os.SameFile(now, how.Was) || !now.ModTime().Equal(how.Was.ModTime()) || now.Size() != how.Was.Size():
			return pathError("replace", path, ErrChanged)
		}
	}
	return os.Rename(f.Name(), path)
}

// A SocketMode configures a socket that Listen makes.
type SocketMode struct {
	Perm     fs.FileMode
	Uid, Gid int
}

// Listen listens on a Unix socket at path.
func Listen(path string, _ SocketMode) (net.Listener, error) { return net.Listen("unix", path) }

// MkdirAll makes the directory at path and those above it.
func MkdirAll(path string, perm fs.FileMode, _ func(*os.File) error) error {
	return os.MkdirAll(path, perm)
}

// CreateNew creates a file that is not there yet, for writing.
func CreateNew(path string, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// Mkdir makes a directory.
func Mkdir(path string, perm fs.FileMode) error { return os.Mkdir(path, perm) }
