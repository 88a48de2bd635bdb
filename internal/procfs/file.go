package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MaxSize is the most that Read takes from one file. The largest files of
// interest, such as /proc/stat and /proc/interrupts of a machine with thousands
// of processors, stay far below.
const MaxSize = 64 << 20

// Sizes of a buffer: what the first reading has, and after it, the room for a file to grow. Most files have a few dozen bytes.
const (
	firstSize = 4096
	leastRoom = 256
)

// ErrTooLarge is the error of a file larger than MaxSize.
var ErrTooLarge = errors.New("procfs: file too large")

// A File is a file of /proc or /sys that is read over and over. Its zero value
// is not ready for use; see NewFile. A File is not safe for concurrent use.
type File struct {
	path  string
	whole bool // one read gets all of it if the buffer has room to spare
	fd    handle
	open  bool
	buf   []byte
	pool  *Pool
	err   *fs.PathError // the last error, kept for the next time it is the same
}

// NewFile returns the file at path, which need not exist: it is opened when it
// is read.
func NewFile(path string) *File { return &File{path: path} }

// NewWholeFile is NewFile for a file which the kernel produces in one piece
// (single_open in its source), or an attribute of /sys: a read that does not
// fill the buffer got everything, and the read that would find the end is saved.
func NewWholeFile(path string) *File { return &File{path: path, whole: true} }

// A Pool bounds how many of its files stay open between readings. Files beyond
// that are opened for each. There may be one for each of thousands of devices.
type Pool struct {
	Max  int
	Size int // the most that Read takes from one; 0 means MaxSize
	open int
}

// In makes f a file of p and returns it. Do so before the first Read.
func (f *File) In(p *Pool) *File {
	f.pool = p
	return f
}

// Path returns the name the file was made with.
func (f *File) Path() string { return f.path }

// Read returns the contents, which stay valid until the next Read. A file that
// is not there is an error that matches fs.ErrNotExist; it is looked for again
// the next time.
func (f *File) Read() ([]byte, error) {
	if !f.open {
		fd, err := openHandle(f.path)
		if err != nil {
			return nil, f.failed("open", err)
		}
		f.fd, f.open = fd, true
		if f.pool != nil {
			f.pool.open++
			if f.pool.open > f.pool.Max {
				defer f.Close()
			}
		}
	}
	n, first := 0, f.buf == nil
	if first {
		f.buf = make([]byte, firstSize)
	}
	for {
		if n == len(f.buf) {
			if most := f.most(); n >= most {
				return nil, fmt.Errorf("%s: more than %d bytes: %w", f.path, most, ErrTooLarge)
			}
			b := make([]byte, 2*len(f.buf))
			copy(b, f.buf)
			f.buf = b
		}
		m, err := f.fd.readAt(f.buf[n:], int64(n))
		if err != nil {
			// The device may have gone, or come back under the same name.
			f.Close()
			return nil, f.failed("read", err)
		}
		n += m
		if m == 0 || f.whole && n < len(f.buf) {
			if first && n < firstSize/2 {
				f.buf = append(make([]byte, 0, n+n/2+leastRoom), f.buf[:n]...)
				f.buf = f.buf[:cap(f.buf)]
			}
			return f.buf[:n], nil
		}
	}
}

// most is how much Read takes.
func (f *File) most() int {
	if f.pool != nil && f.pool.Size > 0 {
		return f.pool.Size
	}
	return MaxSize
}

// failed returns an error of an operation. Missing files are looked up often, and
// are not worth an allocation each time.
func (f *File) failed(op string, err error) error {
	if f.err == nil || f.err.Op != op || f.err.Err != err {
		f.err = &fs.PathError{Op: op, Path: f.path, Err: err}
	}
	return f.err
}

// Close closes the descriptor. A later Read opens the file again.
func (f *File) Close() error {
	if !f.open {
		return nil
	}
	f.open = false
	if f.pool != nil {
		f.pool.open--
	}
	return f.fd.close()
}

// ReadOnce returns the contents of a file that is not worth keeping open.
func ReadOnce(path string) ([]byte, error) {
	f := File{path: path, whole: true}
	defer f.Close()
	return f.Read()
}

// Names returns the names in a directory, in the order of the directory; none
// if it cannot be read.
func Names(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	return names
}

// A Buffer holds the contents of one file after another, for files that are not worth
// keeping open, as those of processes. Its zero value is ready for use. A Buffer is
// not safe for concurrent use.
type Buffer struct {
	// Max is the most that Read takes from one file; 0 means MaxSize.
	Max int
	b   []byte
}

// Read returns the contents of the file at path, which stay valid until the next Read.
// whole means that the kernel produces the file in one piece, as for [NewWholeFile]. Read
// does not wait for a pipe without a writer, so that a path may be from outside. The error
// is that of the system call, or ErrTooLarge.
func (r *Buffer) Read(path string, whole bool) ([]byte, error) {
	h, err := openAtOnce(path)
	if err != nil {
		return nil, err
	}
	defer h.close()
	return r.read(h, whole)
}

func (r *Buffer) read(h handle, whole bool) ([]byte, error) {
	if r.b == nil {
		r.b = make([]byte, 16<<10)
	}
	most := r.Max
	if most == 0 {
		most = MaxSize
	}
	for n := 0; ; {
		if n == len(r.b) {
			if n >= most {
				return nil, ErrTooLarge
			}
			b := make([]byte, min(2*len(r.b), most))
			copy(b, r.b)
			r.b = b
		}
		m, err := h.readAt(r.b[n:], int64(n))
		if err != nil {
			return nil, err
		}
		n += m
		if m == 0 || whole && n < len(r.b) {
			return r.b[:n], nil
		}
	}
}
