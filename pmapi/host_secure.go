package pmapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/wire"
)

// A TLSError is about something in tls.conf(5) that cannot be used, such as a
// certificate. [Dial] returns it in a [DialError].
type TLSError struct {
	Text string // the message of PCP's library
	Err  error  // more, or nil
}

// Error returns Text and the details.
func (e *TLSError) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *TLSError) Unwrap() error { return e.Err }

// A security is the use of TLS that a client wants. It does not change.
type security struct {
	enforced bool // no connection without it (PM_CTXFLAG_SECURE)
	relaxed  bool // with it where the collector has it (PM_CTXFLAG_RELAXED)
	config   *tls.Config
	settings *config.Config
}

// flags picks the features of TLS to ask of a collector that
// has the given ones (connect.c: check_feature_flags).
func (s *security) flags(features wire.Features, local bool) (wire.Features, error) {
	var flags wire.Features
	if features&wire.FeatureCertReqd != 0 && !local {
		if !s.enforced {
			return 0, fmt.Errorf("collector requires TLS with a certificate: %w", pcp.ErrNeedClientCert)
		}
		flags |= wire.FeatureCertReqd
	}
	if s.enforced || s.relaxed {
		if features&wire.FeatureSecure != 0 {
			flags |= features & (wire.FeatureSecure | wire.FeatureSecureAck)
		} else if s.enforced {
			return 0, fmt.Errorf("collector does not offer TLS: %w", errNotSupported)
		}
	}
	return flags, nil
}

// begin begins TLS if flags agreed on it. If the collector confirms that, begin
// first waits for it. If the collector requires credentials and the kernel gives
// it those of the client, neither side begins TLS (secureconnect.c:
// __pmSecureClientHandshake).
func (s *security) begin(p *pduConn, to *target, flags wire.Features, unix bool) error {
	if flags&wire.FeatureSecure == 0 {
		return nil
	}
	if flags&wire.FeatureSecureAck != 0 {
		if err := awaitAck(p); err != nil {
			return err
		}
	}
	if unix && flags&wire.FeatureCredsReqd != 0 {
		return nil
	}
	p.trace.tls("__pmInitSecureClients: entered")
	cfg, err := s.client(to.certName())
	if te, ok := errors.AsType[*tlsconf.Error](err); ok {
		err = &TLSError{te.Text, te.Err}
	}
	if err != nil {
		p.trace.tlsEnds(nil, err)
		return &DialError{Spec: to.given, Code: pcp.ErrNotConn, Err: err}
	}
	encrypted := tls.Client(&readAhead{Conn: p.conn, first: p.r.Take()}, cfg)
	p.trace.tlsBegins(p.conn)
	err = encrypted.Handshake()
	p.trace.tlsEnds(encrypted, err)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return newConnError(fmt.Errorf("TLS: %w", err))
		}
		return &connError{pcp.ErrTLS, err}
	}
	p.encrypt(pduRecords{encrypted})
	return nil
}

// A pduRecords writes each PDU as one separate record, or several. The C
// collector waits for its socket even if there is another PDU in the record
// that it has just read.
type pduRecords struct{ *tls.Conn }

func (c pduRecords) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n := len(b) - done
		if h, ok := wire.ParseHeader(b[done:]); ok && h.Len >= wire.HeaderSize && uint64(h.Len) < uint64(n) {
			n = int(h.Len)
		}
		n, err := c.Conn.Write(b[done : done+n])
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// awaitAck receives the collector's word that TLS can begin.
func awaitAck(p *pduConn) error {
	hdr, body, err := p.read()
	if err != nil {
		return err
	}
	if hdr.Type != wire.TypeError {
		return fmt.Errorf("PDU of type %v ahead of TLS: %w", hdr.Type, pcp.ErrIPC)
	}
	var ack wire.Error
	if err := ack.DecodeBody(body); err != nil {
		return err
	}
	if ack.Code < 0 {
		return ack.Code
	}
	return nil
}

// client returns the configuration of a connection to the host that a certificate names. Files are read
// each time, as certificates do not last as long as some programs run.
func (s *security) client(name string) (*tls.Config, error) {
	if cfg := s.config; cfg != nil {
		cfg = cfg.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName = name
		}
		return cfg, nil
	}
	file, err := tlsconf.ReadFile(tlsconf.Path(s.settings))
	if err != nil {
		// The collector uses the file too, and other users may not be allowed
		// to read it.
		file = new(tlsconf.File)
	}
	return file.Client(name, s.settings.Getenv)
}

// A readAhead is a connection with bytes that have already been read.
type readAhead struct {
	net.Conn
	first []byte
}

func (r *readAhead) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}
