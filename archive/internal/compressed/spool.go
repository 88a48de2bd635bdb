package compressed

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/internal/zstdframes"
)

// expand returns the contents of a compressed file. If it succeeds, f belongs
// to the source.
func (m *Memory) expand(f storage.File, suffix string) (source, error) {
	total := int64(-1)
	limit, err := expandLimit(f, suffix)
	if err != nil {
		return nil, err
	}
	var r io.Reader
	var stop func()
	in := bufio.NewReaderSize(f, 64<<10) // some read byte by byte
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return nil, damagedStream(f.Name(), io.EOF)
	}
	switch suffix {
	case ".xz":
		x, err := readXZIndex(f, st.Size())
		if err != nil {
			return nil, err
		}
		if x.largest() <= xzBlockLimit {
			return newXZ(f, x, m), nil
		}
		if r, total = (&xzStream{xzIndex: x}), x.total; total > limit.Limit {
			return nil, limit
		}
	case ".zst":
		switch t, err := zstdframes.ReadTable(f, st.Size()); {
		case err == nil:
			return newFrames(f, t, m), nil
		case err != zstdframes.ErrNoTable:
			return nil, err
		}
		// zstd itself refuses a window of more than 128 MiB.
		d, derr := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderLowmem(true))
		if derr == nil {
			stop = d.Close
		}
		r, err = d, derr
	case ".gz", ".Z", ".z":
		// By its contents, as gzip(1) does.
		if magic, _ := in.Peek(len(lzwMagic)); string(magic) == lzwMagic {
			r, err = newLZW(in)
		} else {
			r, err = gzip.NewReader(in)
		}
	case ".bz2", ".bz":
		r = bzip2.NewReader(in)
	case ".lzma":
		r, err = lzma.NewReader(in)
	default:
		return nil, fmt.Errorf("compression by %s is not supported: %w", suffix, pcp.ErrNYI)
	}
	if err != nil {
		return nil, damagedStream(f.Name(), err)
	}
	return &spool{r: r, in: f, path: f.Name(), stop: stop, total: total, limit: limit}, nil
}

// spoolLimit is the number of bytes of an expanded file kept in memory.
const spoolLimit = 4 << 20

// aheadFrom is the number of bytes requested of a file from which the rest is
// expanded ahead.
const aheadFrom = 1 << 20

// A spool expands a file from its start as far as it is read, and keeps the
// expanded bytes: in memory, and from spoolLimit on in a temporary file that has
// no name.
type spool struct {
	mu    sync.Mutex
	r     io.Reader
	in    io.Closer
	path  string
	stop  func() // of r; may be nil
	ahead *readAhead
	total int64       // length of the contents, -1 if it is not known
	limit *LimitError // the error for more than its limit; nil for none
	head  []byte
	tail  *os.File
	got   int64 // bytes expanded
	err   error // the error that ended it, io.EOF if all is well
}

// upTo expands until there are n bytes. The mutex is held.
func (s *spool) upTo(n int64) error {
	var room []byte
	for s.got < n && s.err == nil {
		if s.ahead == nil && s.got >= aheadFrom {
			s.ahead = newReadAhead(s.r)
			s.r = s.ahead
		}
		if s.got < spoolLimit {
			if len(s.head) == cap(s.head) {
				s.head = slices.Grow(s.head, max(64<<10, len(s.head)))
			}
			k, err := s.r.Read(s.head[len(s.head):min(cap(s.head), spoolLimit)])
			s.head = s.head[:len(s.head)+k]
			s.got += int64(k)
			s.err = err
			continue
		}
		if s.tail == nil {
			f, err := os.CreateTemp("", "pcp-archive-")
			if err != nil {
				return err
			}
			os.Remove(f.Name())
			s.tail = f
		}
		if room == nil {
			room = make([]byte, 256<<10)
		}
		k, err := s.r.Read(room)
		if s.limit != nil && s.got+int64(k) > s.limit.Limit {
			s.refuse()
			break
		}
		if _, werr := s.tail.WriteAt(room[:k], s.got-spoolLimit); werr != nil {
			return werr
		}
		s.got += int64(k)
		s.err = err
	}
	if s.err != nil {
		s.end()
	}
	if s.err == nil || s.err == io.EOF {
		return nil
	}
	if s.limit != nil && s.err == s.limit {
		return s.err
	}
	return damagedStream(s.path, s.err)
}

// refuse gives up a file that has reached its limit, and drops its kept bytes: it
// is not read in part.
func (s *spool) refuse() {
	s.err, s.got, s.head = s.limit, 0, nil
	if s.tail != nil {
		s.tail.Close()
		s.tail = nil
	}
}

// damagedStream returns the error of a damaged compressed file. An early end must
// not look like the end of its contents.
func damagedStream(path string, err error) error {
	early := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	damage := fmt.Errorf("%w: %w", err, pcp.ErrLogRec)
	if early {
		damage = fmt.Errorf("compressed data end early: %w", pcp.ErrLogRec)
	}
	switch _, suffix := SplitSuffix(path); suffix {
	case ".gz", ".Z", ".z":
	default:
		return damage
	}
	e := &gzipError{path: path, err: damage}
	switch {
	case early:
		e.what = "unexpected end of file"
	case errors.Is(err, gzip.ErrHeader):
		e.what = "not in gzip format"
	case errors.Is(err, gzip.ErrChecksum):
		e.what = "invalid compressed data--crc error"
	default:
		return damage
	}
	return e
}

// A gzipError is damage to a file of gzip, which has its own messages for it. The C library runs it, so
// that users of the classic tools see them.
type gzipError struct {
	path, what string
	err        error
}

func (e *gzipError) Error() string { return e.err.Error() }
func (e *gzipError) Unwrap() error { return e.err }

// Decompressing returns the message of gzip(1).
func (e *gzipError) Decompressing() string { return "gzip: " + e.path + ": " + e.what }

// end releases the reader, which holds a dictionary.
func (s *spool) end() {
	if s.ahead != nil {
		s.ahead.stop()
		s.ahead = nil
	}
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	s.r = nil
}

func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < 0 {
		return 0, fmt.Errorf("offset %d: %w", off, pcp.ErrLogRec)
	}
	err := s.upTo(off + int64(len(p)))
	n := 0
	if off < int64(len(s.head)) {
		n = copy(p, s.head[off:])
	}
	if rest := min(int64(len(p)), s.got-off) - int64(n); rest > 0 && s.tail != nil {
		k, rerr := s.tail.ReadAt(p[n:n+int(rest)], off+int64(n)-spoolLimit)
		n += k
		if rerr != nil && rerr != io.EOF {
			return n, rerr
		}
	}
	if n < len(p) && err == nil {
		err = io.EOF
	}
	return n, err
}

func (s *spool) Size() (int64, error) {
	if s.total >= 0 {
		return s.total, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.upTo(math.MaxInt64); err != nil {
		return 0, err
	}
	return s.got, nil
}

func (s *spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = fs.ErrClosed
	}
	s.end()
	if s.tail != nil {
		s.tail.Close()
	}
	return s.in.Close()
}
