package trace

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/trace"
)

const (
	// readSize is the number of bytes of one connection read at a time, whose records are processed under one
	// lock.
	readSize = 16 << 10
	// socketBuffer is the number of bytes that the system buffers for one connection. Programs of libpcp_trace end their
	// connections so that the bytes still on their side are lost.
	socketBuffer = 1 << 20
	// ackTimeout is the time limit for a client to read its acknowledgements.
	ackTimeout = 10 * time.Second
	// acceptPause is the time that the agent waits after it could not accept a connection, for example for
	// lack of descriptors.
	acceptPause = 100 * time.Millisecond
)

// accept serves all connections, until the listener is closed.
func (a *Agent) accept() {
	for {
		conn, err := a.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			a.log.Error("connection cannot be accepted", "err", err)
			time.Sleep(acceptPause)
			continue
		}
		status := a.admit(conn)
		if status == errEnding {
			conn.Close()
			return
		}
		a.serving.Go(func() { a.serve(conn, status) })
	}
}

const errEnding = trace.ErrIPC

// admit counts a new connection, or returns why it is refused.
func (a *Agent) admit(conn net.Conn) trace.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errEnding
	}
	full := len(a.clients) >= a.limit
	a.clients[conn] = struct{}{}
	if full {
		return trace.ErrConnLimit
	}
	return 0
}

// serve greets a client and processes its records.
func (a *Agent) serve(conn net.Conn, status trace.Error) {
	defer func() {
		conn.Close()
		a.mu.Lock()
		delete(a.clients, conn)
		a.mu.Unlock()
	}()
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetReadBuffer(socketBuffer)
	}
	peer := conn.RemoteAddr().String()
	if status == 0 {
		admission, err := a.rules.Admit(conn.RemoteAddr(), false)
		switch {
		case errors.Is(err, pcp.ErrConnLimit):
			status = trace.ErrConnLimit
		case err != nil:
			status = trace.ErrPermission
		default:
			defer a.rules.Leave(admission)
		}
	}
	s := session{conn: conn, pid: os.Getpid()}
	if status != 0 {
		if a.verbose.Load() {
			a.log.Info("connection refused", "client", peer, "err", status)
		}
		s.ack(trace.Ack(status))
		s.flush()
		return
	}
	if a.verbose.Load() {
		a.log.Info("new connection", "client", peer)
	}
	s.ack(trace.Version)
	err := s.flush()
	r := trace.NewReader(conn, readSize)
	for err == nil {
		err = a.receive(r, &s)
		err = errors.Join(err, s.flush())
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		if a.verbose.Load() {
			a.log.Info("connection closed", "client", peer)
		}
	default:
		a.log.Error("connection closed", "client", peer, "err", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// receive waits for a record and processes it, with all others that have arrived.
func (a *Agent) receive(r *trace.Reader, s *session) error {
	typ, pdu, err := r.Next()
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	epoch := a.window.epoch(a.clock())
	for {
		if err := a.take(typ, pdu, epoch, s); err != nil {
			return err
		}
		if !r.Buffered() || len(s.out) >= readSize {
			return nil
		}
		if typ, pdu, err = r.Next(); err != nil {
			return err
		}
	}
}

// take processes one PDU. An unreadable PDU gets an answer, and ends the connection.
func (a *Agent) take(typ trace.PDUType, pdu []byte, epoch int64, s *session) error {
	if typ != trace.TypeData {
		s.ack(trace.Ack(trace.ErrIPC))
		return fmt.Errorf("PDU of type %#x where a record was expected: %w", uint32(typ), trace.ErrIPC)
	}
	if err := s.record.Decode(pdu); err != nil {
		code := trace.ErrIPC
		errors.As(err, &code)
		s.ack(trace.Ack(code))
		return err
	}
	ack := trace.Ack(s.record.Kind)
	if !a.window.add(epoch, &s.record) {
		if !a.full.Swap(true) {
			a.log.Error("too many tags; records of others are refused", "limit", MaxTags, "tag", string(s.record.Tag))
		}
		ack = -trace.Ack(syscall.ENOMEM)
	}
	if s.record.Sync {
		s.ack(ack)
	}
	return nil
}

// A session is a connection with its pending output.
type session struct {
	conn   net.Conn
	pid    int
	out    []byte
	record trace.Record
}

func (s *session) ack(a trace.Ack) { s.out = a.Append(s.out, s.pid) }

func (s *session) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	err := s.conn.SetWriteDeadline(time.Now().Add(ackTimeout))
	if err == nil {
		_, err = s.conn.Write(s.out)
	}
	s.out = s.out[:0]
	return err
}
