package pmapi

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/timezone"
	"github.com/go-pcp/pcp/pmns"
)

// A Context is a source of metrics with its own profile, as pmNewContext(3)
// makes. Its methods may be called from many goroutines; requests of one
// context are answered in turn.
//
// Calls that return a slice of results with an error return what was found:
// one bad name or metric does not spoil the others.
//
// A request ends when its context.Context does, or with pcp.ErrTimeout when
// the collector takes longer than the request time-out. The answer is then
// still on the way, so the connection is given up: what follows returns
// pcp.ErrIPC until [Context.Reconnect]. So does a connection that broke.
type Context struct {
	src  source
	turn chan struct{} // holds a token while a request is under way
	ns   atomic.Pointer[pmns.Tree]

	events *pmns.Tree // what every source has besides its own metrics

	mu      sync.Mutex
	profile pcp.Profile
	gen     uint64 // counts changes of profile, from 1

	types types
}

// A source answers the requests of one Context, one at a time except for close.
type source interface {
	// lookupNames fills ids, all PMIDNull before, with the PMID of each name.
	// The error is that of the first without one.
	lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error
	names(ctx context.Context, id pcp.PMID) ([]string, error)
	children(ctx context.Context, name string) ([]pmns.Child, error)
	leaves(ctx context.Context, name string) ([]string, error)

	// descs fills descs in the same manner as lookupNames.
	descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error
	text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error)
	// labels heeds the profile of c for instance labels only.
	labels(ctx context.Context, c *Context, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error)
	// instances returns one instance by number or by name, or all, as
	// wire.InstanceReq says.
	instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error)

	// fetch fills res. Unless keep is true its values may point into memory
	// that the next call overwrites.
	fetch(ctx context.Context, c *Context, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error)
	store(ctx context.Context, res *pcp.Result) error

	reconnect(ctx context.Context) error
	dup(ctx context.Context) (source, error)
	hostName() string
	pduCounts() (sent, received PDUCounts)
	close() error
}

func newContext(src source) *Context {
	return &Context{src: src, turn: make(chan struct{}, 1), events: pmns.Events(), gen: 1}
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

// Close ends the context (pmDestroyContext(3)). A request that is under way
// fails; what follows returns pcp.ErrNoContext.
func (c *Context) Close() error { return c.src.close() }

// Dup returns a new context on the same source with a copy of the profile and
// the name space (pmDupContext(3)). It makes a connection of its own, as the
// C library does: neither context waits for the other.
func (c *Context) Dup(ctx context.Context) (*Context, error) {
	// A source's dup touches only what never changes: no turn is needed, and
	// a context whose connection is stuck can still be duplicated.
	src, err := c.src.dup(ctx)
	if err != nil {
		return nil, err
	}
	n := newContext(src)
	n.ns.Store(c.ns.Load())
	c.mu.Lock()
	n.profile = *c.profile.Clone()
	c.mu.Unlock()
	return n, nil
}

// Reconnect makes a broken connection anew, and a good one too
// (pmReconnectContext(3)). The profile stays and is sent again. After a failed
// attempt the collector is left alone for a while, 5, 10, 20, 40, then 80 s or
// as PMCD_RECONNECT_TIMEOUT lists; a call before that fails at once. Failures
// have the status -ETIMEDOUT.
func (c *Context) Reconnect(ctx context.Context) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	return c.src.reconnect(ctx)
}

// HostName returns the name of the host that the metrics describe
// (pmGetContextHostName(3)). If the collector does not tell, it is the name
// that the context was made with; of archives it is what the label says, and of
// agents in the process the system's.
func (c *Context) HostName(ctx context.Context) (string, error) {
	if c.Kind() != SourceHost {
		return c.src.hostName(), nil
	}
	name, err := c.fetchString(ctx, "pmcd.hostname")
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if name == "" {
		name = c.src.hostName()
	}
	return name, nil
}

// TimeZone returns the time zone of the host that the metrics describe, in the
// form of the variable TZ (the metric pmcd.timezone, or what the label of an
// archive says, or with agents in the process the system; pmNewContextZone(3)).
func (c *Context) TimeZone(ctx context.Context) (string, error) {
	if label, err := c.ArchiveLabel(); !errors.Is(err, pcp.ErrNotArchive) {
		return label.TimeZone, err
	}
	if c.Kind() == SourceLocal {
		if zone := timezone.File(); zone != "" {
			return zone, nil
		}
		return timezone.Local(timezone.MaxLen), nil
	}
	return c.fetchString(ctx, "pmcd.timezone")
}

// fetchString fetches the value of a metric that is a single string. It goes
// by the names of the source and not by those of UseNameSpace.
func (c *Context) fetchString(ctx context.Context, name string) (string, error) {
	if err := c.lock(ctx); err != nil {
		return "", err
	}
	defer c.unlock()
	ids := []pcp.PMID{pcp.PMIDNull}
	if err := c.src.lookupNames(ctx, []string{name}, ids); err != nil {
		return "", nameError(name, err)
	}
	var res pcp.Result
	if _, err := c.src.fetch(ctx, c, ids, &res, true); err != nil {
		return "", err
	}
	vs := &res.Sets[0]
	if vs.Err < 0 {
		return "", nameError(name, vs.Err)
	}
	if len(vs.Values) == 0 {
		return "", nameError(name, pcp.ErrValue)
	}
	return string(vs.Values[0].Bytes()), nil
}
