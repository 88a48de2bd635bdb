package passwd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/internal/sasl"
)

// A usersFile is a file of accounts that is being changed.
type usersFile struct {
	path  string
	info  fs.FileInfo // when it was read; nil: it was not there
	users sasl.Users
	group int // that of a new file; -1: whatever comes
}

func readFile(path string) (*usersFile, error) {
	f := &usersFile{path: path, users: sasl.Users{}, group: -1}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if f.info, err = file.Stat(); err != nil {
		return nil, err
	}
	if f.users, err = sasl.ParseUsers(file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

const heading = "# Accounts of the collector; managed by pcp passwd, which does not keep comments.\n"

// write puts a new file in the place of the old one, at once. Its mode and
// owner stay; a new one is for its owner, and for the collector's group to read.
func (f *usersFile) write() error {
	dir := filepath.Dir(f.path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(f.path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails when all goes well
	defer tmp.Close()
	mode := fs.FileMode(0o640)
	uid, gid := -1, f.group
	if f.info != nil {
		mode = f.info.Mode().Perm()
		uid, gid = owner(f.info)
	}
	if err := tmp.Chown(uid, gid); err != nil && os.Geteuid() == 0 {
		return err
	}
	if err := tmp.Chmod(mode); err != nil {
		return err
	}
	if _, err := io.WriteString(tmp, heading); err != nil {
		return err
	}
	if err := f.users.Write(tmp); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.info == nil:
	case err != nil:
		return err
	case f.info == nil, !os.SameFile(now, f.info), !now.ModTime().Equal(f.info.ModTime()), now.Size() != f.info.Size():
		return fmt.Errorf("%s: somebody else has changed it meanwhile", f.path)
	}
	return os.Rename(tmp.Name(), f.path)
}
