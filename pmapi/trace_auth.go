package pmapi

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/wire"
)

// The lines of a connection about TLS, authentication and attributes. Secrets are
// never printed: a payload ends after the name of its mechanism.

// attr prints an attribute that is about to be sent, or was received, with -D attr.
// Only the bytes of its value before the offset secret are shown, and dots for the
// rest.
func (t *trace) attr(call string, a *wire.Attr, secret int) {
	if !t.on(debugname.Attr) {
		return
	}
	shown := bytes.Repeat([]byte{'.'}, len(a.Value))
	for i, c := range a.Value[:secret] {
		if ' ' <= c && c <= '~' {
			shown[i] = c
		}
	}
	if a.Attr != 0 {
		t.printf("%s [len=%d]: attr=%#x value=\"%s\"\n", call, len(shown), uint32(a.Attr), shown)
		return
	}
	t.printf("%s [len=%d]: payload=\"%s\"\n", call, len(shown), shown)
}

// negotiation is the function of the C library that authenticates a client.
const negotiation = "secureconnect.c:__pmAuthClientNegotiation"

// auth prints a line about authentication, with -D auth.
func (t *trace) auth(format string, args ...any) {
	if t.on(debugname.Auth) {
		t.printf(format+"\n", args...)
	}
}

// authBegins prints the selected method, "" for the default one.
func (t *trace) authBegins(conn net.Conn, host, method string) {
	if !t.on(debugname.Auth) {
		return
	}
	if method == "" {
		method = "default"
	}
	t.auth(negotiation+"(fd=%d, ssf=%d, host=%s)", fdOf(conn), strength(conn), clean(host))
	t.auth(negotiation+" requesting \"%s\" method", clean(method))
}

// authOffered prints which methods the collector offers.
func (t *trace) authOffered(methods []byte) {
	if t.on(debugname.Auth) {
		t.auth(negotiation+" got methods: \"%s\" (%d)", clean(string(methods)), len(methods))
	}
}

// authStarts prints which method was chosen, and that its first message of n bytes is about to be
// sent.
func (t *trace) authStarts(mechanism string, done bool, n int) {
	status := "continue"
	if done {
		status = "ok"
	}
	t.auth("sasl_client_start chose \"%s\" method, saslsts=%s", mechanism, status)
	t.auth("sasl_client_start sending (%d bytes) \"%s\"", n, mechanism)
}

// authFails prints why a step of authentication failed.
func (t *trace) authFails(call string, err error) {
	if t.on(debugname.Auth) {
		code := pcp.Code(err)
		t.auth("%s failed: %d (%v)", call, int32(code), code)
	}
}

// authEnds prints the result of authentication.
func (t *trace) authEnds(user string, err error) {
	switch {
	case !t.on(debugname.Auth):
	case err != nil:
		t.auth(negotiation + " loop failed")
	default:
		t.auth(negotiation+" success, username=%s", clean(user))
	}
}

// strength returns how many bits the key of a connection has, 0 if it is not
// encrypted.
func strength(conn net.Conn) int {
	c, ok := conn.(pduRecords)
	switch {
	case !ok:
		return 0
	case strings.Contains(tls.CipherSuiteName(c.ConnectionState().CipherSuite), "_128_"):
		return 128
	}
	return 256
}

// tls prints a line about TLS, with -D tls.
func (t *trace) tls(format string, args ...any) {
	if t.on(debugname.TLS) {
		t.printf(format+"\n", args...)
	}
}

// tlsBegins prints that the collector is ready for TLS.
func (t *trace) tlsBegins(conn net.Conn) {
	if t.on(debugname.TLS) {
		t.tls("__pmInitSecureClients: complete\n__pmSecureClientIPCFlags: switching fd=%d to TLS mode", fdOf(conn))
		t.tls("__pmSecureClientNegotiation: entered")
	}
}

// tlsEnds prints the result of the TLS handshake: version, cipher and certificate of
// the collector, which the C library does not print, or the error.
func (t *trace) tlsEnds(c *tls.Conn, err error) {
	if !t.on(debugname.TLS) {
		return
	}
	if err != nil {
		t.tls("TLS handshake failed: %s", clean(err.Error()))
		return
	}
	state := c.ConnectionState()
	var b strings.Builder
	fmt.Fprintf(&b, "TLS handshake: %s, %s", tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite))
	if certs := state.PeerCertificates; len(certs) > 0 {
		fmt.Fprintf(&b, ", certificate of \"%s\" until %s", clean(certs[0].Subject.String()), certs[0].NotAfter.UTC().Format("2006-01-02"))
	}
	t.tls("%s", b.String())
}
