package pmcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A Server is a collector. It answers any number of clients at a time, each in
// a goroutine of its own.
type Server struct {
	cfg   Config
	log   *slog.Logger
	lines lineLimiter // for lines that clients cause
	brake brake
	start time.Time

	table    atomic.Pointer[table]
	names    atomic.Pointer[pmns.Tree]
	access   atomic.Pointer[access.Rules]
	features atomic.Uint32 // wire.Features

	tlsInsistent *tls.Config // Config.TLS for clients that must present a certificate

	backend *backend.Host // what the agents know of it

	reload  reloader
	host    hostlabels.Host
	site    atomic.Pointer[hostlabels.Site]
	stop    atomic.Bool
	closing chan struct{} // closed when stop is set

	seqNum       atomic.Uint32
	hangUps      atomic.Uint32
	debug        atomic.Int32
	events       *trace.Tracer
	numClients   atomic.Int32
	profileBytes atomic.Int64 // of all clients
	memory       memoryLimit
	gate         *gate
	bigJobs      sync.Pool // of *fetchJob
	smallJobs    sync.Pool // of *fetchJob
	longReplies  sync.Pool // of *[]byte

	clients struct {
		sync.Mutex
		slots   []*client // by number; nil is free
		count   int
		last    int            // number of the client that came last
		running sync.WaitGroup // their goroutines
	}
}

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
// fails. Every goroutine it started has then returned, and every process, but
// for calls into agents that hang; those are logged. It can be called once.
func (s *Server) Run(ctx context.Context) error {
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

func (s *Server) stopping() bool { return s.stop.Load() }

// now is a clock that only grows; its zero is the server's start.
func (s *Server) now() int64 { return int64(time.Since(s.start)) }

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

func (s *Server) tooMany() bool {
	s.clients.Lock()
	defer s.clients.Unlock()
	return s.clients.count > maxClients
}

// forget frees a client's number.
func (s *Server) forget(c *client) {
	s.clients.Lock()
	defer s.clients.Unlock()
	if s.clients.slots[c.pub.ID] == c {
		s.clients.slots[c.pub.ID] = nil
		s.clients.count--
		s.memory.clients(s.clients.count)
		s.numClients.Add(-1)
		s.profileBytes.Add(-int64(c.profileBytes))
	}
}

// roomForProfile counts the bytes by which a client's profiles grow, if there is
// room for them.
func (s *Server) roomForProfile(has, more int) bool {
	all := s.profileBytes.Add(int64(more))
	if more > 0 && has+more > smallProfileBytes && all > maxAllProfileBytes {
		s.profileBytes.Add(-int64(more))
		return false
	}
	return true
}

func (s *Server) clientDone() { s.clients.running.Done() }

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

// mark tells all clients, with their next result, that something changed.
func (s *Server) mark(changes wire.State) {
	s.clients.Lock()
	defer s.clients.Unlock()
	for _, c := range s.clients.slots {
		if c != nil {
			c.changes.Or(uint32(changes))
		}
	}
}

// setFeatures sets the features that clients may ask for. Containers are one only
// if there is a helper to ask about them, or an agent that knows them.
func (s *Server) setFeatures() {
	features := wire.FeatureDescs | wire.FeatureLabels | wire.FeatureHighRes
	if s.cfg.Root != nil {
		features |= wire.FeatureContainer
	}
	for _, ag := range s.agents() {
		if ag.Connected() {
			features |= ag.Features() & wire.FeatureContainer
		}
	}
	s.features.Store(uint32(features))
}

func (s *Server) featureSet() wire.Features {
	return wire.Features(s.features.Load()) | s.authFeatures() | s.secureFeatures()
}

// startAgents starts those of agents that are in processes at the same time, but that of
// backend.RootDomain before the others; those that do not come up are logged and left
// out.
func (s *Server) startAgents(agents []*agent) {
	var starting sync.WaitGroup
	start := func(root bool) {
		for _, ag := range agents {
			if (ag.spec.Domain == backend.RootDomain) == root {
				starting.Go(ag.Start)
			}
		}
		starting.Wait()
	}
	start(true)
	start(false)
	for _, ag := range agents {
		if ag.spec.Kind == conf.DSO && !ag.absent() {
			s.events.Add(trace.Event{Kind: trace.AddAgent, Who: ag.spec.Domain, P1: -1, P2: -1})
		}
	}
}

// stopAgents stops agents, and last the one that ends processes of others.
func stopAgents(agents []*agent) {
	var stopping sync.WaitGroup
	stop := func(root bool) {
		for _, ag := range agents {
			if (ag.spec.Domain == backend.RootDomain) == root {
				stopping.Go(ag.Stop)
			}
		}
		stopping.Wait()
	}
	stop(false)
	stop(true)
}
