package pmapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/go-pcp/pcp"
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

// secureFlags picks the features of TLS that are asked of a collector which
// has these (connect.c: check_feature_flags).
func (h *host) secureFlags(features wire.Features, local bool) (wire.Features, error) {
	var flags wire.Features
	if features&wire.FeatureCertReqd != 0 && !local {
		if !h.security.enforced {
			return 0, fmt.Errorf("collector requires TLS with a certificate: %w", pcp.ErrNeedClientCert)
		}
		flags |= wire.FeatureCertReqd
	}
	if h.security.enforced || h.security.relaxed {
		if features&wire.FeatureSecure != 0 {
			flags |= features & (wire.FeatureSecure | wire.FeatureSecureAck)
		} else if h.security.enforced {
			return 0, fmt.Errorf("collector does not offer TLS: %w", errNotSupported)
		}
	}
	return flags, nil
}

// secure begins TLS if flags agreed on it. If the collector confirms that, secure
// first waits for it. If the collector requires credentials and the kernel gives
// it those of the client, neither side begins TLS (secureconnect.c:
// __pmSecureClientHandshake).
func (h *host) secure(flags wire.Features, unix bool) error {
	if flags&wire.FeatureSecure == 0 {
		return nil
	}
	if flags&wire.FeatureSecureAck != 0 {
		if err := h.secureAck(); err != nil {
			return err
		}
	}
	if unix && flags&wire.FeatureCredsReqd != 0 {
		return nil
	}
	h.trace.tls("__pmInitSecureClients: entered")
	cfg, err := h.tlsConfig()
	if te, ok := errors.AsType[*tlsconf.Error](err); ok {
		err = &TLSError{te.Text, te.Err}
	}
	if err != nil {
		h.trace.tlsEnds(nil, err)
		return &DialError{Spec: h.given, Code: pcp.ErrNotConn, Err: err}
	}
	encrypted := tls.Client(&readAhead{Conn: h.conn, first: h.r.Take()}, cfg)
	h.trace.tlsBegins(h.conn)
	err = encrypted.Handshake()
	h.trace.tlsEnds(encrypted, err)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return newConnError(fmt.Errorf("TLS: %w", err))
		}
		return &connError{pcp.ErrTLS, err}
	}
	h.mu.Lock()
	h.conn = pduRecords{encrypted}
	h.mu.Unlock()
	h.stream = &stream{conn: h.conn}
	h.r = wire.NewReader(h.stream)
	h.r.Max = wire.MaxPDU
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

// secureAck receives the collector's word that TLS can begin.
func (h *host) secureAck() error {
	hdr, body, err := h.read()
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

// tlsConfig returns what a connection is to use. Files are read each time, for
// certificates do not last as long as some programs run.
func (h *host) tlsConfig() (*tls.Config, error) {
	name := h.spec.Hosts[0].Name
	if name == "" || name[0] == '/' || strings.HasPrefix(name, "local") {
		if own, err := os.Hostname(); err == nil {
			name = own
		}
	}
	if cfg := h.security.config; cfg != nil {
		cfg = cfg.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName = name
		}
		return cfg, nil
	}
	file, err := tlsconf.ReadFile(tlsconf.Path(h.security.settings))
	if err != nil {
		// The collector uses the file too, and other users may not be allowed
		// to read it.
		file = new(tlsconf.File)
	}
	return file.Client(name, h.security.settings.Getenv)
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
