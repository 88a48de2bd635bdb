package openmetrics

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// Limits are the limits of a Scanner. Zero fields mean the defaults.
type Limits struct {
	Bytes int64 // of the whole text; 0 means 256 MiB
	Line  int   // bytes of a line; 0 means 1 MiB
}

// Defaults of Limits.
const (
	defaultBytes = 256 << 20
	defaultLine  = 1 << 20
)

// ErrTooLong is the error for a text or a line beyond the limits.
var ErrTooLong = errors.New("too long")

// A Scanner reads the lines of a text. It holds one line at a time.
type Scanner struct {
	r      io.Reader
	limits Limits
	buf    []byte
	start  int // of the bytes not yet returned
	end    int // of the bytes read
	total  int64
	line   []byte
	number int
	err    error // the error that ended the reading; io.EOF at the end
}

// firstBuffer is the initial size of the buffer.
const firstBuffer = 32 << 10

// NewScanner returns a Scanner that reads r.
func NewScanner(r io.Reader, limits Limits) *Scanner {
	s := new(Scanner)
	s.limits = limits
	s.Reset(r)
	return s
}

// Reset makes s read r from its beginning. The buffer is reused; with nil for r, a buffer that had to grow for a long
// line is released.
func (s *Scanner) Reset(r io.Reader) {
	s.limits.Bytes = cmp.Or(s.limits.Bytes, defaultBytes)
	s.limits.Line = cmp.Or(s.limits.Line, defaultLine)
	s.r, s.err = r, nil
	s.start, s.end, s.total, s.number = 0, 0, 0, 0
	s.line = nil
	if r == nil && len(s.buf) > firstBuffer {
		s.buf = nil
	} else if s.buf == nil {
		s.buf = make([]byte, min(firstBuffer, s.limits.Line+1))
	}
}

// Next advances to the next line that is not empty, and reports whether there is one.
func (s *Scanner) Next() bool {
	for {
		if i := bytes.IndexByte(s.buf[s.start:s.end], '\n'); i >= 0 {
			s.line = s.buf[s.start : s.start+i]
			s.start += i + 1
		} else if s.err == nil {
			s.fill()
			continue
		} else if s.err == io.EOF && s.start < s.end {
			s.line = s.buf[s.start:s.end]
			s.start = s.end
		} else {
			s.line = nil
			return false
		}
		s.number++
		if s.line = trim(s.line); len(s.line) > 0 {
			return true
		}
	}
}

// fill reads more bytes. It sets err if it fails.
func (s *Scanner) fill() {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if s.end == len(s.buf) {
		if s.end > s.limits.Line {
			s.err = fmt.Errorf("line %d: more than %d bytes: %w", s.number+1, s.limits.Line, ErrTooLong)
			return
		}
		grown := make([]byte, min(2*len(s.buf), s.limits.Line+1))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if s.total += int64(n); s.total > s.limits.Bytes {
			err = fmt.Errorf("more than %d bytes: %w", s.limits.Bytes, ErrTooLong)
		}
		if err != nil {
			s.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// Line returns the line without white space around it. It is valid until the next call to Next.
func (s *Scanner) Line() []byte { return s.line }

// Number returns the number of the line, from 1.
func (s *Scanner) Number() int { return s.number }

// Size returns the number of bytes read.
func (s *Scanner) Size() int64 { return s.total }

// Err returns the error that ended the text early; nil at its end.
func (s *Scanner) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c <= '\r' && c >= '\t' }
