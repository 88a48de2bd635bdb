package repair

import (
	"encoding/binary"
	"io"
	"sort"
)

// A Source is one file of an archive.
type Source struct {
	Name string // for reports
	Data io.ReaderAt
	Size int64

	// Next returns the first offset behind off from which Data may be readable again
	// after an error, or -1 if there is none. Nil means the next multiple of 4096.
	Next func(off int64) int64

	// End is the error at Size; nil if the file ends there. Broken is the error
	// if Data is nil.
	End, Broken error
}

// windowSize is the number of bytes of a file read at once.
const windowSize = 512 << 10

// An input reads a Source in windows. Bytes that cannot be read are zero, and
// known as a hole.
type input struct {
	*Source
	buf   []byte
	off   int64 // of buf in the file
	holes []span
	word  [4]byte
	err   error // the first one
}

// A span is a range of bytes, excluding to.
type span struct{ from, to int64 }

// at returns n bytes at an offset, fewer where the file ends, valid until the
// next call.
func (in *input) at(off, n int64) []byte {
	if off >= in.Size || in.Broken != nil {
		return nil
	}
	n = min(n, in.Size-off)
	if i := off - in.off; i >= 0 && i+n <= int64(len(in.buf)) {
		return in.buf[i : i+n]
	}
	want := min(max(n, windowSize), in.Size-off)
	if int64(cap(in.buf)) < want {
		in.buf = make([]byte, want)
	}
	in.buf, in.off = in.buf[:want], off
	in.fill(in.buf, off)
	return in.buf[:n]
}

// rest returns the bytes of the window from off on, at least n unless the file
// ends.
func (in *input) rest(off, n int64) []byte {
	if in.at(off, n) == nil {
		return nil
	}
	return in.buf[off-in.off:]
}

// fill reads len(b) bytes, all of which the file has.
func (in *input) fill(b []byte, off int64) {
	for len(b) > 0 {
		n := int64(len(b))
		i := sort.Search(len(in.holes), func(i int) bool { return in.holes[i].to > off })
		if i < len(in.holes) {
			if h := in.holes[i]; h.from <= off {
				n = min(n, h.to-off)
				clear(b[:n])
				b, off = b[n:], off+n
				continue
			} else {
				n = min(n, h.from-off)
			}
		}
		k, err := in.Data.ReadAt(b[:n], off)
		b, off = b[k:], off+int64(k)
		if k > 0 || n == 0 {
			continue // an error returns if it is about the next bytes
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		if in.err == nil {
			in.err = err
		}
		in.hole(off)
	}
}

// hole records that off cannot be read.
func (in *input) hole(off int64) {
	to := off&^4095 + 4096
	if in.Next != nil {
		to = in.Next(off)
	}
	if to <= off || to > in.Size {
		to = in.Size
	}
	i := sort.Search(len(in.holes), func(i int) bool { return in.holes[i].from >= off })
	if i > 0 && in.holes[i-1].to == off {
		in.holes[i-1].to = to
		return
	}
	in.holes = append(in.holes, span{})
	copy(in.holes[i+1:], in.holes[i:])
	in.holes[i] = span{off, to}
}

// torn reports whether any of n bytes at off could not be read.
func (in *input) torn(off, n int64) bool {
	i := sort.Search(len(in.holes), func(i int) bool { return in.holes[i].to > off })
	return i < len(in.holes) && in.holes[i].from < off+n
}

// readable returns the first offset from off on that is not in a hole.
func (in *input) readable(off int64) int64 {
	i := sort.Search(len(in.holes), func(i int) bool { return in.holes[i].to > off })
	if i < len(in.holes) && in.holes[i].from <= off {
		return in.holes[i].to
	}
	return off
}

// length returns the word at off, for which the window does not move.
func (in *input) length(off int64) (int64, bool) {
	if off < 0 || off+4 > in.Size {
		return 0, false
	}
	b := in.word[:]
	if i := off - in.off; i >= 0 && i+4 <= int64(len(in.buf)) {
		b = in.buf[i : i+4]
	} else {
		in.fill(b, off)
	}
	return int64(int32(binary.BigEndian.Uint32(b))), true
}
