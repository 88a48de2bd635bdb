package pmcd

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A local is an agent in this process. Its calls are made one at a time, in
// the goroutine of the client that asks: a hand-over to another goroutine and
// back would cost more than most calls do.
//
// The client that finds the agent free owns it for its call; others queue.
// When the owner is done the head of the queue becomes owner. If that is a
// fetch, it takes all fetches that wait by then with it: one Refresh with the
// metrics of all, started after each of them arrived, then a Fetch for each.
// So 100 clients cost one reading of the source.
//
// A call that takes too long cannot be interrupted, but its client can be
// taken away from it: the watchdog answers all who wait with pcp.ErrAgain,
// has another goroutine go on with the owner's client, and marks the agent as
// not ready. When the call returns after all, its goroutine finds that it was
// replaced, marks the agent as ready and ends.
type local struct {
	inProcess
	ag *agent
	s  *Server

	run *pmda.Runner

	began atomic.Int64 // when the present call started, on the server's clock

	mu     sync.Mutex
	busy   bool    // someone owns the agent
	hung   bool    // and was given up
	turn   uint64  // counts owners; changes when one is given up
	owner  *client // nil for the server itself
	head   *waiter
	tail   *waiter
	group  []*waiter // fetches that the owner serves besides its own
	timer  *time.Timer
	armed  bool
	limit  time.Duration // that the timer was armed for
	ctx    context.Context
	cancel context.CancelFunc

	union []pcp.PMID // scratch of the owner
	cost  int64      // of a refresh of late, in nanoseconds; the owner's
}

// A waiter is a client in an agent's queue.
type waiter struct {
	c    *client
	part *part // nil unless it wants a fetch
	wake chan verdict
	next *waiter
	lease
}

// A lease is what an owner needs to know about its turn.
type lease struct {
	turn uint64
	ctx  context.Context // of the agent's calls
}

type verdict int

const (
	owned  verdict = iota // the waiter owns the agent now
	served                // its fetch has been done
	given                 // up: the agent hangs. What the waiter lent to it is lost
)

func newLocal(s *Server, ag *agent, impl pmda.Agent) *local {
	l := &local{ag: ag, s: s, run: pmda.NewRunner(impl, pmda.RunnerOptions{Name: ag.name(), Log: s.log})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// acquire waits for the agent. The verdict served comes only if p is not nil.
func (l *local) acquire(c *client, p *part) (verdict, lease) {
	l.mu.Lock()
	if l.hung {
		l.mu.Unlock()
		return given, lease{}
	}
	if !l.busy {
		l.busy = true
		ls := l.begin(c)
		l.mu.Unlock()
		return owned, ls
	}
	w := &c.waiter
	w.c, w.part, w.next = c, p, nil
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	l.mu.Unlock()
	v := <-w.wake
	return v, w.lease
}

// begin makes c the owner. Called with l.mu held.
func (l *local) begin(c *client) lease {
	l.turn++
	l.owner = c
	l.began.Store(l.s.now())
	if timeout := l.s.agentTimeout(); timeout > 0 && (!l.armed || timeout < l.limit) {
		l.armed, l.limit = true, timeout
		if l.timer == nil {
			l.timer = time.AfterFunc(timeout, l.watch)
		} else {
			l.timer.Reset(timeout)
		}
	}
	return lease{l.turn, l.ctx}
}

// release passes the agent on. If the owner was given up meanwhile it does not
// return: the client has another goroutine by now.
func (l *local) release(turn uint64) {
	l.mu.Lock()
	l.mine(turn)
	w := l.head
	if w == nil {
		l.busy = false
		l.owner = nil
		l.mu.Unlock()
		return
	}
	l.head = w.next
	if l.head == nil {
		l.tail = nil
	}
	w.lease = l.begin(w.c)
	l.mu.Unlock()
	w.wake <- owned
}

// takeFetches moves the fetches that wait into the owner's group, but heavy
// ones: they would make the others of the group wait. Called with l.mu held.
func (l *local) takeFetches() {
	var head, tail *waiter
	for w := l.head; w != nil; {
		next := w.next
		w.next = nil
		if w.part != nil && len(w.part.ids) < heavyMetrics {
			l.group = append(l.group, w)
		} else {
			if tail == nil {
				head = w
			} else {
				tail.next = w
			}
			tail = w
		}
		w = next
	}
	l.head, l.tail = head, tail
}

// mine ends the goroutine if its turn was taken from it. Called with l.mu held.
func (l *local) mine(turn uint64) {
	if l.turn == turn {
		return
	}
	took := time.Duration(l.s.now() - l.began.Load())
	l.busy, l.hung, l.owner = false, false, nil
	l.ag.notReady.Store(false)
	l.mu.Unlock()
	l.s.log.Warn("agent answers again", "agent", l.ag.name(), "after", took.Round(time.Millisecond))
	runtime.Goexit()
}

// watch looks whether the present call takes too long.
func (l *local) watch() {
	l.mu.Lock()
	l.armed = false
	timeout := l.s.agentTimeout()
	if !l.busy || l.hung || timeout <= 0 {
		l.mu.Unlock()
		return
	}
	if left := timeout - time.Duration(l.s.now()-l.began.Load()); left > 0 {
		l.armed, l.limit = true, timeout
		l.timer.Reset(left)
		l.mu.Unlock()
		return
	}
	l.giveUp()
	l.s.log.Error("agent does not answer; its requests are refused until it does",
		l.doing("agent", l.ag.name(), "timeout", timeout)...)
}

// doing adds to what is logged what the agent says it is at.
func (l *local) doing(attrs ...any) []any {
	if doing := l.run.Doing(); doing != "" {
		attrs = append(attrs, "doing", doing)
	}
	return attrs
}

// giveUp takes the agent from its owner, who hangs. Called with l.mu held,
// which it releases.
func (l *local) giveUp() {
	l.turn++
	l.hung = true
	l.ag.notReady.Store(true)
	owner, group, queue := l.owner, l.group, l.head
	l.owner, l.group, l.head, l.tail = nil, nil, nil, nil
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.mu.Unlock()
	for _, w := range group {
		w.wake <- given
	}
	for queue != nil {
		w := queue
		queue, w.next = w.next, nil
		w.wake <- given
	}
	if owner != nil {
		owner.takeOver()
	}
}

// fetch implements backend.
func (l *local) fetch(c *client, p *part) {
	l.introduce(c)
	v, ls := l.acquire(c, p)
	switch v {
	case given:
		c.lose(p)
		return
	case served:
		return
	}
	l.refreshGroup(ls, c, p)
	l.fetchOne(ls, c, p)
	for {
		l.mu.Lock()
		l.mine(ls.turn)
		n := len(l.group)
		if n == 0 {
			l.mu.Unlock()
			break
		}
		w := l.group[0]
		l.mu.Unlock()

		l.fetchOne(ls, w.c, w.part)

		l.mu.Lock()
		l.mine(ls.turn)
		l.group[0] = nil
		l.group = l.group[1:]
		l.mu.Unlock()
		w.wake <- served
	}
	l.release(ls.turn)
}

// refreshGroup reads the source once for the owner and all who wait by then.
func (l *local) refreshGroup(ls lease, c *client, p *part) {
	if !l.run.Refreshes() {
		l.check(ls, c, p)
		return
	}
	if l.cost > cheapRefresh && l.s.numClients.Load() > 1 {
		// Requests that have come but were not looked at yet join the queue.
		runtime.Gosched()
	}
	l.mu.Lock()
	l.mine(ls.turn)
	l.began.Store(l.s.now())
	l.takeFetches()
	group := l.group
	l.mu.Unlock()
	l.check(ls, c, p)
	for _, w := range group {
		l.check(ls, w.c, w.part)
	}
	ids := l.wanted(p, group)
	if len(ids) == 0 {
		return
	}
	err := l.run.Refresh(ls.ctx, ids)
	took := l.s.now() - l.began.Load()
	l.mu.Lock()
	l.mine(ls.turn)
	defer l.mu.Unlock()
	l.cost = (3*l.cost + took) / 4
	if err != nil {
		p.err = err
		for _, w := range group {
			w.part.err = err
		}
	}
}

// check asks the agent whether a client may have its part.
func (l *local) check(ls lease, c *client, p *part) { p.err = l.run.Check(ls.ctx, &c.pub) }

// wanted returns the metrics that a refresh is for: those of all that may have
// their part.
func (l *local) wanted(p *part, group []*waiter) []pcp.PMID {
	l.union = l.union[:0]
	var ids []pcp.PMID // of the first, and while the others want the same of all
	add := func(p *part) {
		switch {
		case p.err != nil || slices.Equal(ids, p.ids):
		case len(ids) == 0:
			ids = p.ids
			l.union = append(l.union, ids...)
		default:
			l.union = append(l.union, p.ids...)
		}
	}
	add(p)
	for _, w := range group {
		add(w.part)
	}
	if len(l.union) == len(ids) {
		return ids
	}
	slices.Sort(l.union)
	l.union = slices.Compact(l.union)
	return l.union
}

// cheapRefresh is how long, in nanoseconds, a refresh may usually take for it
// not to be worth while to collect requests for it.
const cheapRefresh = 5000

func (l *local) fetchOne(ls lease, c *client, p *part) {
	if p.err != nil {
		return
	}
	l.began.Store(l.s.now())
	p.req = pmda.FetchRequest{Client: &c.pub, Profile: p.profile, PMIDs: p.ids, Result: &p.res}
	var state wire.State
	if state, p.err = l.run.Values(ls.ctx, &p.req); state != 0 {
		l.s.mark(state)
	}
}

// call makes a call that is no fetch.
func (l *local) call(c *client, fn func(ctx context.Context) error) error {
	v, ls := l.acquire(c, nil)
	if v != owned {
		return pcp.ErrAgain
	}
	err := fn(ls.ctx)
	l.release(ls.turn)
	return err
}

// ask makes a call that has a result for a client.
func ask[T any](l *local, c *client, fn func(ctx context.Context) (T, error)) (result T, err error) {
	l.introduce(c)
	err = l.call(c, func(ctx context.Context) (err error) {
		result, err = fn(ctx)
		return err
	})
	return result, err
}

// introduce tells the agent about a client that it has not seen.
func (l *local) introduce(c *client) {
	if !c.meet(l.ag) || !l.run.Attributes() || len(c.pub.Attrs) == 0 {
		return
	}
	err := l.call(c, func(ctx context.Context) error { return l.run.Introduce(ctx, &c.pub) })
	if err != nil {
		l.s.lines.write(slog.LevelWarn, "attributes "+l.ag.name(), "agent refused a client's attributes", "agent", l.ag.name(), "client", c.name, "err", err)
	}
}

func (l *local) desc(c *client, id pcp.PMID) (pcp.Desc, error) {
	return ask(l, c, func(ctx context.Context) (pcp.Desc, error) { return l.run.Desc(ctx, &c.pub, id) })
}

func (l *local) instances(c *client, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	return ask(l, c, func(ctx context.Context) ([]pcp.Instance, error) {
		return l.run.Instances(ctx, &c.pub, indom, inst, name)
	})
}

func (l *local) text(c *client, ident uint32, kind pcp.TextKind) (string, error) {
	return ask(l, c, func(ctx context.Context) (string, error) { return l.run.Text(ctx, &c.pub, ident, kind) })
}

func (l *local) labels(c *client, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	return ask(l, c, func(ctx context.Context) ([]pcp.LabelSet, error) {
		return l.run.Labels(ctx, &c.pub, ident, kind, nil)
	})
}

func (l *local) store(c *client, res *pcp.Result) error {
	res = res.Clone()
	l.introduce(c)
	return l.call(c, func(ctx context.Context) error { return l.run.Store(ctx, &c.pub, res) })
}

// The names of an agent that is no DynamicNamer are those of the name space
// alone, as in C.

func (l *local) names(c *client, id pcp.PMID) ([]string, error) {
	if !l.run.Dynamic() {
		return nil, pcp.ErrPMID
	}
	return ask(l, c, func(ctx context.Context) ([]string, error) { return l.run.Names(ctx, &c.pub, id) })
}

func (l *local) lookup(c *client, name string) (pcp.PMID, error) {
	if !l.run.Dynamic() {
		return pcp.PMIDNull, pcp.ErrNonLeaf
	}
	return ask(l, c, func(ctx context.Context) (pcp.PMID, error) { return l.run.LookupName(ctx, &c.pub, name) })
}

func (l *local) children(c *client, name string) ([]pmns.Child, error) {
	if !l.run.Dynamic() {
		return nil, pcp.ErrName
	}
	return ask(l, c, func(ctx context.Context) ([]pmns.Child, error) {
		return l.run.Children(ctx, &c.pub, name, false)
	})
}

// errNoNames says that an agent has no dynamic names at all.
var errNoNames = errors.New("agent has no dynamic names")

func (l *local) traverse(c *client, name string) ([]string, error) {
	if !l.run.Dynamic() {
		return nil, errNoNames
	}
	list, err := ask(l, c, func(ctx context.Context) ([]pmns.Child, error) {
		return l.run.Children(ctx, &c.pub, name, true)
	})
	names := make([]string, len(list))
	for i, ch := range list {
		names[i] = ch.Name
	}
	return names, err
}

func (l *local) nameSpace() *pmns.Tree { return l.run.NameSpace() }

func (l *local) rename(name string) { l.run.Rename(name) }

func (l *local) endContext(c *client) {
	if l.run.EndsContexts() {
		l.call(c, func(context.Context) error { l.run.EndContext(&c.pub); return nil })
	}
}

// stop cancels what runs. A call that hangs is left behind.
func (l *local) stop() {
	l.ag.connected.Store(false)
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.cancel()
	l.mu.Unlock()
}

// abandon gives up a call that runs, so that a server that stops need not
// wait for it.
func (l *local) abandon() {
	l.mu.Lock()
	if !l.busy || l.hung {
		l.mu.Unlock()
		return
	}
	l.giveUp()
}
