package backend

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// fetch implements link.
func (l *local) fetch(c *Caller, p *Part) bool {
	l.introduce(c)
	if c.abandoned {
		return false
	}
	if l.run.Prepares() {
		l.mu.Lock()
		ctx := l.ctx
		l.mu.Unlock()
		l.run.Prepare(ctx, p.PMIDs)
	}
	t, v := l.acquire(c, p)
	if v != owned {
		return v == served
	}
	if !l.refreshGroup(t) {
		return false
	}
	l.fetchOne(t, t)
	for {
		if !l.back(t) {
			return false
		}
		if len(l.group) == 0 {
			l.release()
			return true
		}
		other := l.group[0]
		l.mu.Unlock()
		l.fetchOne(t, other)
		if !l.back(t) {
			return false
		}
		l.group[0] = nil
		l.group = l.group[1:]
		l.mu.Unlock()
		other.wake <- served
	}
}

// refreshGroup reads the source once for the owner and all fetches that wait by
// then. It returns false if the owner's caller is abandoned.
func (l *local) refreshGroup(t *turn) bool {
	if !l.run.Refreshes() {
		l.check(t, t)
		return true
	}
	if l.cost > cheapRefresh && l.h.Clients() > 1 {
		// Requests that have come but were not looked at yet join the queue.
		runtime.Gosched()
	}
	if !l.back(t) {
		return false
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
		return true
	}
	err := l.run.Refresh(t.ctx, ids)
	took := l.h.now() - l.began.Load()
	if !l.back(t) {
		return false
	}
	defer l.mu.Unlock()
	l.cost = (3*l.cost + took) / 4
	if err != nil {
		t.part.Err = err
		for _, other := range group {
			other.part.Err = err
		}
	}
	return true
}

// check asks the agent, in t's turn, whether the client of other may have its
// part.
func (l *local) check(t, other *turn) {
	other.part.Err = l.run.Check(t.ctx, other.c.client)
}

// wanted returns the metrics that a refresh is for: those of all that may have
// their part.
func (l *local) wanted(p *Part, group []*turn) []pcp.PMID {
	l.union = l.union[:0]
	var ids []pcp.PMID // of the first, and while the others want the same of all
	add := func(p *Part) {
		switch {
		case p.Err != nil || slices.Equal(ids, p.PMIDs):
		case len(ids) == 0:
			ids = p.PMIDs
			l.union = append(l.union, ids...)
		default:
			l.union = append(l.union, p.PMIDs...)
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
	if p.Err != nil {
		return
	}
	l.began.Store(l.h.now())
	p.req = pmda.FetchRequest{Client: other.c.client, Profile: p.profile, PMIDs: p.PMIDs, Result: &p.Result}
	var state wire.State
	if state, p.Err = l.run.Values(t.ctx, &p.req); state != 0 {
		l.h.Changed(state)
	}
}

// HeavyPart is for how many metrics an agent's part of a fetch is heavy.
const HeavyPart = 4096

// takeFetches moves the fetches that wait into the owner's group, but heavy
// ones: they would make the others of the group wait. Called with l.mu held.
func (l *local) takeFetches() {
	var head, tail *turn
	for t := l.head; t != nil; {
		next := t.next
		t.next = nil
		if t.part != nil && len(t.part.PMIDs) < HeavyPart {
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

func (l *local) Desc(c *Caller, id pcp.PMID) (pcp.Desc, error) {
	return ask(l, c, func(ctx context.Context) (pcp.Desc, error) { return l.run.Desc(ctx, c.client, id) })
}

func (l *local) Instances(c *Caller, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	return ask(l, c, func(ctx context.Context) ([]pcp.Instance, error) {
		return l.run.Instances(ctx, c.client, indom, inst, name)
	})
}

func (l *local) Text(c *Caller, ident uint32, kind pcp.TextKind) (string, error) {
	return ask(l, c, func(ctx context.Context) (string, error) { return l.run.Text(ctx, c.client, ident, kind) })
}

func (l *local) Labels(c *Caller, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	return ask(l, c, func(ctx context.Context) ([]pcp.LabelSet, error) {
		return l.run.Labels(ctx, c.client, ident, kind, nil)
	})
}

func (l *local) Store(c *Caller, res *pcp.Result) error {
	res = res.Clone()
	l.introduce(c)
	return l.call(c, func(ctx context.Context) error { return l.run.Store(ctx, c.client, res) })
}

// As in C, an agent that is not a DynamicNamer has only the names of the name
// space.

func (l *local) Names(c *Caller, id pcp.PMID) ([]string, error) {
	if !l.run.Dynamic() {
		return nil, pcp.ErrPMID
	}
	return ask(l, c, func(ctx context.Context) ([]string, error) { return l.run.Names(ctx, c.client, id) })
}

func (l *local) Lookup(c *Caller, name string) (pcp.PMID, error) {
	if !l.run.Dynamic() {
		return pcp.PMIDNull, pcp.ErrNonLeaf
	}
	return ask(l, c, func(ctx context.Context) (pcp.PMID, error) { return l.run.LookupName(ctx, c.client, name) })
}

func (l *local) Children(c *Caller, name string) ([]pmns.Child, error) {
	if !l.run.Dynamic() {
		return nil, pcp.ErrName
	}
	return ask(l, c, func(ctx context.Context) ([]pmns.Child, error) {
		return l.run.Children(ctx, c.client, name, false)
	})
}

// ErrNoNames means that an agent has no dynamic names at all.
var ErrNoNames = errors.New("agent has no dynamic names")

func (l *local) Traverse(c *Caller, name string) ([]string, error) {
	if !l.run.Dynamic() {
		return nil, ErrNoNames
	}
	list, err := ask(l, c, func(ctx context.Context) ([]pmns.Child, error) {
		return l.run.Children(ctx, c.client, name, true)
	})
	names := make([]string, len(list))
	for i, ch := range list {
		names[i] = ch.Name
	}
	return names, err
}

// endContext implements link. An agent that is overdue is notified when its call
// returns.
func (l *local) endContext(c *Caller) {
	if !l.run.EndsContexts() {
		return
	}
	for {
		err := l.call(c, func(context.Context) error { l.run.EndContext(c.client); return nil })
		if err == nil || c.abandoned {
			return
		}
		l.mu.Lock()
		later := l.owner != nil && l.owner.abandoned
		if later {
			l.left = append(l.left, c.client)
		}
		l.mu.Unlock()
		if later {
			return
		}
	}
}
