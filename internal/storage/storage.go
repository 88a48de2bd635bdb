package storage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// A File is an open file. It is safe for concurrent use, except by Read.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
}

// A Store holds files by their addresses. It is safe for concurrent use. The error for a missing file or
// directory wraps fs.ErrNotExist.
type Store interface {
	// Open opens a file. Its contents do not change: if the file is replaced, reading it fails.
	Open(address string) (File, error)
	// Stat describes a file or a directory.
	Stat(address string) (fs.FileInfo, error)
	// ReadDir lists a directory, sorted by name. Empty directories do not exist.
	ReadDir(address string) ([]fs.DirEntry, error)
}

// A Prefixer is a Store that can list a part of a directory with less effort than the whole.
type Prefixer interface {
	// ReadDirPrefix lists the files and directories whose names begin with a prefix, sorted by name. If there are none, the
	// list is empty.
	ReadDirPrefix(address, prefix string) ([]fs.DirEntry, error)
}

// A FileReader is a Store that reads a small file in one request.
type FileReader interface {
	// ReadFile returns the contents of a file of at most 16 MiB.
	ReadFile(address string) ([]byte, error)
}

var schemes struct {
	sync.RWMutex
	m map[string]func() Store
}

// Register makes addresses of a scheme, such as "s3", those of a store, which is opened at its first use.
func Register(scheme string, open func() Store) {
	schemes.Lock()
	defer schemes.Unlock()
	if schemes.m == nil {
		schemes.m = make(map[string]func() Store)
	}
	schemes.m[scheme] = sync.OnceValue(open)
}

// Of returns the store of an address, and false for a path on the local disk.
func Of(name string) (Store, bool) {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok {
		return nil, false
	}
	schemes.RLock()
	open := schemes.m[scheme]
	schemes.RUnlock()
	if open == nil {
		return nil, false
	}
	return open(), true
}

// Remote reports whether a name is an address of a store.
func Remote(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok {
		return false
	}
	schemes.RLock()
	defer schemes.RUnlock()
	return schemes.m[scheme] != nil
}

// Stat is [os.Stat], also for addresses.
func Stat(name string) (fs.FileInfo, error) {
	if s, ok := Of(name); ok {
		return s.Stat(name)
	}
	return os.Stat(name)
}

// ReadDir is [os.ReadDir], also for addresses.
func ReadDir(name string) ([]fs.DirEntry, error) {
	if s, ok := Of(name); ok {
		return s.ReadDir(name)
	}
	return os.ReadDir(name)
}

// ReadDirPrefix lists the files and directories whose names begin with a prefix. Where that is not less effort than [ReadDir],
// it lists all of the directory.
func ReadDirPrefix(name, prefix string) ([]fs.DirEntry, error) {
	if s, ok := Of(name); ok {
		if p, ok := s.(Prefixer); ok {
			return p.ReadDirPrefix(name, prefix)
		}
	}
	return ReadDir(name)
}

// Join is [filepath.Join] of a directory and names below it, also for addresses.
func Join(dir string, names ...string) string {
	if !Remote(dir) {
		return filepath.Join(append([]string{dir}, names...)...)
	}
	return strings.TrimRight(dir, "/") + path.Join(append([]string{"/"}, names...)...)
}

// Dir is [filepath.Dir], also for addresses.
func Dir(name string) string {
	if !Remote(name) {
		return filepath.Dir(name)
	}
	scheme, rest, _ := strings.Cut(name, "://")
	dir := path.Dir(strings.TrimRight(rest, "/"))
	if dir == "." {
		dir = rest
	}
	return scheme + "://" + dir
}

// Clean is [filepath.Clean] for paths on the local disk. Addresses lose the slashes at their end.
func Clean(name string) string {
	if Remote(name) {
		return strings.TrimRight(name, "/")
	}
	return filepath.Clean(name)
}

// WalkDir is [filepath.WalkDir], also for addresses.
func WalkDir(root string, fn fs.WalkDirFunc) error {
	s, ok := Of(root)
	if !ok {
		return filepath.WalkDir(root, fn)
	}
	root = Clean(root)
	info, err := s.Stat(root)
	if err != nil {
		err = fn(root, nil, err)
	} else {
		err = walk(s, root, fs.FileInfoToDirEntry(info), fn)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func walk(s Store, name string, d fs.DirEntry, fn fs.WalkDirFunc) error {
	if err := fn(name, d, nil); err != nil || !d.IsDir() {
		if errors.Is(err, fs.SkipDir) && d.IsDir() {
			err = nil
		}
		return err
	}
	list, err := s.ReadDir(name)
	if err != nil {
		if err = fn(name, d, err); err != nil {
			if errors.Is(err, fs.SkipDir) {
				err = nil
			}
			return err
		}
	}
	for _, e := range list {
		if err := walk(s, Join(name, e.Name()), e, fn); err != nil {
			if errors.Is(err, fs.SkipDir) {
				break
			}
			return err
		}
	}
	return nil
}
