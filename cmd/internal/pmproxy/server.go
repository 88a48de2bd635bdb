package pmproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Server is a proxy. Use New to create one.
type Server struct {
	cfg   Config // constant after New
	now   atomic.Pointer[settings]
	log   *slog.Logger
	web   *web
	stats *stats
	lines lineLimit

	closing chan struct{} // closed when Run ends

	mu    sync.Mutex
	conns map[*conn]struct{}
	stop  bool

	running sync.WaitGroup // one for each client
}

// New creates a Server from cfg. Run starts serving.
func New(cfg Config) (*Server, error) {
	cfg.setDefaults()
	set, err := newSettings(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Log, closing: make(chan struct{}), conns: map[*conn]struct{}{}}
	s.now.Store(set)
	if s.stats, err = newStats(cfg.MetricsDir); err != nil {
		s.log.Warn("metrics of this program are not available", "err", err)
	}
	if s.web, err = newWeb(s); err != nil {
		s.stats.close()
		return nil, err
	}
	return s, nil
}

// Run serves clients until ctx is done or a listener fails. Requests in progress
// get two seconds to finish. All goroutines that it started have ended when it
// returns. It can be called once.
func (s *Server) Run(ctx context.Context) error {
	defer s.stats.close()
	var serving, accepting sync.WaitGroup
	serving.Go(func() { s.web.serve() })
	serving.Go(func() { s.stats.watch(s.closing) })
	failed := make(chan error, len(s.cfg.Listeners))
	for _, ln := range s.cfg.Listeners {
		accepting.Go(func() { failed <- s.accept(ln) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.mu.Lock()
	s.stop = true
	s.mu.Unlock()
	close(s.closing)
	for _, ln := range s.cfg.Listeners {
		ln.Close()
	}
	accepting.Wait()
	s.web.shutdown()
	s.mu.Lock()
	for c := range s.conns {
		c.Conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	serving.Wait()
	return err
}

func (s *Server) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop
}

// acceptPause is the pause in accepting when there are no descriptors left.
const acceptPause = 50 * time.Millisecond

// accept accepts clients.
func (s *Server) accept(ln net.Listener) error {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			s.admit(nc)
		case s.stopping():
			return nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE),
			errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
			s.lines.log(s.log, slog.LevelError, "clients cannot be let in", "on", ln.Addr().String(), "err", err)
			select {
			case <-time.After(acceptPause):
			case <-s.closing:
			}
		default:
			return fmt.Errorf("accept on %v: %w", ln.Addr(), err)
		}
	}
}

// admit starts a goroutine for a client, if there are not too many.
func (s *Server) admit(nc net.Conn) {
	set := s.now.Load()
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: set.KeepAlive > 0, Idle: set.KeepAlive, Interval: set.KeepAlive})
	}
	c := newConn(s, nc)
	s.mu.Lock()
	full := len(s.conns) >= set.MaxClients
	if full || s.stop {
		s.mu.Unlock()
		nc.Close()
		if full {
			s.stats.refused.Inc()
			s.lines.log(s.log, slog.LevelWarn, "client refused: there are too many", "limit", set.MaxClients)
		}
		return
	}
	s.conns[c] = struct{}{}
	s.stats.clients.Set(int64(len(s.conns)))
	s.running.Add(1)
	s.mu.Unlock()
	s.stats.accepted.Inc()
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("accept new client", "client", c.from())
	}
	go func() {
		defer s.running.Done()
		s.meet(c)
	}()
}

// forget is called once for each connection, when it is closed.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.stats.clients.Set(int64(len(s.conns)))
	s.mu.Unlock()
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("client connection closed", "client", c.from())
	}
}

// meet determines a client's protocol, and has it served.
func (s *Server) meet(c *conn) {
	set := s.now.Load()
	kind, err := c.identify(set.TLS)
	switch {
	case err != nil:
		if !s.stopping() {
			s.stats.unknown.Inc()
			s.lines.log(s.log, slog.LevelDebug, "client dropped", "client", c.from(), "err", err)
		}
	case kind == speaksPCP && !set.NoPCP:
		s.forward(c, s.connect)
	case kind == speaksKeys && set.KeyServer != "":
		s.forward(c, s.connectKeys)
	case kind == speaksHTTP && !set.NoHTTP:
		if s.web.take(c) {
			return // net/http closes it
		}
	default:
		s.stats.unknown.Inc()
	}
	c.Close()
}

// newHTTPServer returns the HTTP server.
func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            helloTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(&limitedHandler{s.log.Handler(), &s.lines}, slog.LevelDebug),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, nc)
		},
	}
}

type connKey struct{}
