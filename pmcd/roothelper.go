package pmcd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// A RootHelper is a connection to pmdaroot(1). A server that lacks privileges
// uses it to start agents that need them; the server and agents in its process
// use it to find out about containers. It connects when it is first needed; a
// program that gives up privileges calls Connect before that.
//
// Server.Run starts the agent of domain 1, which is the helper, before others.
// Without a helper agents are processes of the server's own, and questions about
// containers are answered with pcp.ErrNotConn.
type RootHelper struct {
	// AskOnly means that the server starts agents itself all the same. Set it
	// before New.
	AskOnly bool

	client *rootproto.Client

	mu       sync.Mutex
	silent   bool           // the log says already that there is no helper
	endings  map[int]ending // processes that ended, until they are asked for
	awaited  map[int]bool   // processes that are waited for
	checking sync.Mutex     // held while asking for endings
}

// NewRootHelper returns the helper that listens at a path.
func NewRootHelper(path string) *RootHelper {
	return &RootHelper{client: rootproto.NewClient(path), endings: map[int]ending{}, awaited: map[int]bool{}}
}

// DefaultRootPath is where the helper of an installation listens.
func DefaultRootPath(cfg *config.Config) string { return rootproto.DefaultPath(cfg) }

// Connect connects. The error is pcp.ErrNotConn if there is no helper.
func (h *RootHelper) Connect() error { return h.client.Connect() }

// Close closes the connection.
func (h *RootHelper) Close() error { return h.client.Close() }

// HostName returns the name of the host in a container, and ProcessID the number
// of the container's first process. If the container is not known, they return
// pcp.ErrNoContainer.
func (h *RootHelper) HostName(container string) (string, error) { return h.client.HostName(container) }

// ProcessID is described at HostName.
func (h *RootHelper) ProcessID(container string) (int, error) { return h.client.ProcessID(container) }

// HostNameIn returns what the host is called in a container, for the agent pmcd.
func (s *Server) HostNameIn(container string) (string, error) {
	if s.cfg.Root == nil {
		return "", pcp.ErrNotConn
	}
	return s.cfg.Root.HostName(container)
}

// ProcessIDIn returns the number of the first process of a container, for the agent
// linux; pcp.ErrNotConn without a Config.Root.
func (s *Server) ProcessIDIn(container string) (int, error) {
	if s.cfg.Root == nil {
		return 0, pcp.ErrNotConn
	}
	return s.cfg.Root.ProcessID(container)
}

// connectRoot connects to the helper if it was started, as the program may be
// about to give up the privileges that this takes.
func (s *Server) connectRoot() {
	if s.cfg.Root == nil {
		return
	}
	for _, ag := range s.agents() {
		if ag.spec.Domain != rootDomain || !ag.connected.Load() {
			continue
		}
		if err := s.cfg.Root.Connect(); err != nil {
			s.cfg.Root.tellMissing(s, err)
		}
	}
}

// spawnByRoot asks the helper to start the agent's process. If there is no helper
// or it refuses, done is false: the server must start the process itself.
func (r *remote) spawnByRoot() (done bool, err error) {
	h, spec := r.s.cfg.Root, &r.ag.spec
	if h == nil || h.AskOnly || spec.Domain == rootDomain {
		return false, nil
	}
	ipc := rootproto.IPCSocket
	if spec.Kind == conf.Pipe {
		ipc = rootproto.IPCPipe
	}
	p, err := h.client.Start(ipc, spec.Name, strings.Join(spec.Args, " "))
	switch {
	case errors.Is(err, pcp.ErrNotConn):
		h.tellMissing(r.s, err)
		return false, nil
	case err != nil:
		r.s.log.Warn("root helper does not start agent; it gets the privileges of the collector alone", "agent", spec.Name, "err", err)
		return false, nil
	case p.PID <= 0:
		return false, nil
	}
	if spec.Kind == conf.Pipe {
		r.connected(pipePair{p.In, p.Out})
	}
	r.runs(h.process(p.PID), p.PID)
	return true, nil
}

// tellMissing logs once that there is no helper.
func (h *RootHelper) tellMissing(s *Server, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.silent {
		return
	}
	h.silent = true
	for _, ag := range s.agents() {
		if ag.spec.Domain == rootDomain {
			s.log.Warn("root helper is unavailable: agents get the privileges of the collector alone, and containers cannot be looked into", "err", err)
			return
		}
	}
	s.log.Info("no root helper is configured: agents get the privileges of the collector alone, and containers cannot be looked into")
}

// A rootChild is a process that the helper started.
type rootChild struct {
	h    *RootHelper
	pid  int
	gone func()        // waits until it is
	lost chan struct{} // closed when it cannot be ended
	once sync.Once

	end ending
}

func (h *RootHelper) process(pid int) *rootChild {
	h.mu.Lock()
	h.awaited[pid] = true
	h.mu.Unlock()
	return &rootChild{h: h, pid: pid, gone: goneFunc(pid), lost: make(chan struct{})}
}

func (c *rootChild) ending() ending { return c.end }
func (c *rootChild) interrupt()     { c.h.client.Terminate(c.pid) }

// kill kills it. If the helper is gone and we may not, it makes wait give up.
func (c *rootChild) kill() {
	err := c.h.client.Kill(c.pid)
	if errors.Is(err, pcp.ErrNotConn) {
		// Its pipes are closed, so that it should end.
		c.once.Do(func() { close(c.lost) })
	}
}

func (c *rootChild) wait() error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.gone()
	}()
	select {
	case <-done:
	case <-c.lost:
		return errors.New("it could not be ended, and is left behind")
	}
	end, err := c.h.ending(c.pid)
	c.end = end
	switch {
	case err != nil:
		return fmt.Errorf("how is not known: %w", err)
	case end.exited && end.code == 0:
		return nil
	case end.exited:
		return fmt.Errorf("exit status %d", end.code)
	}
	return fmt.Errorf("signal %d", end.signal)
}

// endingWait is how long the helper may take to notice that a process that is
// gone has ended.
const endingWait = 2 * time.Second

// ending asks the helper how a process ended that is gone.
func (h *RootHelper) ending(pid int) (ending, error) {
	h.checking.Lock()
	defer h.checking.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.awaited, pid)
		delete(h.endings, pid)
	}()
	for until := time.Now().Add(endingWait); ; time.Sleep(goneInterval) {
		h.mu.Lock()
		e, ok := h.endings[pid]
		h.mu.Unlock()
		if ok {
			return e, nil
		}
		one, status, err := h.client.Wait()
		switch {
		case err != nil:
			return ending{}, err
		case one > 0:
			h.mu.Lock()
			if h.awaited[one] { // C's helper reports all its children
				h.endings[one] = endingOfStatus(status)
			}
			h.mu.Unlock()
			continue
		case one < 0, time.Now().After(until):
			// C's helper loses some: it also asks for them itself.
			return ending{}, errors.New("root helper does not tell")
		}
	}
}

// goneInterval is how often a process is looked for if the system cannot wait
// for it.
const goneInterval = 5 * time.Millisecond
