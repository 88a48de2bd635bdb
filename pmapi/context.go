package pmapi

import (
	"context"
	"sync"

	"github.com/go-pcp/pcp"
)

// A Context is a source of metrics with its own profile, as pmNewContext(3)
// makes. Its methods may be called from many goroutines; requests of one
// context are answered in turn.
//
// Calls that return a slice of results with an error return the results that were
// found: one bad name or metric does not spoil the others.
//
// A request ends when its context.Context does, or with pcp.ErrTimeout when
// the collector takes longer than the request time-out. The answer is then
// still on the way, so the connection is given up: later requests return
// pcp.ErrIPC until [Context.Reconnect], as after a broken connection.
type Context struct {
	src     source // with all that is laid over it
	names   *named // these are two of the layers
	derived *derived
	traced  *traced       // nil without debug options
	host    *host         // below all layers, if that is a collector and nothing is traced
	turn    chan struct{} // holds a token while a request is under way
	types   types

	mu      sync.Mutex
	profile profile
	lent    bool // requests may have profile: a change is made to a copy
}

// newContext makes a context on base. With a trace that t is, its calls are printed.
func newContext(base source, t *trace) *Context {
	c := &Context{turn: make(chan struct{}, 1), profile: profile{new(pcp.Profile), 1}}
	c.derived, c.names = overlays(base)
	c.src = c.derived
	c.host, _ = base.(*host)
	if t != nil {
		c.host = nil
		t.lookup = c.derived.source
		c.traced = &traced{c.derived, t}
		c.src = c.traced
	}
	return c
}

// lock waits for the context's turn at the source.
func (c *Context) lock(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Context) unlock() { <-c.turn }

// Close ends the context (pmDestroyContext(3)). A request under way fails; later
// requests return pcp.ErrNoContext.
func (c *Context) Close() error {
	if u := c.derived.uses.Load(); u != nil {
		u.b.Closed()
	}
	return c.src.close()
}

// Dup returns a new context on the same source with a copy of the profile, the
// name space and the derived metrics of [Context.UseDerived] (pmDupContext(3)). It makes a connection of its own, as the
// C library does: neither context waits for the other.
func (c *Context) Dup(ctx context.Context) (*Context, error) {
	// A source's dup touches only what never changes: no turn is needed, and
	// a context whose connection is stuck can still be duplicated.
	t := c.traced.another()
	t.enter("pmDupContext()")
	src, err := c.src.dup(ctx)
	if h, ok := src.(*host); ok {
		t.share(h)
	}
	t.duplicated(src, err)
	if err != nil {
		return nil, err
	}
	n := newContext(src, t)
	n.names.use(c.names.tree())
	if u := c.derived.uses.Load(); u != nil {
		n.UseDerived(u.set, u.report)
	}
	n.profile.Profile = c.lendProfile().Profile.Clone()
	return n, nil
}

// Kind returns what the context is on.
func (c *Context) Kind() SourceKind { return c.src.kind() }

// Reconnect replaces the connection, whether broken or good
// (pmReconnectContext(3)). The profile stays and is sent again. After a failed
// attempt no other is made for a while, 5, 10, 20, 40, then 80 s or as
// PMCD_RECONNECT_TIMEOUT lists; a call before that fails at once. Failures
// have the status -ETIMEDOUT.
func (c *Context) Reconnect(ctx context.Context) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.src.reconnect(ctx)
}

// HostName returns the name of the host that the metrics describe
// (pmGetContextHostName(3)). If the collector does not report it, it is the
// name that the context was made with; for archives it is from the label, and
// for agents in the process from the system.
func (c *Context) HostName(ctx context.Context) (string, error) {
	if err := c.lock(ctx); err != nil {
		return "", err
	}
	defer c.unlock()
	return c.src.hostName(ctx, c.lendProfile())
}

// TimeZone returns the time zone of the host that the metrics describe, in the
// form of the variable TZ (from the metric pmcd.timezone, the label of an
// archive or, with agents in the process, the system; pmNewContextZone(3)).
func (c *Context) TimeZone(ctx context.Context) (string, error) {
	if err := c.lock(ctx); err != nil {
		return "", err
	}
	defer c.unlock()
	return c.src.timeZone(ctx, c.lendProfile())
}

// PDUCounts returns how many PDUs the context sent and received so far, over
// all connections it had.
func (c *Context) PDUCounts() (sent, received PDUCounts) { return c.src.pduCounts() }

// ownProfile returns the profile for a change. The mutex is held.
func (c *Context) ownProfile() *pcp.Profile {
	if c.lent {
		c.profile.Profile, c.lent = c.profile.Clone(), false
	}
	c.profile.gen++
	return c.profile.Profile
}

// lendProfile returns the profile for a request.
func (c *Context) lendProfile() profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent = true
	return c.profile
}

// overlays layers the features that every context has over a source. The order
// matters: each layer sees the names and metrics of those below it.
func overlays(base source) (*derived, *named) {
	names := &named{source: base}
	d := &derived{source: newEvents(names), plain: names}
	d.below.source = d.source
	return d, names
}
