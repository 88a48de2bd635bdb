package backend

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A local is an agent in this process. Its calls are made one at a time, in
// the goroutine of the client that asks: a hand-over to another goroutine and
// back would cost more than most calls do.
//
// A client that finds the agent free owns it for its turn; others queue.
// When the turn is over the head of the queue becomes owner. If that is a
// fetch, it takes all fetches that wait by then with it: one Refresh with the
// metrics of all, started after each of them arrived, then a Fetch for each.
// So 100 clients cost one reading of the source.
type local struct {
	inProcess
	ag *Agent
	h  *Host

	run *pmda.Runner

	began atomic.Int64 // when the present call started, on the host's clock

	mu     sync.Mutex
	owner  *turn // nil if the agent is free; abandoned while it hangs
	head   *turn
	tail   *turn
	group  []*turn // fetches that the owner serves in addition to its own
	timer  *time.Timer
	armed  bool
	limit  time.Duration // that the timer was armed for
	ctx    context.Context
	cancel context.CancelFunc
	closer io.Closer      // nil if the agent has no Close, or was closed
	left   []*pmda.Client // that left while the agent was overdue, with the notice still due

	union []pcp.PMID // scratch of the owner
	cost  int64      // of a refresh of late, in nanoseconds; the owner's
}

// A turn is a caller's place in an agent's queue, and then its ownership of
// the agent. The caller uses it again for its next request.
//
// A call that takes too long cannot be interrupted. giveUp abandons the turn: the
// agent is overdue, callers that wait for it get pcp.ErrAgain, and the hung function
// of the owner starts a successor. The hung call keeps the turns and the parts of
// those it was serving; their callers use new ones. When the call returns after all,
// back finds the turn abandoned, and marks the agent as no longer overdue and the
// caller as abandoned.
type turn struct {
	c    *Caller
	part *Part        // nil unless it wants a fetch
	wake chan verdict // made when it has to wait
	next *turn

	ctx       context.Context // of the agent's calls
	abandoned bool            // guarded by local.mu
}

type verdict int

const (
	owned  verdict = iota // the turn has come: its client owns the agent
	served                // its fetch has been done
	given                 // up: the agent hangs. Its turn and parts are lost
)

func newLocal(h *Host, ag *Agent, impl pmda.Agent) *local {
	l := &local{ag: ag, h: h, run: pmda.NewRunner(impl, pmda.RunnerOptions{Name: ag.Name(), Log: h.Log})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.closer, _ = impl.(io.Closer)
	return l
}

// acquire waits for c's turn. The verdict served comes only if p is not nil.
func (l *local) acquire(c *Caller, p *Part) (*turn, verdict) {
	t := c.turn
	if t == nil {
		t = &c.first
		c.turn = t
	}
	t.c, t.part, t.next = c, p, nil
	l.mu.Lock()
	switch {
	case l.owner == nil:
		l.begin(t)
		l.mu.Unlock()
		return t, owned
	case l.owner.abandoned:
		l.mu.Unlock()
		return t, given
	}
	if t.wake == nil {
		t.wake = make(chan verdict, 1)
	}
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.mu.Unlock()
	v := <-t.wake
	if v == given {
		c.turn = new(turn)
	}
	return t, v
}

// begin makes t the owner. Called with l.mu held.
func (l *local) begin(t *turn) {
	l.owner = t
	t.ctx = l.ctx
	l.began.Store(l.h.now())
	if timeout := l.h.Timeout(); timeout > 0 && (!l.armed || timeout < l.limit) {
		l.armed, l.limit = true, timeout
		if l.timer == nil {
			l.timer = time.AfterFunc(timeout, l.watch)
		} else {
			l.timer.Reset(timeout)
		}
	}
}

// back is called after a call into the agent. It locks l.mu and returns true
// if t still owns the agent. Else the agent, which hung, is free, l.mu is not
// held, and the caller of t is abandoned.
func (l *local) back(t *turn) bool {
	l.mu.Lock()
	if !t.abandoned {
		return true
	}
	t.c.abandoned = true
	for len(l.left) > 0 {
		left := l.left
		l.left = nil
		l.mu.Unlock()
		for _, client := range left {
			l.run.EndContext(client)
		}
		l.mu.Lock()
	}
	took := time.Duration(l.h.now() - l.began.Load())
	l.owner = nil
	l.ag.late.Store(false)
	l.mu.Unlock()
	l.h.Log.Warn("agent answers again", "agent", l.ag.Name(), "after", took.Round(time.Millisecond))
	return false
}

// release ends the owner's turn. Called with l.mu held, which it releases.
func (l *local) release() {
	t := l.head
	if t == nil {
		l.owner = nil
		l.mu.Unlock()
		return
	}
	l.head = t.next
	if l.head == nil {
		l.tail = nil
	}
	l.begin(t)
	l.mu.Unlock()
	t.wake <- owned
}

// watch looks whether the present call takes too long.
func (l *local) watch() {
	l.mu.Lock()
	l.armed = false
	timeout := l.h.Timeout()
	if l.owner == nil || l.owner.abandoned || timeout <= 0 {
		l.mu.Unlock()
		return
	}
	if left := timeout - time.Duration(l.h.now()-l.began.Load()); left > 0 {
		l.armed, l.limit = true, timeout
		l.timer.Reset(left)
		l.mu.Unlock()
		return
	}
	l.giveUp()
	l.h.Log.Error("agent does not answer; its requests are refused until it does",
		l.doing("agent", l.ag.Name(), "timeout", timeout)...)
}

// doing adds the agent's description of its current work to the attributes of a
// log line.
func (l *local) doing(attrs ...any) []any {
	if doing := l.run.Doing(); doing != "" {
		attrs = append(attrs, "doing", doing)
	}
	return attrs
}

// giveUp abandons the turn of the owner, which hangs. Called with l.mu held,
// which it releases.
func (l *local) giveUp() {
	owner, group, queue := l.owner, l.group, l.head
	owner.abandoned = true
	l.ag.late.Store(true)
	l.group, l.head, l.tail = nil, nil, nil
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(context.Background())
	owner.c.hung()
	l.mu.Unlock()
	for _, t := range group {
		t.wake <- given
	}
	for queue != nil {
		t := queue
		queue, t.next = t.next, nil
		t.wake <- given
	}
}

// call makes a call that is not a fetch.
func (l *local) call(c *Caller, fn func(ctx context.Context) error) error {
	if err := c.alive(); err != nil {
		return err
	}
	t, v := l.acquire(c, nil)
	if v == given {
		return pcp.ErrAgain
	}
	err := fn(t.ctx)
	if !l.back(t) {
		return pcp.ErrAgain
	}
	l.release()
	return err
}

// ask makes a call that has a result for a client.
func ask[T any](l *local, c *Caller, fn func(ctx context.Context) (T, error)) (result T, err error) {
	l.introduce(c)
	err = l.call(c, func(ctx context.Context) (err error) {
		result, err = fn(ctx)
		return err
	})
	return result, err
}

// introduce introduces a client that the agent has not seen.
func (l *local) introduce(c *Caller) {
	if c.abandoned || !c.meet(l.ag) || !l.run.Attributes() || len(c.client.Attrs) == 0 {
		return
	}
	err := l.call(c, func(ctx context.Context) error { return l.run.Introduce(ctx, c.client) })
	if err != nil && !c.abandoned {
		l.h.Warn("attributes "+l.ag.Name(), "agent refused a client's attributes", "agent", l.ag.Name(), "client", c.name, "err", err)
	}
}

func (l *local) NameSpace() *pmns.Tree { return l.run.NameSpace() }

func (l *local) rename(name string) { l.run.Rename(name) }

// Waiting implements link.
func (l *local) Waiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.head; t != nil; t = t.next {
		n++
	}
	return n
}

// Stop cancels running calls, and calls the agent's Close if it has one. A call that
// hangs is abandoned, and the agent then not closed.
func (l *local) Stop() {
	l.ag.connected.Store(false)
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.cancel()
	c := l.closer
	if l.closer = nil; l.owner != nil {
		c = nil
	}
	l.mu.Unlock()
	if c != nil {
		l.close(c)
	}
}

// close closes the agent. It logs a failure or panic.
func (l *local) close(c io.Closer) {
	defer func() {
		if v := recover(); v != nil {
			l.h.Log.Error("agent panicked as it was closed", "agent", l.ag.Name(), "panic", v)
		}
	}()
	if err := c.Close(); err != nil {
		l.h.Log.Warn("agent cannot be closed", "agent", l.ag.Name(), "err", err)
	}
}

// Abandon gives up a call that runs, so that a collector that stops need not
// wait for it.
func (l *local) Abandon() {
	l.mu.Lock()
	if l.owner == nil || l.owner.abandoned {
		l.mu.Unlock()
		return
	}
	l.giveUp()
}
