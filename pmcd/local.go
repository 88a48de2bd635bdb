package pmcd

import (
	"context"
	"errors"
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
// A client that finds the agent free owns it for its turn; others queue.
// When the turn is over the head of the queue becomes owner. If that is a
// fetch, it takes all fetches that wait by then with it: one Refresh with the
// metrics of all, started after each of them arrived, then a Fetch for each.
// So 100 clients cost one reading of the source.
type local struct {
	inProcess
	ag *agent
	h  *host

	run *pmda.Runner

	began atomic.Int64 // when the present call started, on the server's clock

	mu     sync.Mutex
	owner  *turn // nil if the agent is free; abandoned while it hangs
	head   *turn
	tail   *turn
	group  []*turn // fetches that the owner serves besides its own
	timer  *time.Timer
	armed  bool
	limit  time.Duration // that the timer was armed for
	ctx    context.Context
	cancel context.CancelFunc

	union []pcp.PMID // scratch of the owner
	cost  int64      // of a refresh of late, in nanoseconds; the owner's
}

// A turn is a client's place in an agent's queue, and then its ownership of
// the agent. The client uses it again for its next request.
//
// A call that takes too long cannot be interrupted, but its client can be
// taken away from it. giveUp abandons the turn: the agent is not ready, and
// clients that wait for it get pcp.ErrAgain. A new goroutine calls without, which
// goes on with the client: a fetch is answered with the values of the other
// agents, any other request with pcp.ErrAgain, and one that leaves is
// forgotten. The client belongs to that goroutine. The hung call keeps the
// turns and the parts of those it was to serve; their clients use new ones.
// When the call returns after all, back finds the turn abandoned and marks the
// agent as ready. From there errAbandoned goes up to the top of the goroutine,
// which ends. Each function on the way returns it at once and leaves the
// client alone.
type turn struct {
	c       *client
	part    *part         // nil unless it wants a fetch
	without func(*client) // goes on with the client if the agent hangs
	wake    chan verdict
	next    *turn

	ctx       context.Context // of the agent's calls
	abandoned bool            // guarded by local.mu
}

func newTurn(c *client) *turn { return &turn{c: c, wake: make(chan verdict, 1)} }

// errAbandoned says that another goroutine went on with the client.
var errAbandoned = errors.New("call into the agent was given up")

type verdict int

const (
	owned  verdict = iota // the turn has come: its client owns the agent
	served                // its fetch has been done
	given                 // up: the agent hangs. What was lent to it is lost
)

func newLocal(h *host, ag *agent, impl pmda.Agent) *local {
	l := &local{ag: ag, h: h, run: pmda.NewRunner(impl, pmda.RunnerOptions{Name: ag.name(), Log: h.Log})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// acquire waits for c's turn. The verdict served comes only if p is not nil.
func (l *local) acquire(c *client, p *part, without func(*client)) (*turn, verdict) {
	t := c.turn
	t.part, t.without, t.next = p, without, nil
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
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	l.mu.Unlock()
	v := <-t.wake
	if v == given {
		c.turn = newTurn(c)
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
// held, and the caller has to return errAbandoned.
func (l *local) back(t *turn) bool {
	l.mu.Lock()
	if !t.abandoned {
		return true
	}
	took := time.Duration(l.h.now() - l.began.Load())
	l.owner = nil
	l.ag.notReady.Store(false)
	l.mu.Unlock()
	l.h.Log.Warn("agent answers again", "agent", l.ag.name(), "after", took.Round(time.Millisecond))
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

// takeFetches moves the fetches that wait into the owner's group, but heavy
// ones: they would make the others of the group wait. Called with l.mu held.
func (l *local) takeFetches() {
	var head, tail *turn
	for t := l.head; t != nil; {
		next := t.next
		t.next = nil
		if t.part != nil && len(t.part.ids) < heavyMetrics {
			l.group = append(l.group, t)
		} else {
			if tail == nil {
				head = t
			} else {
				tail.next = t
			}
			tail = t
		}
		t = next
	}
	l.head, l.tail = head, tail
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
		l.doing("agent", l.ag.name(), "timeout", timeout)...)
}

// doing adds to the attributes of a log line what the agent says it is doing.
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
	l.ag.notReady.Store(true)
	l.group, l.head, l.tail = nil, nil, nil
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(context.Background())
	owner.c.takeOver(owner.without)
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

// fetch implements backend.
func (l *local) fetch(c *client, p *part) error {
	if err := l.introduce(c, (*client).fetchWithout); err != nil {
		return err
	}
	t, v := l.acquire(c, p, (*client).fetchWithout)
	switch v {
	case given:
		c.lose(p)
		return nil
	case served:
		return nil
	}
	if err := l.refreshGroup(t); err != nil {
		return err
	}
	l.fetchOne(t, t)
	for {
		if !l.back(t) {
			return errAbandoned
		}
		if len(l.group) == 0 {
			l.release()
			return nil
		}
		other := l.group[0]
		l.mu.Unlock()
		l.fetchOne(t, other)
		if !l.back(t) {
			return errAbandoned
		}
		l.group[0] = nil
		l.group = l.group[1:]
		l.mu.Unlock()
		other.wake <- served
	}
}

// refreshGroup reads the source once for the owner and all fetches that wait by
// then.
func (l *local) refreshGroup(t *turn) error {
	if !l.run.Refreshes() {
		l.check(t, t)
		return nil
	}
	if l.cost > cheapRefresh && l.h.Clients() > 1 {
		// Requests that have come but were not looked at yet join the queue.
		runtime.Gosched()
	}
	if !l.back(t) {
		return errAbandoned
	}
	l.began.Store(l.h.now())
	l.takeFetches()
	group := l.group
	l.mu.Unlock()
	l.check(t, t)
	for _, other := range group {
		l.check(t, other)
	}
	ids := l.wanted(t.part, group)
	if len(ids) == 0 {
		return nil
	}
	err := l.run.Refresh(t.ctx, ids)
	took := l.h.now() - l.began.Load()
	if !l.back(t) {
		return errAbandoned
	}
	defer l.mu.Unlock()
	l.cost = (3*l.cost + took) / 4
	if err != nil {
		t.part.err = err
		for _, other := range group {
			other.part.err = err
		}
	}
	return nil
}

// check asks the agent, in t's turn, whether the client of other may have its
// part.
func (l *local) check(t, other *turn) {
	other.part.err = l.run.Check(t.ctx, &other.c.pub)
}

// wanted returns the metrics that a refresh is for: those of all that may have
// their part.
func (l *local) wanted(p *part, group []*turn) []pcp.PMID {
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
	for _, t := range group {
		add(t.part)
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

// fetchOne has the agent fill, in t's turn, the part of other.
func (l *local) fetchOne(t, other *turn) {
	p := other.part
	if p.err != nil {
		return
	}
	l.began.Store(l.h.now())
	p.req = pmda.FetchRequest{Client: &other.c.pub, Profile: p.profile, PMIDs: p.ids, Result: &p.res}
	var state wire.State
	if state, p.err = l.run.Values(t.ctx, &p.req); state != 0 {
		l.h.Changed(state)
	}
}

// call makes a call that is not a fetch.
func (l *local) call(c *client, without func(*client), fn func(ctx context.Context) error) error {
	t, v := l.acquire(c, nil, without)
	if v != owned {
		return pcp.ErrAgain
	}
	err := fn(t.ctx)
	if !l.back(t) {
		return errAbandoned
	}
	l.release()
	return err
}

// ask makes a call that has a result for a client.
func ask[T any](l *local, c *client, fn func(ctx context.Context) (T, error)) (result T, err error) {
	if err := l.introduce(c, (*client).refuseWithout); err != nil {
		return result, err
	}
	err = l.call(c, (*client).refuseWithout, func(ctx context.Context) (err error) {
		result, err = fn(ctx)
		return err
	})
	return result, err
}

// introduce tells the agent about a client that it has not seen. Its only
// error is errAbandoned.
func (l *local) introduce(c *client, without func(*client)) error {
	if !c.meet(l.ag) || !l.run.Attributes() || len(c.pub.Attrs) == 0 {
		return nil
	}
	err := l.call(c, without, func(ctx context.Context) error { return l.run.Introduce(ctx, &c.pub) })
	if errors.Is(err, errAbandoned) {
		return err
	}
	if err != nil {
		l.h.Warn("attributes "+l.ag.name(), "agent refused a client's attributes", "agent", l.ag.name(), "client", c.name, "err", err)
	}
	return nil
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
	if err := l.introduce(c, (*client).refuseWithout); err != nil {
		return err
	}
	return l.call(c, (*client).refuseWithout, func(ctx context.Context) error { return l.run.Store(ctx, &c.pub, res) })
}

// As in C, an agent that is not a DynamicNamer has only the names of the name
// space.

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

func (l *local) endContext(c *client) error {
	if !l.run.EndsContexts() {
		return nil
	}
	return l.call(c, (*client).leave, func(context.Context) error { l.run.EndContext(&c.pub); return nil })
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
	if l.owner == nil || l.owner.abandoned {
		l.mu.Unlock()
		return
	}
	l.giveUp()
}
