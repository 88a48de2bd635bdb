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

// Protocols of clients, identified by their first byte.
type speaks int

const (
	speaksNothing speaks = iota // unknown protocol
	speaksPCP
	speaksHTTP
	speaksTLS
	speaksKeys // RESP, of key servers
)

// identify returns the protocol of a connection by its first byte (server.c:
// client_protocol). All HTTP methods begin with a capital letter.
func identify(first byte) speaks {
	switch {
	case first == 'p':
		return speaksPCP
	case 'A' <= first && first <= 'Z':
		return speaksHTTP
	case 0x14 <= first && first <= 0x18: // TLS record types
		return speaksTLS
	case strings.IndexByte("-+:,$*#%~", first) >= 0:
		return speaksKeys
	}
	return speaksNothing
}

// A conn is a client's connection whose first byte has been examined. Each
// piece of a write has a time limit, so that a client that stops reading is
// disconnected, while a slow reader is served.
type conn struct {
	net.Conn // below TLS

	s      *Server
	stream net.Conn // Conn, or TLS over it
	tls    *tls.Conn
	speaks speaks // set by identify

	buf  [256]byte
	pend []byte // bytes of buf that are read but not yet returned

	closed sync.Once
}

func newConn(s *Server, nc net.Conn) *conn { return &conn{Conn: nc, s: s, stream: nc} }

// from describes the client, for the log.
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

// identify reads the first byte, inside TLS if the client begins with TLS. One
// time limit covers all of it.
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

// peek returns the first byte without consuming it.
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

// Read returns the client's bytes, from the first on.
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

// Close closes the connection; it can be called more than once.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closed.Do(func() {
		if c.tls != nil {
			err = c.tls.Close() // which has its own time limit for the last record
		} else {
			err = c.Conn.Close()
		}
		c.s.forget(c)
	})
	return err
}

// closeWrite closes the write side; the client can still send.
func (c *conn) closeWrite() error { return closeWrite(c.stream) }

func closeWrite(nc net.Conn) error {
	if h, ok := nc.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nc.Close()
}

// A prefixed connection returns its prefix before the bytes read from the connection.
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
