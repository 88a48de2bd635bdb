package pmcd

import (
	"cmp"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// HangUp handles a SIGHUP: it reads the files with labels again, starts and
// stops agents according to Config.Reload, and restarts agents that died.
// Connected clients learn of it with their next fetch; new clients wait until it
// is done. Before the agents have been started it only reads labels.
func (s *Server) HangUp() { s.reloader.reload(1) }

// RequestHangUp makes a running server call HangUp, without waiting for it.
// Requests made before it is done may count as one.
func (s *Server) RequestHangUp() { post(s.reloader.asked) }

// restart does what a SIGHUP or the death of an agent calls for. If the agents do not run,
// it only reads labels.
func (s *Server) restart(running bool) {
	// The empty lines are those of the C one's log.
	s.log.Info("\n\npmcd RESTARTED at " + time.Now().Format(time.ANSIC) + "\n")
	var b strings.Builder
	b.WriteString("\nCurrent PMCD clients ...\n")
	s.clients.describe(&b)
	io.WriteString(s.report, b.String())
	if s.labels.reload() {
		s.clients.mark(wire.LabelChange)
	}
	if !running || s.stopping() {
		return
	}
	var setup *Setup
	if s.cfg.Reload != nil {
		setup = s.cfg.Reload()
	}
	s.agents.dropClosed()
	if setup == nil || len(setup.Agents) == 0 {
		s.agents.revive()
	} else if err := checkSpecs(setup.Agents); err != nil {
		s.log.Error("configuration left unchanged", "err", err)
	} else {
		s.agents.replace(setup.Agents)
		s.entry.rules.Store(cmp.Or(setup.Access, access.Default()))
		s.clients.readmit()
	}
	s.agents.setFeatures()
	if setup != nil && setup.NameSpace != nil {
		s.agents.setNames(setup.NameSpace)
	} else if err := s.agents.renewNames(); err != nil {
		s.log.Error("names left unchanged", "err", err)
	}
	b.Reset()
	s.describeTables(&b)
	io.WriteString(s.report, b.String())
}

// A reloader changes the agents, one change at a time, when they die, cannot be made or a
// hang-up is requested. Its mutex is held during a change, and is the first to be locked.
type reloader struct {
	log      *slog.Logger
	interval time.Duration // Config.RestartInterval
	closing  <-chan struct{}
	change   func(running bool)
	dead     func() bool // whether agents are dead
	missing  func() bool // whether agents in process could not be made

	mu      sync.Mutex
	running bool // agents have been started, and not stopped

	hangUps atomic.Uint32                 // the requests of a hang-up so far
	busy    atomic.Pointer[chan struct{}] // closed when the change is done; nil if there is none
	died    chan struct{}                 // holds one if an agent died
	asked   chan struct{}                 // holds one if a hang-up was requested
	absent  chan struct{}                 // holds one if an agent in process could not be made
}

// init makes the channels.
func (r *reloader) init() {
	r.died, r.asked, r.absent = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
}

// post makes a channel hold one.
func post(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is known
	}
}

// begin starts the agents by start.
func (r *reloader) begin(start func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start()
	r.running = true
}

// end stops the agents by stop.
func (r *reloader) end(stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	stop()
}

// reload makes a change. It counts as the given number of signals; a client that sees
// the count finds the new agents.
func (r *reloader) reload(signals uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	r.busy.Store(&done)
	defer close(done)
	defer r.busy.Store(nil)
	r.hangUps.Add(signals)
	r.change(r.running)
}

// await makes a new client wait for the agents of a change, unless that
// takes too long.
func (r *reloader) await(limit time.Duration) {
	done := r.busy.Load()
	if done == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-*done:
	case <-timer.C:
	case <-r.closing:
	}
}

// watch makes the changes that are called for, in goroutines that end when the server does.
func (r *reloader) watch(g *sync.WaitGroup) {
	g.Go(r.hangUpAsAsked)
	if r.interval > 0 {
		g.Go(r.restartDead)
		g.Go(r.remakeAbsent)
	}
}

// hangUpAsAsked serves the requests of Server.RequestHangUp.
func (r *reloader) hangUpAsAsked() {
	for {
		select {
		case <-r.asked:
			r.log.Info("pmcd reset via pmcd.control.sighup")
			r.reload(1)
		case <-r.closing:
			return
		}
	}
}

// maxRetry is the longest time between two tries to make an agent in process.
const maxRetry = time.Hour

// remakeAbsent makes agents in process that could not be made. It waits an
// interval before it tries, and twice as long each time that some are left: the
// log gets a few lines each time.
func (r *reloader) remakeAbsent() {
	for {
		select {
		case <-r.absent:
		case <-r.closing:
			return
		}
		wait := r.interval
		for r.missing() {
			select {
			case <-time.After(wait):
			case <-r.closing:
				return
			}
			if !r.missing() {
				break // a hang-up made them
			}
			r.log.Info("Auto-restarting agents.")
			r.reload(0)
			wait = min(2*wait, maxRetry)
		}
	}
}

// restartDead restarts agents that died, at most once an interval. An agent that
// does not start is tried again after the next.
func (r *reloader) restartDead() {
	var last time.Time
	for {
		select {
		case <-r.died:
		case <-r.closing:
			return
		}
		if !last.IsZero() {
			select {
			case <-time.After(time.Until(last.Add(r.interval))):
			case <-r.closing:
				return
			}
		}
		if !r.dead() {
			continue // another restart did it
		}
		last = time.Now()
		r.log.Info("Auto-restarting agents.")
		r.reload(0)
		if r.dead() {
			post(r.died)
		}
	}
}
