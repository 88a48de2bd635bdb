package webapi

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-pcp/pcp/pmapi"
)

// Defaults of a Config.
const (
	DefaultHost        = "localhost"
	DefaultPollTimeout = 5 * time.Second
	DefaultMaxTimeout  = 24 * time.Hour
	DefaultMaxContexts = 50000
	DefaultMaxPerPeer  = 20000
	DefaultMaxOwn      = 1000
	DefaultMaxSources  = 1000
	DefaultConnections = 16
)

// Fixed limits.
const (
	// MaxBody is the maximum size of a request body, in bytes.
	MaxBody = 1 << 20
	// MaxQueued is the maximum number of requests that wait for a context.
	MaxQueued = 64
	// MaxDerived is the maximum number of derived metrics of a context.
	MaxDerived = 1000
	// MaxHostSpec is the maximum length of a host specification, in bytes.
	MaxHostSpec = 1000
)

// A Config configures a Handler. Zero fields mean the defaults.
type Config struct {
	// Host is the collector for requests without a host; "" means DefaultHost.
	Host string

	// AllowHost, if not nil, decides which other collectors clients may use. A
	// refused collector looks like a host that refuses the connection. Nil allows
	// all, as in the C pmproxy: then any client of the handler can make it connect
	// to any host and port within its reach.
	AllowHost func(spec *pmapi.HostSpec) bool

	// Open, if not nil, connects to a collector in place of Dialer.
	Open func(ctx context.Context, spec string) (*pmapi.Context, error)

	// Dialer connects to collectors; nil means the zero Dialer.
	Dialer *pmapi.Dialer

	// PollTimeout is the lifetime of an unused context, if its creator does not set
	// it; 0 means DefaultPollTimeout. MaxTimeout is the longest that a client may
	// request, 0 means DefaultMaxTimeout.
	PollTimeout, MaxTimeout time.Duration

	// MaxContexts and MaxPerPeer limit the number of contexts, in total and for one address;
	// 0 means DefaultMaxContexts and DefaultMaxPerPeer. MaxOwn limits the contexts with
	// their own connection; 0 means DefaultMaxOwn.
	MaxContexts, MaxPerPeer, MaxOwn int

	// MaxSources limits the number of collectors in use, and Connections the number
	// of shared connections to each; 0 means DefaultMaxSources and
	// DefaultConnections.
	MaxSources, Connections int

	// OptionalLabels shows optional labels of metrics, instance domains and instances too, as newer versions of PCP do.
	// Identifiers of series do not depend on them in either case.
	OptionalLabels bool

	// Log receives messages for the operator; nil discards them.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	or := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	or(&c.MaxContexts, DefaultMaxContexts)
	or(&c.MaxPerPeer, DefaultMaxPerPeer)
	or(&c.MaxOwn, DefaultMaxOwn)
	or(&c.MaxSources, DefaultMaxSources)
	or(&c.Connections, DefaultConnections)
	if c.Host == "" {
		c.Host = DefaultHost
	}
	if c.PollTimeout <= 0 {
		c.PollTimeout = DefaultPollTimeout
	}
	if c.MaxTimeout <= 0 {
		c.MaxTimeout = DefaultMaxTimeout
	}
	if c.Open == nil {
		d := c.Dialer
		if d == nil {
			d = new(pmapi.Dialer)
		}
		c.Open = d.Dial
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
