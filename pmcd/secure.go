package pmcd

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// insistent returns a copy of cfg that requires a client's certificate.
func insistent(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		return nil
	}
	cfg = cfg.Clone()
	cfg.ClientAuth = tls.RequireAndVerifyClientCert
	if choose := cfg.GetConfigForClient; choose != nil {
		cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			return insistent(chosen), err
		}
	}
	return cfg
}

// remote reports whether c connects from another host, judging by its address.
func (c *client) remote() bool {
	if c.unix {
		return false
	}
	addr, ok := c.conn.RemoteAddr().(*net.TCPAddr)
	return !ok || !addr.IP.IsLoopback()
}

// secure begins TLS if the client wants it. It confirms that to the client first
// if the client asks for it.
func (c *client) secure(wanted wire.Features) error {
	if wanted&wire.FeatureSecure == 0 {
		if c.s.entry.requireCert && c.remote() {
			return c.refuse(fmt.Errorf("client does not want TLS: %w", pcp.ErrNeedClientCert))
		}
		return nil
	}
	cfg := c.s.entry.tlsFor(wanted)
	ack := wanted&wire.FeatureSecureAck != 0
	// The Unix socket already identifies the client. PCP's library then does not
	// begin TLS (secureconnect.c: __pmSecureClientHandshake).
	known := c.unix && wanted&wire.FeatureCredsReqd != 0
	if cfg == nil {
		if ack {
			if err := c.send(&wire.Error{Code: pcp.ErrNotConn}); err != nil {
				return err
			}
		}
		return c.refuse(fmt.Errorf("client wants TLS, which was not offered: %w", pcp.ErrNotConn))
	}
	if c.shaken {
		return c.refuse(fmt.Errorf("client wants TLS, after its handshake: %w", pcp.ErrIPC))
	}
	if ack {
		if err := c.send(&wire.Error{}); err != nil {
			return err
		}
	}
	if known {
		return nil
	}
	under := &recordConn{Conn: c.conn, client: &c.rd, first: c.pdus.Take()}
	under.expelled = func() bool { return c.admission.ended() != nil }
	stream := tls.Server(under, cfg)
	c.stream, c.rd.conn = stream, stream
	// All of the handshake has one time limit, in both directions.
	if err := c.conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	if err := stream.Handshake(); err != nil {
		if len(under.alert) == alertSize {
			err = fmt.Errorf("client refuses: %w", tls.AlertError(under.alert[1]))
		}
		return &tlsError{err}
	}
	c.writeEnd = 0 // its deadline must be moved
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	under.limited = true
	return nil
}

// A tlsError is a failure to begin TLS. Only TLS itself can report it to the
// client.
type tlsError struct{ err error }

func (e *tlsError) Error() string   { return "TLS: " + e.err.Error() }
func (e *tlsError) Unwrap() []error { return []error{pcp.ErrTLS, e.err} }

// A recordConn is a connection below TLS. A client may take as long as it
// likes to begin a record, but not to finish it: the limit is that of PDUs.
type recordConn struct {
	net.Conn
	client   *clientReader // above TLS
	expelled func() bool   // by new access rules, which set a deadline as a signal
	first    []byte        // the bytes that had been read too early
	limited  bool          // the handshake is over
	end      time.Time     // the time limit of the record, zero if there is none
	writeEnd time.Time     // when the time limit of writes is moved next

	header [5]byte // of the record that has begun
	got    int     // how much of header is here
	left   int     // how much of the record is missing after its header
	alert  []byte  // the contents of a record of that type in the clear
}

// limit sets the time limit of a record that has begun, and removes it at its
// end. A PDU that has begun has its own limit.
func (r *recordConn) limit() error {
	switch inside := r.inside(); {
	case !r.limited:
	case !inside && r.end.IsZero():
	case r.client.set:
		if !inside {
			r.end = time.Time{}
		}
	case inside:
		if r.end.IsZero() {
			r.end = time.Now().Add(pduTimeout)
		}
		return r.SetReadDeadline(r.end)
	default:
		r.end = time.Time{}
		if err := r.SetReadDeadline(r.end); err != nil {
			return err
		}
		if r.expelled() { // whose deadline may just have been removed
			return os.ErrDeadlineExceeded
		}
	}
	return nil
}

// Part of TLS (RFC 8446); do not change.
const (
	recordAlert = 21
	alertSize   = 2
)

// inside reports whether the first part of a record has been read, not all of it.
func (r *recordConn) inside() bool { return r.got > 0 }

// saw follows records.
func (r *recordConn) saw(b []byte) {
	for len(b) > 0 {
		if r.got < len(r.header) {
			n := copy(r.header[r.got:], b)
			r.got += n
			b = b[n:]
			if r.got < len(r.header) {
				return
			}
			r.left = int(binary.BigEndian.Uint16(r.header[3:]))
		}
		n := min(r.left, len(b))
		// OpenSSL refuses a certificate of TLS 1.3 in the clear, which to
		// crypto/tls is a record that was tampered with.
		if r.header[0] == recordAlert && binary.BigEndian.Uint16(r.header[3:]) == alertSize && len(r.alert) < alertSize {
			r.alert = append(r.alert, b[:n]...)
		}
		r.left -= n
		b = b[n:]
		if r.left == 0 {
			r.got = 0
		}
	}
}

func (r *recordConn) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		r.saw(p[:n])
		return n, nil
	}
	if err := r.limit(); err != nil {
		return 0, err
	}
	n, err := r.Conn.Read(p)
	r.saw(p[:n])
	return n, err
}

// Write moves the time limit of writes, once a second: TLS answers an update of
// keys while it reads, when the last reply may be long ago.
func (r *recordConn) Write(p []byte) (int, error) {
	if r.limited {
		if now := time.Now(); !now.Before(r.writeEnd) {
			r.writeEnd = now.Add(time.Second)
			if err := r.SetWriteDeadline(now.Add(pduTimeout + time.Second)); err != nil {
				return 0, err
			}
		}
	}
	return r.Conn.Write(p)
}
