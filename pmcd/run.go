package pmcd

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
)

// New makes the agents of cfg. It does not start processes or serve clients yet.
// If an agent in process cannot be made, New logs that, and requests for its
// metrics get pcp.ErrNoAgent.
func New(cfg Config) (*Server, error) {
	cfg.setDefaults()
	if cfg.TLS != nil {
		cfg.TLS = cfg.TLS.Clone() // the caller's stays as it is
	}
	s := &Server{journal: newJournal(cfg.Log, cfg.Report), cfg: cfg, start: time.Now(), closing: make(chan struct{}), gate: newGate()}
	s.events.SetFlags(cfg.Trace)
	s.setDebug(cfg.Debug)
	s.memory.base, s.memory.set = cfg.MemoryLimit, debug.SetMemoryLimit
	s.memory.start()
	s.clients.counted = s.memory.clients
	s.labels = newLabels(cfg.SysConfDir, cfg.HostRoot, s.log)
	s.entry.init(&cfg)
	s.reloader.init()
	s.reloader.log, s.reloader.interval, s.reloader.closing = s.log, cfg.RestartInterval, s.closing
	s.reloader.change = s.restart
	s.reloader.dead = func() bool { return s.agents.any((*agent).died) }
	s.reloader.missing = func() bool { return s.agents.any((*agent).absent) }
	s.agents.journal, s.agents.root = s.journal, cfg.Root != nil
	s.agents.host = s.newHost()
	s.agents.open = func(spec AgentSpec) (pmda.Agent, error) { return open(spec.Open, s) }
	s.agents.missing = func() { post(s.reloader.absent) }
	s.agents.changed, s.agents.started = s.clients.mark, s.clients.meetAgents
	if err := s.agents.set(cfg.Agents, cfg.NameSpace); err != nil {
		return nil, err
	}
	return s, nil
}

// Run starts the agents and serves clients until ctx is done or a listener
// fails. Every goroutine and process it started has then ended, except calls
// into agents that hang; those are logged. It can be called once.
func (s *Server) Run(ctx context.Context) error {
	defer s.memory.watch()()
	s.reloader.begin(func() {
		s.agents.startAll()
		if s.cfg.Root != nil {
			s.cfg.Root.connectTo(&s.agents)
		}
		s.agents.setFeatures()
	})

	var accepting, restarting sync.WaitGroup
	s.reloader.watch(&restarting)
	failed := make(chan error, len(s.cfg.Listeners))
	for _, ln := range s.cfg.Listeners {
		accepting.Go(func() { failed <- accept(ln, s.log, s.closing, s.admit) })
	}
	if s.cfg.Started != nil {
		s.cfg.Started()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(s.closing)
	for _, ln := range s.cfg.Listeners {
		ln.Close()
	}
	accepting.Wait()
	if !s.clients.close(s.agents.abandon) { // agents that hang hold them
		s.log.Error("calls into agents did not return; they are left behind")
	}
	s.lines.close()
	restarting.Wait()
	s.reloader.end(s.agents.stopAll)
	return err
}

// admit gives a connection a goroutine.
func (s *Server) admit(conn net.Conn) {
	c := s.clients.add(func(id, number int) *client { return newClient(s, conn, id, number) })
	if s.events.On() {
		s.events.Add(trace.Event{Kind: trace.AddClient, Who: c.pub.ID, P1: int32(c.file()), P2: int32(c.number), Text: c.from()})
	}
	go c.start()
}

// newHost returns the agents' view of s.
func (s *Server) newHost() *backend.Host {
	h := &backend.Host{
		Log: s.log, Report: s.cfg.Report, Trace: s.events,
		Dir: s.cfg.Dir, Env: s.cfg.AgentEnv, Output: s.cfg.AgentOutput, CredsTimeout: s.cfg.CredsTimeout,
		Closing: s.closing,
		Changed: s.clients.mark,
		Died:    func() { post(s.reloader.died) },
		NoRoot:  func(err error) { s.cfg.Root.miss(&s.agents, err) },
		Warn: func(kind, msg string, attrs ...any) {
			s.lines.write(slog.LevelWarn, kind, msg, attrs...)
		},
		Clients: s.clients.size,
		Start:   s.start,
	}
	if root := s.cfg.Root; root != nil && !root.AskOnly {
		h.Root = root.launcher
	}
	h.SetTimeout(s.cfg.AgentTimeout)
	return h
}
