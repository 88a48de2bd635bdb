package wire

import (
	"fmt"
	"io"
	"slices"

	"github.com/go-pcp/pcp"
)

// Sizes of a Reader's buffer.
const (
	readerNew  = 512     // at first: many clients make only a few short requests
	readerMin  = 2048    // once a read filled that
	readerKeep = 1 << 16 // above this, memory is released after readerIdle small PDUs
	readerIdle = 64
)

// A Reader reads PDUs from a stream. It reads as much as the stream has, so that
// a PDU usually costs one read, as do PDUs that arrive together. The owner of the
// stream sets its time limits.
type Reader struct {
	// Max is the longest PDU accepted, header included; 0 means MaxInbound.
	Max int

	r        io.Reader
	buf      []byte // buf[off:] has been read and not returned
	off      int
	err      error // of the stream or a bad header; follows the bytes in buf
	bad      bool  // err is the header's
	oversize int   // number of PDUs in a row that used little of buf
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next reads one PDU and returns its header and body. The body is valid until
// the next call. At the end of the stream between PDUs the error is io.EOF; in
// the middle of one io.ErrUnexpectedEOF. A bad header wraps pcp.ErrIPC, a PDU
// above Max pcp.ErrTooBig; after either the stream cannot be used further.
//
// Any other error is that of the stream and loses no bytes: after a deadline,
// Next may be called again.
func (r *Reader) Next() (Header, []byte, error) {
	if r.bad {
		return Header{}, nil, r.err
	}
	r.release()
	if err := r.fill(HeaderSize); err != nil {
		return Header{}, nil, err
	}
	h, _ := ParseHeader(r.buf[r.off:])
	limit := r.Max
	if limit <= 0 {
		limit = MaxInbound
	}
	switch {
	case h.Len < HeaderSize:
		r.bad, r.err = true, fmt.Errorf("read PDU: header with a length of %d: %w", h.Len, pcp.ErrIPC)
		return h, nil, r.err
	case uint64(h.Len) > uint64(limit):
		r.bad, r.err = true, fmt.Errorf("read %v PDU: %d bytes where %d are accepted: %w", h.Type, h.Len, limit, pcp.ErrTooBig)
		return h, nil, r.err
	}
	if err := r.fill(int(h.Len)); err != nil {
		return h, nil, err
	}
	body := r.buf[r.off+HeaderSize : r.off+int(h.Len) : r.off+int(h.Len)]
	r.off += int(h.Len)
	return h, body, nil
}

// Buffered returns the number of bytes read from the stream for PDUs that Next
// has not returned.
func (r *Reader) Buffered() int { return len(r.buf) - r.off }

// Take returns a copy of the bytes counted by Buffered, and drops them: they are
// the first bytes of the next protocol on the stream, such as TLS.
func (r *Reader) Take() []byte {
	b := slices.Clone(r.buf[r.off:])
	r.buf, r.off = r.buf[:0], 0
	return b
}

// Rest releases the memory for further PDUs, unless a part of one has arrived.
func (r *Reader) Rest() {
	if r.Buffered() == 0 {
		r.buf, r.off, r.oversize = nil, 0, 0
	}
}

// Detach gives the body last returned by Next to the caller to keep.
func (r *Reader) Detach() {
	rest := r.buf[r.off:]
	r.buf, r.off = nil, 0
	if len(rest) > 0 {
		r.buf = slices.Clone(rest)
	}
}

// release releases the memory of the last PDU, and that of a long one after a
// while without another.
func (r *Reader) release() {
	if cap(r.buf) > readerKeep {
		if r.oversize++; r.off > cap(r.buf)/4 {
			r.oversize = 0
		}
	}
	if r.off == len(r.buf) {
		if r.filled() {
			r.buf = make([]byte, 0, readerMin)
		}
		r.buf, r.off = r.buf[:0], 0
		if r.oversize > readerIdle {
			r.buf, r.oversize = nil, 0
		}
	}
}

// filled reports whether a read filled the initial buffer, so that there may be
// more.
func (r *Reader) filled() bool {
	return len(r.buf) == cap(r.buf) && 0 < cap(r.buf) && cap(r.buf) < readerMin
}

// fill reads until it has n bytes. It takes memory as they arrive, not by the
// length in a header: at most twice the bytes received.
func (r *Reader) fill(n int) error {
	for idle := 0; r.Buffered() < n; {
		if r.err != nil {
			err := r.err
			if err == io.EOF {
				if r.Buffered() > 0 {
					err = io.ErrUnexpectedEOF
				}
			} else {
				r.err = nil
			}
			return err
		}
		if r.off > 0 && (cap(r.buf)-r.off < n || len(r.buf) == cap(r.buf)) {
			to := r.buf[:0]
			if r.filled() {
				to = make([]byte, 0, readerMin)
			}
			r.buf, r.off = append(to, r.buf[r.off:]...), 0
		}
		switch {
		case r.buf == nil && n <= readerNew:
			r.buf = make([]byte, 0, readerNew)
		case len(r.buf) == cap(r.buf):
			if len(r.buf) < readerKeep || n < len(r.buf) {
				r.buf = slices.Grow(r.buf, max(readerMin, min(cap(r.buf), n-cap(r.buf))))
				break
			}
			// A long PDU: sizes double, and the last fits exactly.
			size := n
			for size > 2*len(r.buf) {
				size = size/2 + 1
			}
			r.buf = append(make([]byte, 0, size), r.buf...)
		}
		got, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+got]
		r.err = err
		if got > 0 {
			idle = 0
		} else if idle++; err == nil && idle >= 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}
