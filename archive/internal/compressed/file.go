// Package compressed reads files that may be compressed, at random. A file in the
// .xz format is read block by block, as far as its blocks allow, with the next ones
// decoded ahead if a file is read in order. So is one in the .zst format that has a table of its frames. Files of other formats are expanded
// from their start as far as they are read: into memory at first, and then into a
// temporary file without a name. The expanded size has a limit.
package compressed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
)

// A source is the contents of a file.
type source interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// suffixes lists the suffixes of compressed files, in the order in which C looks
// for them.
var suffixes = [...]string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// SplitSuffix splits off the suffix of a compressed file.
func SplitSuffix(name string) (rest, suffix string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name, ""
	}
	for _, s := range suffixes {
		if name[i:] == s {
			return name[:i], s
		}
	}
	return name, ""
}

// Find returns the name under which path exists, with the suffix of a
// compressed file if there is no plain one.
func Find(path string) string {
	if _, err := storage.Stat(path); err == nil {
		return path
	}
	for _, s := range suffixes {
		if _, err := storage.Stat(path + s); err == nil {
			return path + s
		}
	}
	return path
}

// Memory is memory of blocks that are not needed any more, for the next ones of
// the files that were opened with it. The zero Memory is empty. It is safe for
// concurrent use.
type Memory struct{ blocks sync.Pool }

// free releases memory for reuse.
func (m *Memory) free(data []byte) {
	if cap(data) >= xzRun {
		m.blocks.Put(&data)
	}
}

// alloc returns an empty slice with room for n bytes.
func (m *Memory) alloc(n int) []byte {
	if n >= xzRun {
		if p, ok := m.blocks.Get().(*[]byte); ok && cap(*p) >= n {
			return (*p)[:0]
		}
	}
	return make([]byte, 0, n)
}

// A File is a file that is read as if it were not compressed. It is safe for
// concurrent use.
type File struct {
	src  source
	path string
	file storage.File
}

// Open opens a file. Path may lack the suffix of a compressed one.
func Open(path string) (*File, error) { return new(Memory).Open(path) }

// Open is [Open] for a file that shares memory with others.
func (m *Memory) Open(path string) (*File, error) {
	path = Find(path)
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	_, suffix := SplitSuffix(filepath.Base(path))
	if suffix == "" {
		return &File{plainFile{f}, path, f}, nil
	}
	s, err := m.expand(f, suffix)
	if err != nil {
		f.Close()
		if _, ok := errors.AsType[*LimitError](err); ok {
			return nil, err // it names the file
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &File{s, path, f}, nil
}

// openRegular opens a file for reading, on the disk or in a store. It does not wait for the writer of a FIFO: for a
// FIFO, a directory or a device the error is fs.ErrInvalid.
func openRegular(path string) (storage.File, error) {
	if s, ok := storage.Of(path); ok {
		return s.Open(path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() {
		return f, nil
	}
	f.Close()
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return nil, &notFileError{path}
}

// A notFileError means that a part of an archive is a FIFO, a socket or a device. It is the
// system error EINVAL.
type notFileError struct{ path string }

func (e *notFileError) Error() string {
	return fmt.Sprintf("%s: it is a pipe, a socket or a device, and not a file", e.path)
}

// NotInC marks an error that the C library does not have, so tools print its text.
func (e *notFileError) NotInC() {}

// Unwrap returns the system error EINVAL.
func (e *notFileError) Unwrap() error { return -pcp.Error(syscall.EINVAL) }

// Name returns the path of the file, with its suffix.
func (f *File) Name() string { return f.path }

// Descriptor returns the number of the open file, -1 if it is closed or not on the disk.
func (f *File) Descriptor() int {
	fd := -1
	if f, ok := f.file.(*os.File); ok {
		if c, err := f.SyscallConn(); err == nil {
			c.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}

// Compressed reports whether the file is compressed.
func (f *File) Compressed() bool {
	_, plain := f.src.(plainFile)
	return !plain
}

// ReadAt reads contents. It implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.src.ReadAt(p, off) }

// Size returns the length of the contents now. It has to expand all of a file
// whose format does not store that length.
func (f *File) Size() (int64, error) { return f.src.Size() }

// Close closes the file.
func (f *File) Close() error { return f.src.Close() }

type plainFile struct{ storage.File }

func (f plainFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
