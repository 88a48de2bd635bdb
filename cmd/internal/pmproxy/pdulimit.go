package pmproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var errLargePDU = errors.New("PDU is too long")

// A pduLimit reads PDUs unchanged, and fails at the first PDU that is too long. It stops
// checking once the client speaks TLS with the collector: the first byte of a TLS record never
// begins the length of a PDU.
type pduLimit struct {
	r     io.Reader
	limit int

	head [4]byte
	have int  // bytes of head
	left int  // bytes left of the PDU
	raw  bool // TLS has begun
}

// Read implements io.Reader.
func (l *pduLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if lerr := l.look(p[:n]); lerr != nil {
		return 0, lerr
	}
	return n, err
}

func (l *pduLimit) look(b []byte) error {
	for len(b) > 0 && !l.raw {
		if l.left > 0 {
			n := min(l.left, len(b))
			l.left -= n
			b = b[n:]
			continue
		}
		if l.have == 0 && identify(b[0]) == speaksTLS {
			l.raw = true
			return nil
		}
		n := copy(l.head[l.have:], b)
		l.have += n
		b = b[n:]
		if l.have < len(l.head) {
			return nil
		}
		size := binary.BigEndian.Uint32(l.head[:])
		if uint64(size) > uint64(l.limit) || size < uint32(len(l.head)) {
			return fmt.Errorf("%w: %d bytes, at most %d", errLargePDU, size, l.limit)
		}
		l.left, l.have = int(size)-len(l.head), 0
	}
	return nil
}
