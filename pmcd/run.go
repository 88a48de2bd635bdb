package pmcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
)

// New makes the agents of cfg. It does not start processes or serve clients yet.
// If an agent in process cannot be made, New logs that, and requests for its
// metrics get pcp.ErrNoAgent.
func New(cfg Config) (*Server, error) {
	cfg.setDefaults()
	if cfg.TLS != nil {
		cfg.TLS = cfg.TLS.Clone() // the caller's stays as it is
	}
	s := &Server{cfg: cfg, log: cfg.Log, start: time.Now(), closing: make(chan struct{}), gate: newGate()}
	s.lines.log = s.log
	s.tlsInsistent = insistent(cfg.TLS)
	s.host = hostlabels.ReadHost()
	s.site.Store(hostlabels.ReadSite(cfg.SysConfDir, s.log))
	s.access.Store(cfg.Access)
	s.table.Store(new(table))
	s.events = trace.New(cfg.Report)
	s.backend = s.newHost()
	s.SetTraceFlags(cfg.Trace)
	s.SetDebug(cfg.Debug)
	s.memory.base, s.memory.set = cfg.MemoryLimit, debug.SetMemoryLimit
	s.memory.start()
	s.reload.died = make(chan struct{}, 1)
	s.reload.asked = make(chan struct{}, 1)
	s.reload.absent = make(chan struct{}, 1)
	if err := checkSpecs(cfg.Agents); err != nil {
		return nil, err
	}
	t := new(table)
	for i, spec := range cfg.Agents {
		ag, err := s.newAgent(spec, i)
		if err != nil {
			return nil, err
		}
		t.add(ag)
	}
	s.table.Store(t)
	names, err := s.makeNames(cfg.NameSpace)
	if err != nil {
		return nil, err
	}
	s.names.Store(names)
	return s, nil
}

// Run starts the agents and serves clients until ctx is done or a listener
// fails. Every goroutine and process it started has then ended, except calls
// into agents that hang; those are logged. It can be called once.
func (s *Server) Run(ctx context.Context) error {
	defer s.memory.watch()()
	s.reload.Lock()
	s.startAgents(s.agents())
	s.seqNum.Store(1)
	for _, ag := range s.agents() {
		if ag.Connected() {
			s.seqNum.Add(1)
		}
	}
	s.connectRoot()
	s.setFeatures()
	s.reload.running = true
	s.reload.Unlock()

	var accepting, restarting sync.WaitGroup
	restarting.Go(s.hangUpAsAsked)
	if s.cfg.RestartInterval > 0 {
		restarting.Go(s.restartDead)
		restarting.Go(s.remakeAbsent)
	}
	failed := make(chan error, len(s.cfg.Listeners))
	for _, ln := range s.cfg.Listeners {
		accepting.Go(func() { failed <- s.accept(ln) })
	}
	if s.cfg.Started != nil {
		s.cfg.Started()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stop.Store(true)
	close(s.closing)
	for _, ln := range s.cfg.Listeners {
		ln.Close()
	}
	accepting.Wait()
	s.closeClients()
	s.lines.close()
	restarting.Wait()
	s.reload.Lock()
	defer s.reload.Unlock()
	s.reload.running = false
	stopAgents(s.agents())
	return err
}

// acceptPause is how long accepting rests when there are no descriptors left.
const acceptPause = 50 * time.Millisecond

// accept lets clients in.
func (s *Server) accept(ln net.Listener) error {
	var lastLog time.Time
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			s.admit(conn)
		case s.stopping():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("listen on %v: %w", ln.Addr(), err)
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE),
			errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
			if time.Since(lastLog) > time.Minute {
				lastLog = time.Now()
				s.log.Error("clients cannot be let in", "on", ln.Addr().String(), "err", err)
			}
			select {
			case <-time.After(acceptPause):
			case <-s.closing:
			}
		default:
			return fmt.Errorf("accept on %v: %w", ln.Addr(), err)
		}
	}
}

// admit gives a connection a goroutine and the lowest free number, as expected by
// C agents that index arrays with it.
func (s *Server) admit(conn net.Conn) {
	s.clients.Lock()
	id := 0
	for id < len(s.clients.slots) && s.clients.slots[id] != nil {
		id++
	}
	c := newClient(s, conn, id)
	if id == len(s.clients.slots) {
		s.clients.slots = append(s.clients.slots, c)
	} else {
		s.clients.slots[id] = c
	}
	s.clients.count++
	s.memory.clients(s.clients.count)
	s.numClients.Add(1)
	s.clients.last++
	c.number = s.clients.last
	s.clients.running.Add(1)
	s.clients.Unlock()
	if s.events.On() {
		s.events.Add(trace.Event{Kind: trace.AddClient, Who: id, P1: int32(c.file()), P2: int32(c.number), Text: c.from()})
	}
	go c.start()
}

// closeGrace is how long clients' goroutines have to end, and hanging calls
// with them.
const closeGrace = time.Second

func (s *Server) closeClients() {
	s.clients.Lock()
	for _, c := range s.clients.slots {
		if c != nil {
			c.conn.Close()
		}
	}
	s.clients.Unlock()
	done := make(chan struct{})
	go func() {
		s.clients.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(closeGrace):
	}
	// Agents that hang hold them: release those that only wait.
	for _, ag := range s.agents() {
		ag.Abandon()
	}
	select {
	case <-done:
	case <-time.After(closeGrace):
		s.log.Error("calls into agents did not return; they are left behind")
	}
}

// newHost returns the agents' view of s.
func (s *Server) newHost() *backend.Host {
	h := &backend.Host{
		Log: s.log, Report: s.cfg.Report, Trace: s.events,
		Dir: s.cfg.Dir, Env: s.cfg.AgentEnv, Output: s.cfg.AgentOutput, CredsTimeout: s.cfg.CredsTimeout,
		Closing: s.closing,
		Changed: s.mark,
		Died:    s.agentDied,
		NoRoot:  s.missRoot,
		Warn: func(kind, msg string, attrs ...any) {
			s.lines.write(slog.LevelWarn, kind, msg, attrs...)
		},
		Clients: func() int { return int(s.numClients.Load()) },
		Start:   s.start,
	}
	if root := s.cfg.Root; root != nil && !root.AskOnly {
		h.Root = root.launcher
	}
	h.SetTimeout(s.cfg.AgentTimeout)
	return h
}

// connectRoot connects to the helper if it was started, as the program may be
// about to give up the privileges that this takes.
func (s *Server) connectRoot() {
	if s.cfg.Root == nil {
		return
	}
	for _, ag := range s.agents() {
		if ag.spec.Domain != backend.RootDomain || !ag.Connected() {
			continue
		}
		if err := s.cfg.Root.Connect(); err != nil {
			s.missRoot(err)
		}
	}
}

// missRoot logs once that the helper is missing.
func (s *Server) missRoot(err error) {
	h := s.cfg.Root
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.silent {
		return
	}
	h.silent = true
	for _, ag := range s.agents() {
		if ag.spec.Domain == backend.RootDomain {
			s.log.Warn("root helper is unavailable: agents get the privileges of the collector alone, and containers cannot be looked into", "err", err)
			return
		}
	}
	s.log.Info("no root helper is configured: agents get the privileges of the collector alone, and containers cannot be looked into")
}
