package compressed

import "io"

// aheadBuffers is the number of buffers of aheadSize filled ahead.
const (
	aheadBuffers = 4
	aheadSize    = 256 << 10
)

// A readAhead reads from another reader in a goroutine while earlier bytes are
// used.
type readAhead struct {
	full chan []byte // closed after the last one
	free chan []byte
	quit chan struct{}
	err  error // valid when full is closed

	buf, rest []byte // the buffer in use, and its unread part
}

// newReadAhead reads from r until stop is called.
func newReadAhead(r io.Reader) *readAhead {
	a := &readAhead{
		full: make(chan []byte, aheadBuffers),
		free: make(chan []byte, aheadBuffers),
		quit: make(chan struct{}),
	}
	for range aheadBuffers {
		a.free <- make([]byte, aheadSize)
	}
	go a.run(r)
	return a
}

func (a *readAhead) run(r io.Reader) {
	defer close(a.full)
	for {
		var buf []byte
		select {
		case buf = <-a.free:
		case <-a.quit:
			return
		}
		select {
		case <-a.quit: // takes precedence over free
			return
		default:
		}
		buf = buf[:aheadSize]
		n := 0
		for n < len(buf) && a.err == nil {
			var k int
			k, a.err = r.Read(buf[n:])
			n += k
		}
		if n > 0 {
			a.full <- buf[:n] // which has room for all buffers
		}
		if a.err != nil {
			return
		}
	}
}

// stop waits until r is no longer used.
func (a *readAhead) stop() {
	close(a.quit)
	for range a.full {
	}
}

func (a *readAhead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.buf != nil {
			a.free <- a.buf
			a.buf = nil
		}
		buf, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.buf, a.rest = buf, buf
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
