package service

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
)

// A Security is how TCP connections to a server are encrypted. The zero Security is that of the setting tls = prefer.
type Security struct {
	mode  string
	roots *x509.CertPool // nil means those of the system
}

// The values of the setting tls.
const (
	tlsOff     = "off"
	tlsPrefer  = "prefer"  // if the server offers it; the certificate is not checked
	tlsRequire = "require" // the certificate is not checked
	tlsVerify  = "verify"
)

// ErrNoTLS is the error of a server that does not offer TLS although the configuration requires it.
var ErrNoTLS = errors.New("the server does not offer TLS, which the setting tls requires")

// NewSecurity returns the security for the settings tls and ca; "" means the default. ca is a file of certificates, which requires tls = verify.
func NewSecurity(mode, ca string) (Security, error) {
	s := Security{mode: mode}
	switch mode {
	case "", tlsOff, tlsPrefer, tlsRequire, tlsVerify:
	default:
		return s, fmt.Errorf("tls is %s, %s, %s or %s, not %.40q", tlsOff, tlsPrefer, tlsRequire, tlsVerify, mode)
	}
	if ca == "" {
		return s, nil
	}
	if mode != tlsVerify {
		return s, fmt.Errorf("ca = %s requires tls = %s", ca, tlsVerify)
	}
	b, err := os.ReadFile(ca)
	if err != nil {
		return s, err
	}
	s.roots = x509.NewCertPool()
	if !s.roots.AppendCertsFromPEM(b) {
		return s, fmt.Errorf("%s: the file has no certificate", ca)
	}
	return s, nil
}

// Wanted reports whether TLS is to be asked for on a connection.
func (s Security) Wanted(conn net.Conn) bool {
	return s.mode != tlsOff && conn.RemoteAddr().Network() == "tcp"
}

// Without returns ErrNoTLS if the connection must not be used without TLS.
func (s Security) Without() error {
	if s.mode == tlsRequire || s.mode == tlsVerify {
		return ErrNoTLS
	}
	return nil
}

// Start begins TLS on a connection to host, and makes r read from it.
func (s Security) Start(conn net.Conn, r *bufio.Reader, host string) (net.Conn, error) {
	if n := r.Buffered(); n > 0 {
		return nil, fmt.Errorf("the server sends %d bytes before TLS begins", n)
	}
	c := tls.Client(conn, &tls.Config{ServerName: host, RootCAs: s.roots, InsecureSkipVerify: s.mode != tlsVerify})
	if err := c.HandshakeContext(context.Background()); err != nil { // the connection has a deadline
		return nil, fmt.Errorf("%w (without TLS: tls = %s)", err, tlsOff)
	}
	r.Reset(c)
	return c, nil
}

// Proven reports whether the connection is encrypted, and the server has shown a certificate for its name.
func (s Security) Proven(conn net.Conn) bool {
	_, ok := conn.(*tls.Conn)
	return ok && s.mode == tlsVerify
}
