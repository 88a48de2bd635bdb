package archive

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
)

// A VolumeReader reads the records of one volume, forwards and backwards.
type VolumeReader struct {
	w       window
	version int
	label   int64 // where the records start
	off     int64 // start of the next record forwards, end of the next one backwards
	size    int64 // of the file; backwards no record begins after it
	stuck   int64 // after an error: position of the C library
	body    []byte
}

// NewVolumeReader reads the label from r and starts behind it. Size is that of
// the file; it may grow, see SetSize.
func NewVolumeReader(r io.ReaderAt, size int64) (*VolumeReader, Label, error) {
	b := make([]byte, labelSize3)
	n, err := r.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return nil, Label{}, err
	}
	label, err := DecodeLabel(b[:n])
	if err != nil {
		return nil, Label{}, fmt.Errorf("offset 0: %w", err)
	}
	v := &VolumeReader{w: window{r: r}, version: label.Version, size: size}
	v.label = int64(LabelSize(label.Version))
	v.off = v.label
	return v, label, nil
}

// SeekTo moves to an offset, which must be that of a record, or to the end of one.
func (v *VolumeReader) SeekTo(off int64) { v.off = off }

// setSize sets the size of a file that has grown.
func (v *VolumeReader) setSize(size int64) {
	v.size = size
	v.w.drop()
}

// Body returns the contents of the last record read, without its length words.
func (v *VolumeReader) Body() []byte { return v.body }

// Next decodes the next record into res, whose strings are valid until the next
// call; io.EOF at the end, where it stays, so that the caller can try again on a
// growing file. Fewer than the 4 bytes of a length word count as the end too.
// After any other error the position is that of the bad record.
func (v *VolumeReader) Next(res *pcp.Result) error {
	if err := v.next(); err != nil {
		return err
	}
	return v.decode(res, Forward)
}

// decode decodes the record found in a direction, and moves behind it.
func (v *VolumeReader) decode(res *pcp.Result, dir Direction) error {
	behind := v.off + int64(dir)*(int64(len(v.body))+frame)
	v.stuck = behind
	if err := DecodeResult(res, v.body, v.version); err != nil {
		return v.errorf(v.off, "%w", err)
	}
	v.off = behind
	return nil
}

// next finds the record at off.
func (v *VolumeReader) next() error {
	v.stuck = v.off
	head, err := v.w.at(v.off, 4, false)
	if err != nil {
		return err
	}
	if len(head) < 4 {
		return io.EOF
	}
	n := int64(int32(binary.BigEndian.Uint32(head)))
	if n < frame {
		v.stuck += 4
		return v.errorf(v.off, "record of %d bytes: %w", n, pcp.ErrLogRec)
	}
	b, err := v.w.at(v.off, n, false)
	if err != nil {
		return err
	}
	if int64(len(b)) < n {
		return v.errorf(v.off, "record of %d bytes, of which there are %d: %w", n, len(b), errShort)
	}
	if tail := int64(int32(binary.BigEndian.Uint32(b[n-4:]))); tail != n {
		v.stuck += n
		return v.errorf(v.off, "record starts with length %d and ends with %d: %w", n, tail, pcp.ErrLogRec)
	}
	v.body = b[4 : n-4 : n-4]
	return nil
}

// Prev decodes the record before the position and moves to its start; io.EOF
// at the label.
func (v *VolumeReader) Prev(res *pcp.Result) error {
	if err := v.prev(); err != nil {
		return err
	}
	return v.decode(res, Backward)
}

func (v *VolumeReader) prev() error {
	if v.off <= v.label {
		return io.EOF
	}
	v.stuck = v.off
	tail, err := v.w.at(v.off-4, 4, true)
	if err != nil {
		return err
	}
	if len(tail) < 4 {
		return v.errorf(v.off, "no record ends here: %w", errShort)
	}
	n := int64(int32(binary.BigEndian.Uint32(tail)))
	if n < frame || n > v.off {
		return v.errorf(v.off, "record of %d bytes ends here: %w", n, pcp.ErrLogRec)
	}
	b, err := v.w.at(v.off-n, n, true)
	if err != nil {
		return err
	}
	if int64(len(b)) < n {
		return v.errorf(v.off, "record of %d bytes ends here: %w", n, errShort)
	}
	if head := int64(int32(binary.BigEndian.Uint32(b))); head != n {
		v.stuck += 4 - n
		return v.errorf(v.off-n, "record starts with length %d and ends with %d: %w", head, n, pcp.ErrLogRec)
	}
	v.body = b[4 : n-4 : n-4]
	return nil
}

func (v *VolumeReader) errorf(off int64, format string, args ...any) error {
	return fmt.Errorf("offset %d: %w", off, fmt.Errorf(format, args...))
}

// A window is a part of a file in memory.
type window struct {
	r    io.ReaderAt
	buf  []byte
	off  int64 // of buf in the file
	size int64 // bytes to read at once, 0 for windowSize
}

// windowSize is the default number of bytes to read at once.
const windowSize = 512 << 10

func (w *window) drop() { w.buf = w.buf[:0] }

// restSize is the number of bytes to read at once after rest.
const restSize = 32 << 10

// rest releases the memory. The next bytes are read in small pieces.
func (w *window) rest() { w.buf, w.size = nil, restSize }

// at returns n bytes at off, fewer where the file ends. They are valid until
// the next call that finds its bytes outside of the window. The window is placed
// so that the next bytes are in it: behind off, or with back before off+n.
func (w *window) at(off, n int64, back bool) ([]byte, error) {
	if i := off - w.off; i >= 0 && i+n <= int64(len(w.buf)) {
		return w.buf[i : i+n], nil
	}
	size := w.size
	if size == 0 {
		size = windowSize
	}
	start, want := off, max(n, size)
	if back {
		start = max(0, min(off, off+n-size))
		want = off + n - start
	}
	// Memory is allocated only as bytes arrive, not by the length that a record claims.
	w.off, w.buf = start, w.buf[:0]
	for step := int64(windowSize); int64(len(w.buf)) < want; step *= 2 {
		k := int(min(want-int64(len(w.buf)), step))
		if cap(w.buf)-len(w.buf) < k {
			grown := make([]byte, len(w.buf), len(w.buf)+k)
			copy(grown, w.buf)
			w.buf = grown
		}
		got, err := w.r.ReadAt(w.buf[len(w.buf):len(w.buf)+k], start+int64(len(w.buf)))
		w.buf = w.buf[:len(w.buf)+got]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			w.buf = w.buf[:0]
			return nil, err
		}
		if got < k {
			break
		}
	}
	i := off - start
	if i >= int64(len(w.buf)) {
		return nil, nil
	}
	return w.buf[i:min(i+n, int64(len(w.buf)))], nil
}
