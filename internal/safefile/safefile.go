package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// ErrNotRegular is that a name is of something that is not a file with one name.
var ErrNotRegular = errors.New("not a regular file of one name")

// ErrChanged is that a file changed while its replacement was made.
var ErrChanged = errors.New("somebody else has changed it meanwhile")

// OpCreate is the Op of the fs.PathError of a Replace that cannot create the new
// file, so that the caller may use its own words.
const OpCreate = "create a file beside"

// A Replacement configures a file that Replace writes.
type Replacement struct {
	Mode fs.FileMode // permissions of a new file
	Uid  int         // owner of a new file; -1 for the process's
	Gid  int         // group of a new file; -1 for the process's

	// Keep gives the new file the permissions and the owner of the old one,
	// if there is one. Without the right to give files away that fails, unless
	// Lenient is set.
	Keep    bool
	Lenient bool

	// Writable requires that the process may write to the old file: write
	// permission for its directory alone is not enough.
	Writable bool

	// Was is the file as it was read, if it must not have changed since; see
	// MustBeNew, too.
	Was       fs.FileInfo
	MustBeNew bool

	// Follow replaces the target of a symbolic link, not the link.
	Follow bool
}

// ReplaceBytes replaces the file at path by one of these bytes, see Replace.
func ReplaceBytes(path string, b []byte, how Replacement) error {
	return Replace(path, how, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func pathError(op, path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func notRegular(op, path, what string) error {
	return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("%s: %w", what, ErrNotRegular)}
}

func split(path string) (dir, name string, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", "", err
	}
	if dir, name = filepath.Dir(abs), filepath.Base(abs); name == string(filepath.Separator) || name == "." {
		return "", "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return dir, name, nil
}
