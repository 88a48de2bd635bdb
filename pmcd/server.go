package pmcd

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A Server is a collector. It answers any number of clients at a time, each in
// its own goroutine.
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

	backend *backend.Host // the agents' view of it

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

func (s *Server) stopping() bool { return s.stop.Load() }

// now is a clock that only grows; its zero is the server's start.
func (s *Server) now() int64 { return int64(time.Since(s.start)) }

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

// mark notifies all clients, with their next result, of changes.
func (s *Server) mark(changes wire.State) {
	s.clients.Lock()
	defer s.clients.Unlock()
	for _, c := range s.clients.slots {
		if c != nil {
			c.changes.Or(uint32(changes))
		}
	}
}

// A reloader makes changes of the table, one at a time.
type reloader struct {
	sync.Mutex
	running bool                          // agents have been started, and not stopped
	busy    atomic.Pointer[chan struct{}] // closed when the reload is done; nil if there is none
	died    chan struct{}                 // holds one if an agent died
	asked   chan struct{}                 // holds one if a hang-up was requested
	absent  chan struct{}                 // holds one if an agent in process could not be made
}

// awaitReload makes a new client wait for the agents of a reload, unless that
// takes too long.
func (s *Server) awaitReload() {
	done := s.reload.busy.Load()
	if done == nil {
		return
	}
	timer := time.NewTimer(s.cfg.CredsTimeout)
	defer timer.Stop()
	select {
	case <-*done:
	case <-timer.C:
	case <-s.closing:
	}
}

// agentDied asks for the agents that died to be started again, if the server is
// configured so.
func (s *Server) agentDied() {
	select {
	case s.reload.died <- struct{}{}:
	default: // it is known
	}
}

// missAgent asks for another try at an agent in process that could not be made,
// if the server is configured so.
func (s *Server) missAgent() {
	select {
	case s.reload.absent <- struct{}{}:
	default: // it is known
	}
}
