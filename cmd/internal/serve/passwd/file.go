package passwd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-pcp/pcp/internal/safefile"
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
	how := safefile.Replacement{Mode: 0o640, Uid: -1, Gid: f.group, Keep: true, Lenient: os.Geteuid() != 0}
	if how.Was = f.info; f.info == nil {
		how.MustBeNew = true
	}
	return safefile.Replace(f.path, how, func(w io.Writer) error {
		if _, err := io.WriteString(w, heading); err != nil {
			return err
		}
		return f.users.Write(w)
	})
}
