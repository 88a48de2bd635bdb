package compressed

import "io"

// An xzStream reads a file in the .xz format from its start to its end. It
// needs memory for the dictionary, however large the blocks are.
type xzStream struct {
	*xzIndex
	next int // block
	dec  xzDecoder
	open bool
	buf  []byte
	r, n int // the bytes to return, in buf
	err  error
}

func (s *xzStream) Read(p []byte) (int, error) {
	for s.r == s.n {
		if s.err == nil {
			s.err = s.more()
		}
		if s.err != nil {
			return 0, s.err
		}
	}
	n := copy(p, s.buf[s.r:s.n])
	s.r += n
	return n, nil
}

// more decodes some bytes after all others have been returned.
func (s *xzStream) more() error {
	if !s.open {
		for s.next < len(s.blocks) && s.blocks[s.next].length == 0 {
			s.next++
		}
		if s.next == len(s.blocks) {
			return io.EOF
		}
		if err := s.dec.open(s.f, &s.blocks[s.next]); err != nil {
			return err
		}
		s.next++
		s.open, s.r, s.n = true, 0, 0
	}
	room, err := s.dec.room()
	if err != nil {
		return err
	}
	if len(s.buf)-s.n < room {
		keep := min(s.n, s.dec.dict)
		size := int64(len(s.buf))
		if int64(keep+room) > size-size/4 {
			// Grows with the contents, such that moves are few.
			size = min(max(2*int64(keep+room), 1<<20), max(int64(keep+room), int64(s.dec.dict)*3/2+4<<20))
		}
		to := s.buf
		if size > int64(len(s.buf)) {
			to = make([]byte, size)
		}
		copy(to, s.buf[s.n-keep:s.n])
		s.buf, s.n = to, keep
	}
	s.r = s.n
	if s.n, err = s.dec.step(s.buf[:s.n+room], s.n); err != nil {
		return err
	}
	s.open = s.dec.done < s.dec.b.length
	return nil
}
