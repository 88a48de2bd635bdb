package backend

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// RootDomain is the domain of the agent that performs privileged operations for
// other agents. They look for it when they start, and only then.
const RootDomain = 1

// A Launcher has pmdaroot(1) start processes of agents.
type Launcher struct {
	client *rootproto.Client

	mu       sync.Mutex
	endings  map[int]ending // processes that ended, until they are asked for
	awaited  map[int]bool   // processes that are waited for
	checking sync.Mutex     // held while asking for endings
}

func NewLauncher(client *rootproto.Client) *Launcher {
	return &Launcher{client: client, endings: map[int]ending{}, awaited: map[int]bool{}}
}

// spawnByRoot asks the helper to start the agent's process. If there is no helper
// or it refuses, done is false: the collector must start the process itself.
func (r *remote) spawnByRoot() (done bool, err error) {
	root, spec := r.h.Root, &r.ag.spec
	if root == nil || spec.Domain == RootDomain {
		return false, nil
	}
	ipc := rootproto.IPCSocket
	if spec.Kind == conf.Pipe {
		ipc = rootproto.IPCPipe
	}
	p, err := root.client.Start(ipc, spec.Name, strings.Join(spec.Args, " "))
	switch {
	case errors.Is(err, pcp.ErrNotConn):
		r.h.NoRoot(err)
		return false, nil
	case err != nil:
		r.h.Log.Warn("root helper does not start agent; it gets the privileges of the collector alone", "agent", spec.Name, "err", err)
		return false, nil
	case p.PID <= 0:
		return false, nil
	}
	if spec.Kind == conf.Pipe {
		r.connected(pipePair{p.In, p.Out})
	}
	r.runs(root.process(p.PID), p.PID)
	return true, nil
}

// A rootChild is a process that the helper started.
type rootChild struct {
	root *Launcher
	pid  int
	gone func()        // waits until it is
	lost chan struct{} // closed when it cannot be ended
	once sync.Once

	end ending
}

func (l *Launcher) process(pid int) *rootChild {
	l.mu.Lock()
	l.awaited[pid] = true
	l.mu.Unlock()
	return &rootChild{root: l, pid: pid, gone: goneFunc(pid), lost: make(chan struct{})}
}

func (c *rootChild) ending() ending { return c.end }
func (c *rootChild) interrupt()     { c.root.client.Terminate(c.pid) }

// kill kills it. If the helper is gone and we may not, it makes wait give up.
func (c *rootChild) kill() {
	err := c.root.client.Kill(c.pid)
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
	end, err := c.root.ending(c.pid)
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
func (l *Launcher) ending(pid int) (ending, error) {
	l.checking.Lock()
	defer l.checking.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.awaited, pid)
		delete(l.endings, pid)
	}()
	for until := time.Now().Add(endingWait); ; time.Sleep(goneInterval) {
		l.mu.Lock()
		e, ok := l.endings[pid]
		l.mu.Unlock()
		if ok {
			return e, nil
		}
		one, status, err := l.client.Wait()
		switch {
		case err != nil:
			return ending{}, err
		case one > 0:
			l.mu.Lock()
			if l.awaited[one] { // C's helper reports all its children
				l.endings[one] = endingOfStatus(status)
			}
			l.mu.Unlock()
			continue
		case one < 0, time.Now().After(until):
			// C's helper loses some: it also asks for them itself.
			return ending{}, errors.New("root helper does not report the status")
		}
	}
}
