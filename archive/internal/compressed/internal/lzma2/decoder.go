package lzma2

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxChunk is the maximum length of the contents of a chunk.
const MaxChunk = 1 << 21

// maxPacked is the maximum length of a compressed chunk.
const maxPacked = 1 << 16

// slack is more than the bytes that one symbol can take: one for each of its
// bits, which are 1+1 (match), 2+8 (length), 6+26+4 (distance) at most. So the
// end of the input must be checked only once per symbol.
const slack = 64

var errFormat = errors.New("lzma2: bad data")

func errf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errFormat, fmt.Sprintf(format, args...))
}

type input [maxPacked + slack]byte

// A Decoder decodes one sequence of chunks. Its zero value needs a Reset.
type Decoder struct {
	r    *bufio.Reader
	dict int // size of the dictionary

	started   bool // a chunk has reset the dictionary
	haveProps bool
	packed    bool // the chunk is compressed
	left      int  // bytes of the chunk still to come
	reach     int  // number of bytes of the dictionary without its limit
	ended     bool
	head      [4]byte

	lc, lp, pb uint32

	// The range coder and its input.
	rng, code uint32
	ip, end   int
	in        input

	state uint32
	rep   [4]uint32 // distances - 1
	probs probs
}

// Reset makes the decoder read from r, with a dictionary of a size. It reads
// ahead.
func (d *Decoder) Reset(r io.Reader, dict int) {
	if d.r == nil {
		d.r = bufio.NewReaderSize(r, 16<<10)
	} else {
		d.r.Reset(r)
	}
	d.dict, d.started, d.haveProps, d.packed, d.left, d.reach, d.ended = dict, false, false, false, 0, 0, false
}

// Buffered returns the number of bytes read ahead: after Next has returned
// [io.EOF], the input that does not belong to the decoder.
func (d *Decoder) Buffered() int { return d.r.Buffered() }

// Decode decodes until there are want bytes in buf, or up to a whole chunk
// more; they must fit. The first n bytes of buf are those decoded before, of
// which only as many as the dictionary has are needed. Decode may write to buf
// from n up to the number of bytes given by Next, also beyond the returned
// length. The error is [io.EOF] if the contents end before want.
func (d *Decoder) Decode(buf []byte, n, want int) (int, error) {
	want = min(want, len(buf))
	for n < want {
		left, err := d.Next()
		if err != nil {
			return n, err
		}
		if left > len(buf)-n {
			return n, errf("chunk of %d bytes where %d are expected", left, len(buf)-n)
		}
		got := 0
		if d.packed {
			got, err = d.run(buf[:n+left], n, want)
			got -= n
		} else {
			got, err = io.ReadFull(d.r, buf[n:n+left])
			err = eof(err)
		}
		n += got
		d.left -= got
		d.reach += got
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Next returns the number of bytes still to come of the current chunk, or else of
// the next one. The error is [io.EOF] if there are no more.
func (d *Decoder) Next() (int, error) {
	if d.left > 0 {
		return d.left, nil
	}
	if d.ended {
		return 0, io.EOF
	}
	control, err := d.r.ReadByte()
	if err != nil {
		return 0, eof(err)
	}
	if control == 0 {
		d.ended = true
		return 0, io.EOF
	}
	if control > 2 && control < 0x80 {
		return 0, errf("chunk of type %#x", control)
	}
	if control == 1 || control >= 0xe0 {
		d.started, d.haveProps, d.reach = true, false, 0
	} else if !d.started {
		return 0, errf("starts with a chunk of type %#x", control)
	}
	b := &d.head
	d.packed = control >= 0x80
	if !d.packed {
		if _, err := io.ReadFull(d.r, b[:2]); err != nil {
			return 0, eof(err)
		}
		d.left = int(b[0])<<8 + int(b[1]) + 1
		return d.left, nil
	}
	if _, err := io.ReadFull(d.r, b[:]); err != nil {
		return 0, eof(err)
	}
	switch {
	case control >= 0xc0:
		p, err := d.r.ReadByte()
		if err != nil {
			return 0, eof(err)
		}
		if p >= 9*5*5 {
			return 0, errf("properties %#x", p)
		}
		d.lc, d.lp, d.pb = uint32(p%9), uint32(p/9%5), uint32(p/45)
		if d.lc+d.lp > 4 {
			return 0, errf("properties %#x", p)
		}
		d.haveProps = true
		d.anew()
	case !d.haveProps:
		return 0, errf("no properties before a chunk of type %#x", control)
	case control >= 0xa0:
		d.anew()
	}
	d.end = int(b[2])<<8 + int(b[3]) + 1
	if d.end < 5 {
		return 0, errf("compressed chunk of %d bytes", d.end)
	}
	if _, err := io.ReadFull(d.r, d.in[:d.end]); err != nil {
		return 0, eof(err)
	}
	if d.in[0] != 0 {
		return 0, errf("compressed chunk starts with %#x", d.in[0])
	}
	d.rng = 1<<32 - 1
	d.code = uint32(d.in[1])<<24 | uint32(d.in[2])<<16 | uint32(d.in[3])<<8 | uint32(d.in[4])
	d.ip = 5
	d.left = int(control&0x1f)<<16 + int(b[0])<<8 + int(b[1]) + 1
	return d.left, nil
}

// End reports whether the contents and the input end at Decode's position.
func (d *Decoder) End() error {
	if left, err := d.Next(); err == nil {
		return errf("%d bytes more than expected", left)
	} else if err != io.EOF {
		return err
	}
	if _, err := d.r.Peek(1); err != io.EOF {
		if err == nil {
			err = errf("bytes after the end")
		}
		return err
	}
	return nil
}

// eof makes the end of the input an error.
func eof(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
