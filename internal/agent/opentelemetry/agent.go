package opentelemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/pushed"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Domain is the agent's domain unless a configuration has another (OPENTELEMETRY).
const Domain = 164

// DefaultListen is the address that programs push to unless they are configured otherwise.
const DefaultListen = "localhost:4318"

// A Config is the configuration of an agent. Zero fields mean the defaults.
type Config struct {
	Domain int    // 0 means Domain
	Listen string // host and port; "" means DefaultListen
	// TokenFile is a file whose first line senders must send as their bearer token; "" means that they need none.
	// An address that other hosts can reach requires it.
	TokenFile string
	Names     string        // file of names and numbers; "" means that they are not kept
	Stale     time.Duration // how long a series has a value after it was last pushed; 0 means pushed.DefaultStale
	Limits    pushed.Limits
	Now       func() time.Time // nil means time.Now
	Log       *slog.Logger     // nil discards
}

// An Agent is the agent.
type Agent struct {
	*pushed.Table
	token           string
	listener        net.Listener
	server          *http.Server
	turns           chan struct{}
	requests, bytes atomic.Uint64
	running         sync.WaitGroup

	familyMu sync.Mutex
	families map[string]*family
}

// New returns an agent that listens.
func New(cfg Config) (*Agent, error) {
	a := &Agent{turns: make(chan struct{}, maxAtOnce), families: make(map[string]*family)}
	address := cmp.Or(cfg.Listen, DefaultListen)
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("agent opentelemetry: address %q: want HOST:PORT", address)
	}
	if cfg.TokenFile != "" {
		if a.token, err = readToken(cfg.TokenFile); err != nil {
			return nil, fmt.Errorf("agent opentelemetry: %w", err)
		}
	} else if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("agent opentelemetry: address %s can be reached from other hosts: it needs a file with a token", address)
	}
	count := pcp.Units{DimCount: 1}
	a.Table, err = pushed.New(pushed.Config{
		Root: "opentelemetry", Domain: cmp.Or(cfg.Domain, Domain), File: cfg.Names, Stale: cfg.Stale, Numbered: true,
		Limits: cfg.Limits, Reasons: reasons(), Now: cfg.Now, Log: cfg.Log,
		Controls: []pushed.Control{
			{
				Name: "requests", Item: 64, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count,
				OneLine: "requests that were received",
				Help:    "Requests of OTLP and remote write since the agent started, those that were refused\nincluded.",
				Value:   func() pcp.Value { return pcp.Uint64Value(a.requests.Load()) },
			},
			{
				Name: "bytes", Item: 65, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimSpace: 1},
				OneLine: "bytes that were received",
				Help:    "Bytes of bodies, decompressed, since the agent started.",
				Value:   func() pcp.Value { return pcp.Uint64Value(a.bytes.Load()) },
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("agent opentelemetry: %w", err)
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("agent opentelemetry: %w", err)
	}
	a.listener = &limitListener{Listener: ln, free: make(chan struct{}, maxConnections), done: make(chan struct{})}
	a.server = a.newServer()
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	log.Info("opentelemetry: listening", "address", ln.Addr().String())
	a.running.Go(func() {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("opentelemetry: server ended", "err", err)
		}
	})
	return a, nil
}

// maxToken is the length of a file with a token.
const maxToken = 4096

func readToken(path string) (string, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, maxToken)
	n, _ := f.Read(b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%s: the first line has no token", path)
	}
	return line, nil
}

// Addr returns the address that the agent listens on.
func (a *Agent) Addr() net.Addr { return a.listener.Addr() }

// Close ends the server, and writes the file of names.
func (a *Agent) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		a.server.Close()
	}
	a.running.Wait()
	return a.Table.Close()
}

// A limitedConn is a connection of a limitListener.
type limitedConn struct {
	net.Conn
	free chan struct{}
	once sync.Once
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}
