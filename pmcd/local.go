package pmcd

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
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
	ag *agent
	s  *Server

	impl      pmda.Agent
	refresher pmda.Refresher
	texter    pmda.Texter
	labeler   pmda.Labeler
	storer    pmda.Storer
	namer     pmda.DynamicNamer
	attrs     pmda.AttributeReceiver
	ender     pmda.ContextEnder
	changer   pmda.Changer
	checker   pmda.Checker
	narrator  pmda.Narrator

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

	union   []pcp.PMID // scratch of the owner
	cost    int64      // of a refresh of late, in nanoseconds; the owner's
	lastLog time.Time  // of a panic
	panics  int
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
	l := &local{ag: ag, s: s, impl: impl}
	l.refresher, _ = impl.(pmda.Refresher)
	l.texter, _ = impl.(pmda.Texter)
	l.labeler, _ = impl.(pmda.Labeler)
	l.storer, _ = impl.(pmda.Storer)
	l.namer, _ = impl.(pmda.DynamicNamer)
	l.attrs, _ = impl.(pmda.AttributeReceiver)
	l.ender, _ = impl.(pmda.ContextEnder)
	l.changer, _ = impl.(pmda.Changer)
	l.checker, _ = impl.(pmda.Checker)
	l.narrator, _ = impl.(pmda.Narrator)
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
	if l.narrator != nil {
		if doing := l.narrator.Doing(); doing != "" {
			attrs = append(attrs, "doing", doing)
		}
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
	l.refreshGroup(ls, p)
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
func (l *local) refreshGroup(ls lease, p *part) {
	if l.refresher == nil {
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
	ids, group := p.ids, l.group
	if len(group) > 0 {
		l.union = append(l.union[:0], p.ids...)
		for _, w := range group {
			if !slices.Equal(w.part.ids, p.ids) {
				l.union = append(l.union, w.part.ids...)
			}
		}
		if len(l.union) > len(p.ids) {
			slices.Sort(l.union)
			l.union = slices.Compact(l.union)
			ids = l.union
		}
	}
	l.mu.Unlock()
	err := l.safely(func() error { return l.refresher.Refresh(ls.ctx, ids) })
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

// cheapRefresh is how long, in nanoseconds, a refresh may usually take for it
// not to be worth while to collect requests for it.
const cheapRefresh = 5000

func (l *local) fetchOne(ls lease, c *client, p *part) {
	if p.err != nil {
		return
	}
	l.began.Store(l.s.now())
	if l.checker != nil {
		if p.err = l.safely(func() error { return l.checker.Check(pmda.WithClient(ls.ctx, &c.pub)) }); p.err != nil {
			return
		}
	}
	p.req = pmda.FetchRequest{Client: &c.pub, Profile: p.profile, PMIDs: p.ids, Result: &p.res}
	if err := l.safeFetch(ls.ctx, &p.req); err != nil {
		p.err = err
	} else if !p.valid() {
		l.s.lines.write(slog.LevelError, "metrics "+l.ag.name(), "agent answered for other metrics than it was asked for",
			"agent", l.ag.name(), "asked", len(p.ids), "answered", len(p.res.Sets))
		p.err = pcp.ErrIPC
	}
}

func (l *local) safeFetch(ctx context.Context, req *pmda.FetchRequest) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = l.panicked(r)
		}
	}()
	if err := l.impl.Fetch(ctx, req); err != nil || l.changer == nil {
		return err
	}
	var changes wire.State
	names, labels := l.changer.Changes()
	if names {
		changes |= wire.NamesChange
	}
	if labels {
		changes |= wire.LabelChange
	}
	if changes != 0 {
		l.s.mark(changes)
	}
	return nil
}

// safely turns a panic of the agent into an error.
func (l *local) safely(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = l.panicked(r)
		}
	}()
	return call()
}

// panicked logs the first panic of a minute with its stack, and counts the rest.
func (l *local) panicked(r any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.panics++
	if now := time.Now(); now.Sub(l.lastLog) > time.Minute {
		l.s.log.Error("agent panicked", append(l.doing("agent", l.ag.name(), "panic", r,
			"panics", l.panics), "stack", string(debug.Stack()))...)
		l.lastLog, l.panics = now, 0
	}
	return pcp.ErrGeneric
}

// do makes one call that is no fetch, if the agent lets it.
func (l *local) do(c *client, call func(ctx context.Context) error) error {
	if l.checker == nil {
		return l.tell(c, call)
	}
	return l.tell(c, func(ctx context.Context) error {
		if err := l.checker.Check(ctx); err != nil {
			return err
		}
		return call(ctx)
	})
}

// tell makes a call of which the agent is not asked whether it may be made.
func (l *local) tell(c *client, call func(ctx context.Context) error) error {
	v, ls := l.acquire(c, nil)
	if v != owned {
		return pcp.ErrAgain
	}
	ctx := ls.ctx
	if c != nil {
		ctx = pmda.WithClient(ctx, &c.pub)
	}
	err := l.safely(func() error { return call(ctx) })
	l.release(ls.turn)
	return err
}

// introduce tells the agent about a client that it has not seen.
func (l *local) introduce(c *client) {
	if c == nil || !c.meet(l.ag) {
		return
	}
	if l.attrs == nil || len(c.pub.Attrs) == 0 {
		return
	}
	err := l.tell(c, func(ctx context.Context) error {
		for _, key := range attrOrder {
			if v, ok := c.pub.Attrs[key]; ok {
				if err := l.attrs.Attribute(ctx, &c.pub, key, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		l.s.lines.write(slog.LevelWarn, "attributes "+l.ag.name(), "agent refused a client's attributes", "agent", l.ag.name(), "client", c.name, "err", err)
	}
}

// attrOrder is the order in which agents learn a client's attributes, that of
// C's hash table.
var attrOrder = [...]wire.AttrKey{
	wire.AttrContainer, wire.AttrProcessID, wire.AttrGroupID, wire.AttrUserID, wire.AttrUserName,
}

func (l *local) desc(c *client, id pcp.PMID) (desc pcp.Desc, err error) {
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) (err error) {
		desc, err = l.impl.Desc(ctx, id)
		return err
	})
	return desc, err
}

// instances answers as pmdaInstance does: of one that was asked for by name or
// by number it tells the other half alone.
func (l *local) instances(c *client, indom pcp.InDom, inst int32, name string) (list []pcp.Instance, err error) {
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) error {
		switch {
		case name != "":
			n, err := pmda.LookupInstance(ctx, l.impl, indom, name)
			list = []pcp.Instance{{Inst: n}}
			return err
		case inst != pcp.InNull:
			full, err := pmda.InstanceName(ctx, l.impl, indom, inst)
			list = []pcp.Instance{{Inst: pcp.InNull, Name: full}}
			return err
		}
		all, err := l.impl.Instances(ctx, indom)
		list = slices.Clone(all)
		return err
	})
	return list, err
}

func (l *local) text(c *client, ident uint32, kind pcp.TextKind) (text string, err error) {
	if l.texter == nil {
		return "", pcp.ErrText
	}
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) (err error) {
		text, err = l.texter.Text(ctx, ident, kind)
		return err
	})
	return text, err
}

func (l *local) labels(c *client, ident uint32, kind pcp.LabelFlags) (sets []pcp.LabelSet, err error) {
	if l.labeler == nil {
		if kind == pcp.LabelDomain {
			return domainLabels(l.ag.name())
		}
		return nil, nil
	}
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) (err error) {
		sets, err = l.labeler.Labels(ctx, ident, kind)
		return err
	})
	return sets, err
}

func (l *local) store(c *client, res *pcp.Result) error {
	if l.storer == nil {
		return pcp.ErrPermission
	}
	l.introduce(c)
	res = res.Clone()
	return l.do(c, func(ctx context.Context) error { return l.storer.Store(ctx, &c.pub, res) })
}

func (l *local) names(c *client, id pcp.PMID) (names []string, err error) {
	if l.namer == nil {
		return nil, pcp.ErrPMID
	}
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) (err error) {
		names, err = l.namer.Names(ctx, id)
		return err
	})
	return names, err
}

func (l *local) lookup(c *client, name string) (id pcp.PMID, err error) {
	if l.namer == nil {
		return pcp.PMIDNull, pcp.ErrNonLeaf
	}
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) (err error) {
		id, err = l.namer.LookupName(ctx, name)
		return err
	})
	if err != nil {
		id = pcp.PMIDNull
	}
	return id, err
}

func (l *local) children(c *client, name string) (list []pmns.Child, err error) {
	if l.namer == nil {
		return nil, pcp.ErrName
	}
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) (err error) {
		list, err = l.namer.Children(ctx, name, false)
		return err
	})
	return list, err
}

// errNoNames says that an agent has no dynamic names at all.
var errNoNames = errors.New("agent has no dynamic names")

func (l *local) traverse(c *client, name string) (names []string, err error) {
	if l.namer == nil {
		return nil, errNoNames
	}
	l.introduce(c)
	err = l.do(c, func(ctx context.Context) error {
		list, err := l.namer.Children(ctx, name, true)
		for _, ch := range list {
			names = append(names, ch.Name)
		}
		return err
	})
	return names, err
}

func (l *local) endContext(c *client) {
	if l.ender == nil {
		return
	}
	l.tell(c, func(context.Context) error {
		l.ender.EndContext(&c.pub)
		return nil
	})
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
