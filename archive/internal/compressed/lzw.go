package compressed

import (
	"errors"
	"fmt"
	"io"
)

// The format of compress(1): two bytes of magic, one with the largest width of a
// code and a flag, and codes of 9 bits at first, the lowest bit first. Whenever all
// codes of a width are used the next are one bit wider. Codes are in groups of
// eight; the rest of a group is not used when the width changes.
const (
	lzwMagic    = "\x1f\x9d"
	lzwWidths   = 0x1f // in the third byte
	lzwClears   = 0x80 // in the third byte: code 256 clears the table
	lzwReserved = 0x60 // in the third byte

	lzwMinWidth, lzwMaxWidth = 9, 16

	lzwClear = 256
	lzwNone  = -1
)

var errLZW = errors.New("damaged LZW data")

// An lzwReader expands files of compress(1).
type lzwReader struct {
	r      io.Reader
	clears bool
	max    uint // largest width
	width  uint // of the codes in group
	group  [lzwMaxWidth]byte
	have   uint // bits of group
	used   uint

	// Code c, from first on, means the bytes of code prefix[c] and suffix[c].
	prefix      [1 << lzwMaxWidth]uint16
	suffix      [1 << lzwMaxWidth]byte
	first, free int
	last        int  // the code before, lzwNone at the start
	head        byte // first byte of code last

	stack   [1 << lzwMaxWidth]byte
	pending []byte // bytes expanded and not read yet, at the end of stack
	err     error
}

func newLZW(r io.Reader) (*lzwReader, error) {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, errLZW
	}
	z := &lzwReader{
		r: r, clears: head[2]&lzwClears != 0, max: uint(head[2] & lzwWidths),
		width: lzwMinWidth, first: lzwClear, last: lzwNone,
	}
	if string(head[:2]) != lzwMagic {
		return nil, errLZW
	}
	// Programs differ for files of only 9 bits; gzip(1) reports an error.
	if z.max <= lzwMinWidth || z.max > lzwMaxWidth || head[2]&lzwReserved != 0 {
		return nil, fmt.Errorf("LZW data of an unknown kind: %#x", head[2])
	}
	if z.clears {
		z.first++
	}
	z.free = z.first
	return z, nil
}

func (z *lzwReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(z.pending) == 0 {
			if z.err == nil {
				z.err = z.next()
			}
			if z.err != nil {
				break
			}
		}
		k := copy(p[n:], z.pending)
		z.pending = z.pending[k:]
		n += k
	}
	if n == 0 && len(p) > 0 {
		return 0, z.err
	}
	return n, nil
}

// next expands a code.
func (z *lzwReader) next() error {
	if z.free == 1<<z.width && z.width < z.max {
		z.width++
		z.have = 0
	}
	code, err := z.code()
	if err != nil {
		return err
	}
	for code == lzwClear && z.clears {
		z.width, z.have = lzwMinWidth, 0
		z.free, z.last = z.first, lzwNone
		if code, err = z.code(); err != nil {
			return err
		}
	}
	at := len(z.stack)
	c := code
	switch {
	case z.last == lzwNone && code >= lzwClear, code > z.free:
		return errLZW
	case code == z.free:
		// It means the bytes of the previous code, and the first of them again.
		at--
		z.stack[at] = z.head
		c = z.last
	}
	for c >= z.first {
		at--
		z.stack[at] = z.suffix[c]
		c = int(z.prefix[c])
	}
	if c >= lzwClear {
		return errLZW
	}
	at--
	z.stack[at] = byte(c)
	z.pending = z.stack[at:]
	z.head = byte(c)
	if z.last != lzwNone && z.free < 1<<z.max {
		z.prefix[z.free], z.suffix[z.free] = uint16(z.last), z.head
		z.free++
	}
	z.last = code
	return nil
}

// code reads the next code. Less than a code may follow the last one.
func (z *lzwReader) code() (int, error) {
	if z.have < z.width {
		n, err := io.ReadFull(z.r, z.group[:z.width])
		if err != nil && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		z.have, z.used = uint(n)*8, 0
		if z.have < z.width {
			return 0, io.EOF
		}
	}
	var v uint32
	at := z.used / 8
	for i := range uint(3) {
		if at+i < lzwMaxWidth {
			v |= uint32(z.group[at+i]) << (8 * i)
		}
	}
	v >>= z.used % 8
	z.used += z.width
	z.have -= z.width
	return int(v & (1<<z.width - 1)), nil
}
