package pmproxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// What a client speaks, by its first byte.
type speaks int

const (
	speaksNothing speaks = iota // that is known here
	speaksPCP
	speaksHTTP
	speaksTLS
	speaksKeys // RESP, of key servers
)

// identify tells protocols apart by the first byte of a connection
// (server.c: client_protocol). All methods of HTTP begin with a capital letter.
func identify(first byte) speaks {
	switch {
	case first == 'p':
		return speaksPCP
	case 'A' <= first && first <= 'Z':
		return speaksHTTP
	case 0x14 <= first && first <= 0x18: // types of records of TLS
		return speaksTLS
	case strings.IndexByte("-+:,$*#%~", first) >= 0:
		return speaksKeys
	}
	return speaksNothing
}

// A conn is a connection of a client whose first byte has been looked at. Its
// writes have a time limit for each piece, so that a client that does not read
// is dropped, while one that reads slowly is served.
type conn struct {
	net.Conn // below TLS

	s      *Server
	stream net.Conn // Conn, or TLS above it
	tls    *tls.Conn
	speaks speaks // what identify found

	buf  [256]byte
	pend []byte // of buf, read and not taken yet

	closed sync.Once
}

func newConn(s *Server, nc net.Conn) *conn { return &conn{Conn: nc, s: s, stream: nc} }

// from is who the client is, for the log.
func (c *conn) from() string {
	if a := c.Conn.RemoteAddr(); a != nil && a.String() != "" && a.String() != "@" {
		return a.String()
	}
	return "a Unix socket"
}

var (
	errUnknown = errors.New("the first byte is of no protocol that is known")
	errNoTLS   = errors.New("client speaks TLS, which is not configured")
)

// identify reads the first byte, within TLS if the client begins that. All of it
// has one time limit.
func (c *conn) identify(cfg *tls.Config) (speaks, error) {
	if err := c.Conn.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return speaksNothing, err
	}
	kind, err := c.peek()
	if err != nil {
		return kind, err
	}
	if kind == speaksTLS {
		if cfg == nil {
			return kind, errNoTLS
		}
		c.tls = tls.Server(&prefixed{Conn: c.Conn, first: append([]byte(nil), c.pend...)}, cfg)
		c.pend = nil
		if err := c.tls.Handshake(); err != nil {
			return kind, fmt.Errorf("TLS: %w", err)
		}
		c.stream = c.tls
		if kind, err = c.peek(); err != nil {
			return kind, err
		}
		if kind == speaksTLS {
			kind = speaksNothing
		}
	}
	if kind == speaksNothing {
		return kind, fmt.Errorf("%w: %#x", errUnknown, c.pend[0])
	}
	c.speaks = kind
	return kind, c.Conn.SetDeadline(time.Time{})
}

// peek looks at the first byte.
func (c *conn) peek() (speaks, error) {
	n, err := c.stream.Read(c.buf[:])
	if n == 0 {
		if err == nil {
			err = errUnknown
		}
		return speaksNothing, err
	}
	c.pend = c.buf[:n]
	return identify(c.buf[0]), nil
}

// Read returns what the client sent, from the first byte on.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.pend) == 0 {
		if len(p) >= len(c.buf) || len(p) == 0 {
			return c.stream.Read(p)
		}
		n, err := c.stream.Read(c.buf[:])
		if n == 0 {
			return 0, err
		}
		c.pend = c.buf[:n]
	}
	n := copy(p, c.pend)
	c.pend = c.pend[n:]
	return n, nil
}

// Write sends p in pieces, each within its time limit.
func (c *conn) Write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(n+writeChunk, len(p))]
		if err := c.Conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return n, err
		}
		m, err := c.stream.Write(piece)
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Close closes the connection; more than once does no harm.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closed.Do(func() {
		if c.tls != nil {
			err = c.tls.Close() // which limits the time for its last record
		} else {
			err = c.Conn.Close()
		}
		c.s.forget(c)
	})
	return err
}

// closeWrite ends what the client is sent, while it can go on sending.
func (c *conn) closeWrite() error { return closeWrite(c.stream) }

func closeWrite(nc net.Conn) error {
	if h, ok := nc.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nc.Close()
}

// A prefixed connection has bytes before what is read from it.
type prefixed struct {
	net.Conn
	first []byte
}

func (c *prefixed) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
