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

// Limits that cannot be set.
const (
	// MaxBody is how long the body of a request may be, in bytes.
	MaxBody = 1 << 20
	// MaxQueued is how many requests may wait for their turn in a context.
	MaxQueued = 64
	// MaxDerived is how many derived metrics a context may have.
	MaxDerived = 1000
	// MaxHostSpec is how long a host specification may be, in bytes.
	MaxHostSpec = 1000
)

// A Config says what a Handler serves. Zero fields mean the defaults.
type Config struct {
	// Host is the collector of requests that name none; "" means DefaultHost.
	Host string

	// AllowHost, if not nil, decides which other collectors clients may ask. What it
	// refuses answers as a host that refuses the connection. Nil allows all, as the
	// C pmproxy does: then anybody who reaches the handler can have it connect to
	// any host and port that it reaches.
	AllowHost func(spec *pmapi.HostSpec) bool

	// Open, if not nil, makes a connection to a collector in place of Dialer.
	Open func(ctx context.Context, spec string) (*pmapi.Context, error)

	// Dialer makes connections to collectors; nil means the zero Dialer.
	Dialer *pmapi.Dialer

	// PollTimeout is how long a context without requests lasts, if its maker does not
	// say; 0 means DefaultPollTimeout. MaxTimeout is the longest that a client may
	// ask for, 0 means DefaultMaxTimeout.
	PollTimeout, MaxTimeout time.Duration

	// MaxContexts and MaxPerPeer limit the contexts that exist at a time, in all and for one
	// address; 0 means DefaultMaxContexts and DefaultMaxPerPeer. MaxOwn limits the
	// contexts that have a connection of their own; 0 means DefaultMaxOwn.
	MaxContexts, MaxPerPeer, MaxOwn int

	// MaxSources limits the collectors that are asked at a time, and Connections the
	// connections to one of them that contexts share; 0 means DefaultMaxSources and
	// DefaultConnections.
	MaxSources, Connections int

	// Log gets what an operator should know; nil discards it.
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
