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
	// DefaultMaxClients is the number of simultaneous connections.
	DefaultMaxClients = 32768
	// DefaultMaxBody is the maximum size of a request body, in bytes.
	DefaultMaxBody = 64 << 20
	// DefaultKeepAlive is the idle time after which a client's host is probed.
	DefaultKeepAlive = 45 * time.Second
	// DefaultDialTimeout limits connecting to a collector, name lookup
	// included.
	DefaultDialTimeout = 5 * time.Second

	maxURL    = 8192     // bytes; the real pmproxy answers longer ones with 414
	maxHeader = 32 << 10 // bytes of all headers
)

// Time limits of a connection.
const (
	helloTimeout  = 30 * time.Second // for the first byte, TLS, the proxy handshake, the headers of a request
	bodyTimeout   = 60 * time.Second // for the body of a request
	idleTimeout   = 3 * time.Minute  // between requests
	drainTimeout  = 60 * time.Second // for the response to a client that sends nothing more
	writeTimeout  = 30 * time.Second // for writeChunk bytes
	writeChunk    = 64 << 10
	refusalPause  = 300 * time.Millisecond // before the response to a wrong password
	shutdownGrace = 2 * time.Second
)

// An Authenticator checks passwords. It is called by several goroutines at
// once; *access.Accounts is an implementation.
type Authenticator interface {
	CheckPassword(user, password string) error
}

// A Config configures a Server. The zero Config forwards PCP for all clients to
// all collectors and has no web pages.
type Config struct {
	// Listeners accept the clients. The server closes them.
	Listeners []net.Listener

	// Handlers answer requests by path prefix, such as "/pmapi". The longest
	// matching prefix wins; prefixes are compared as text.
	Handlers map[string]http.Handler

	// NoPCP disables the forwarding of PCP, NoHTTP the web server.
	NoPCP, NoHTTP bool

	// TLS configures TLS; nil disables it. A client with a certificate that TLS
	// verifies is trusted.
	TLS *tls.Config

	// Collectors are patterns of the collectors to which clients may connect,
	// HOST or HOST:PORT with * and ? in HOST. They are compared with the name
	// that the client requests; an empty list allows all.
	Collectors []string

	// KeyServer is the address, HOST:PORT, of the key server (Redis or Valkey) to which clients that speak its
	// protocol are forwarded; if it is "", they are disconnected.
	KeyServer string

	// MaxPDU is the maximum size of a forwarded client's PDU, in bytes; 0 leaves the limit to the collector.
	// Traffic that client and collector encrypt is not checked.
	MaxPDU int

	// Hosts are further names of this host that are accepted in a Host header
	// over a loopback address.
	Hosts []string

	// AllowHeaders are further header names that pages of other origins may
	// send.
	AllowHeaders []string

	// Auth checks names and passwords (HTTP Basic). If it is nil they are
	// ignored.
	Auth Authenticator

	// TokenFile is the path of a file of bearer tokens, "" for none. Each line
	// has a name, white space and a token of at least 16 bytes; # starts a
	// comment. The words push=PATTERN,… and quota=SIZE after a token restrict it to
	// pushing archives of hosts whose names match a pattern, up to a size for each. The
	// file is read again when it changes. A file that all users can read is an error.
	TokenFile string

	// RequireAuth refuses HTTP requests that are not authorised by a password,
	// a token or a certificate, except those for /-/healthy and /-/ready.
	RequireAuth bool

	// PageToken, if not "", is a secret of at least 16 bytes. A browser that presents it has the
	// rights of its owner: the page posts the token to /-/page as a bearer token, and its later
	// requests are recognised. Such requests are trusted. Private answers them in place of
	// Handlers for the prefixes that both have.
	PageToken string
	Private   map[string]http.Handler

	// TrustLocal trusts requests from this host: over a loopback address, or
	// over a Unix socket from the server's own user or root.
	TrustLocal bool

	// LendRights lets any client name the Unix socket of a collector in a request,
	// as the C pmproxy does. The collector then sees the server's user. Otherwise a
	// client must be authorised, or TrustLocal must be set and the client connect
	// over a Unix socket as the server's user or root.
	LendRights bool

	// SameOrigin omits the CORS headers that let pages of other origins read responses.
	// The C pmproxy always sends these headers.
	SameOrigin bool

	MaxClients  int           // 0 means DefaultMaxClients
	MaxBody     int64         // 0 means DefaultMaxBody
	KeepAlive   time.Duration // 0 means DefaultKeepAlive, negative disables probes
	DialTimeout time.Duration // 0 means DefaultDialTimeout

	// Dial connects to a collector; nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Ready returns the reason why the server is not ready, for /-/ready; nil means always ready.
	Ready func() error

	// MetricsDir is the directory (PCP_TMP_DIR/pmproxy) of the server's own
	// metrics, which the agent pmproxy exports; "" disables them.
	MetricsDir string

	// Log receives the server's messages; nil discards them.
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
