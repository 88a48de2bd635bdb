package pmapi

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// errNothingYet is what a stream returns for a read that would have to wait.
var errNothingYet = fmt.Errorf("nothing has come yet: %w", os.ErrDeadlineExceeded)

// A stream is the connection of a host, with a mode that does not wait.
type stream struct {
	conn     net.Conn
	raw      syscall.RawConn // nil unless eager
	waitless bool            // reads do not wait

	// Of a call that does not wait; the functions are made once.
	read, write func(fd uintptr) bool
	b           []byte
	n           int
	err         error
}

// eager reports whether the stream can be used without waiting, and prepares for it.
func (s *stream) eager() bool {
	if s.raw != nil {
		return true
	}
	if !canTry {
		return false
	}
	switch conn := s.conn.(type) {
	case *net.TCPConn:
		s.raw, _ = conn.SyscallConn()
	case *net.UnixConn:
		s.raw, _ = conn.SyscallConn()
	}
	s.read = func(fd uintptr) bool {
		s.n, s.err = tryRead(fd, s.b)
		return true
	}
	s.write = func(fd uintptr) bool {
		s.n, s.err = tryWrite(fd, s.b)
		return true
	}
	return s.raw != nil
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	if !s.waitless {
		return s.conn.Read(b)
	}
	return s.try(s.raw.Read, s.read, b)
}

// Write implements io.Writer. It waits only for bytes that cannot be written at
// once.
func (s *stream) Write(b []byte) (int, error) {
	if s.raw == nil {
		return s.conn.Write(b)
	}
	n, err := s.try(s.raw.Write, s.write, b)
	if err == nil && n < len(b) {
		var more int
		more, err = s.conn.Write(b[n:])
		n += more
	}
	return n, err
}

// try makes a call that does not wait.
func (s *stream) try(with func(func(fd uintptr) bool) error, call func(fd uintptr) bool, b []byte) (int, error) {
	s.b = b
	err := with(call)
	s.b = nil
	if err != nil {
		return 0, err
	}
	return s.n, s.err
}
