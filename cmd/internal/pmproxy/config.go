package pmproxy

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// DefaultPort is the TCP port of pmproxy (PROXY_PORT), as registered with IANA.
const DefaultPort = 44322

// Limits and their defaults.
const (
	// DefaultMaxClients is how many connections there can be at a time.
	DefaultMaxClients = 32768
	// DefaultMaxBody is how long the body of a request can be, in bytes.
	DefaultMaxBody = 64 << 20
	// DefaultKeepAlive is after how long a silence a client's host is probed.
	DefaultKeepAlive = 45 * time.Second
	// DefaultDialTimeout is how long connecting to a collector can take, with
	// the look-up of its name.
	DefaultDialTimeout = 5 * time.Second

	maxURL    = 8192     // bytes from which on the real pmproxy says 414
	maxHeader = 32 << 10 // bytes of all headers
)

// Time limits of a connection.
const (
	helloTimeout  = 30 * time.Second // for the first byte, TLS, the proxy handshake, the headers of a request
	bodyTimeout   = 60 * time.Second // for the body of a request
	idleTimeout   = 3 * time.Minute  // between requests
	drainTimeout  = 60 * time.Second // for the answer to a client that sends nothing more
	writeTimeout  = 30 * time.Second // for writeChunk bytes
	writeChunk    = 64 << 10
	refusalPause  = 300 * time.Millisecond // before the answer to a wrong password
	shutdownGrace = 2 * time.Second
)

// An Authenticator checks passwords. It is called by several goroutines at a
// time; *access.Accounts is one.
type Authenticator interface {
	CheckPassword(user, password string) error
}

// A Config says what a Server does. The zero Config forwards PCP for everybody
// to everywhere and has no web pages.
type Config struct {
	// Listeners are where clients come in. The server closes them.
	Listeners []net.Listener

	// Handlers answer requests by prefix of the path, such as "/pmapi". The one
	// of the longest prefix counts, by text.
	Handlers map[string]http.Handler

	// NoPCP has the server refuse to forward PCP, NoHTTP to answer HTTP.
	NoPCP, NoHTTP bool

	// TLS is what the server speaks TLS with; nil means that it does not. A
	// client with a certificate that TLS verifies is trusted.
	TLS *tls.Config

	// Collectors are patterns of the collectors to which clients are forwarded,
	// HOST or HOST:PORT with * and ? in HOST, compared with what the client
	// says; none means all.
	Collectors []string

	// KeyServer is the address, HOST:PORT, of the key server (Redis or Valkey) to which clients that speak its
	// protocol are forwarded; "" means that they are dropped.
	KeyServer string

	// MaxPDU is how long a PDU of a client that is forwarded may be, in bytes; 0 means that the collector alone
	// limits it. What is encrypted between client and collector is not looked at.
	MaxPDU int

	// Hosts are more names of this host that a Host header can have over a
	// loopback address.
	Hosts []string

	// AllowHeaders are more names of headers that pages of other origins may
	// send.
	AllowHeaders []string

	// Auth checks names and passwords (HTTP Basic). If it is nil they are not
	// looked at.
	Auth Authenticator

	// TokenFile is the path of a file of bearer tokens, "" for none: lines of a
	// name, white space and a token of at least 16 bytes; # starts a comment.
	// It is read again when it has changed. A file that all users can read is
	// an error.
	TokenFile string

	// RequireAuth refuses requests of HTTP that are not authorised by a
	// password, a token or a certificate, but for /-/healthy and /-/ready.
	RequireAuth bool

	// PageToken, if not "", is a secret of at least 16 bytes that gives a browser the rights of
	// the user who has it. The page posts it to /-/page as a bearer token, and is known from then
	// on. Such requests are trusted, and Private answers them, where it has the prefix that
	// Handlers has.
	PageToken string
	Private   map[string]http.Handler

	// TrustLocal trusts requests from this host: over a loopback address, or
	// over a Unix socket from the server's own user or root.
	TrustLocal bool

	// LendRights lets anybody name the Unix socket of a collector in a request, as
	// the C pmproxy does. The collector takes the client for the server's user then.
	// Otherwise a client has to be authorised, or to connect over a Unix socket as
	// the server's user or root while TrustLocal is set.
	LendRights bool

	// SameOrigin serves the server's own page alone: browsers are not told that pages of
	// other origins may read answers (CORS), which the C pmproxy tells them.
	SameOrigin bool

	MaxClients  int           // 0 means DefaultMaxClients
	MaxBody     int64         // 0 means DefaultMaxBody
	KeepAlive   time.Duration // 0 means DefaultKeepAlive, negative never
	DialTimeout time.Duration // 0 means DefaultDialTimeout

	// Dial connects to a collector; nil means by TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Ready returns why /-/ready should say no; nil means always ready.
	Ready func() error

	// MetricsDir is where the server says how it does (PCP_TMP_DIR/pmproxy), in
	// files for the agent pmproxy; "" means nowhere.
	MetricsDir string

	// Log gets what the server has to say; nil discards.
	Log *slog.Logger
}

func (cfg *Config) setDefaults() {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxClients == 0 {
		cfg.MaxClients = DefaultMaxClients
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = DefaultKeepAlive
	}
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = DefaultDialTimeout
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
}
