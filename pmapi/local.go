package pmapi

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/internal/timezone"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// localAgents are what a local context shares with its duplicates.
type localAgents struct {
	opts     LocalOptions
	byDomain map[int]*localAgent
	clients  atomic.Int32

	mu     sync.Mutex
	tree   *pmns.Tree // of LocalOptions.Names, or of the names that the agents bring along
	loaded bool       // tree is up to date
}

// names returns the name space of the context.
func (set *localAgents) names() (*pmns.Tree, error) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if !set.loaded && set.opts.Names != nil {
		t, err := set.opts.Names()
		if err != nil {
			return nil, err
		}
		set.tree = t
	}
	set.loaded = true
	return set.tree, nil
}

// A localAgent is an agent and the state for its calls.
type localAgent struct {
	LocalAgent
	turn chan struct{} // holds a token while a call is under way
	run  *pmda.Runner
}

// A local is the source of a local context: one client of its agents.
type local struct {
	set    *localAgents
	client *pmda.Client
	done   chan struct{} // closed with the context

	mu     sync.Mutex
	closed bool
	met    []*localAgent // those that know the client

	// The following fields are of the request under way.
	parts []*localPart // of fetches, reused
	idle  *localCall   // reused
	picks []localPick
}

func (set *localAgents) newClient() *local {
	attrs := map[wire.AttrKey]string{
		wire.AttrUserID:    strconv.Itoa(os.Getuid()),
		wire.AttrGroupID:   strconv.Itoa(os.Getgid()),
		wire.AttrProcessID: strconv.Itoa(os.Getpid()),
	}
	if set.opts.Container != "" {
		attrs[wire.AttrContainer] = set.opts.Container
	}
	return &local{
		set:    set,
		client: &pmda.Client{ID: int(set.clients.Add(1) - 1), Attrs: attrs},
		done:   make(chan struct{}),
	}
}

// agent returns the agent of a domain, or pcp.ErrNoAgent.
func (l *local) agent(domain int) (*localAgent, error) {
	if a := l.set.byDomain[domain]; a != nil {
		return a, nil
	}
	return nil, pcp.ErrNoAgent
}

// askLocal makes a call of an agent that has a result.
func askLocal[T any](ctx context.Context, l *local, a *localAgent, fn func(ctx context.Context) (T, error)) (T, error) {
	var result, none T
	err := l.call(ctx, a, func(ctx context.Context) (err error) {
		result, err = fn(ctx)
		return err
	})
	if err != nil {
		return none, err // fn may still write to result
	}
	return result, nil
}

// call makes a call of an agent. If it returns an error, fn may still run, so the
// caller must not use the variables that fn writes.
func (l *local) call(ctx context.Context, a *localAgent, fn func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-l.done:
		return errClosed
	default:
	}
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.done:
		return errClosed
	}
	if ctx.Done() == nil {
		// Nothing ends the call before the agent does.
		defer func() { <-a.turn }()
		l.introduce(ctx, a)
		return fn(ctx)
	}
	c := l.idle
	if c == nil {
		c = &localCall{l: l, done: make(chan error, 1)}
	}
	l.idle = nil
	c.agent, c.ctx, c.fn = a, ctx, fn
	go c.run()
	select {
	case err := <-c.done:
		c.ctx, c.fn = nil, nil
		l.idle = c
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.done:
		return errClosed
	}
}

// A localCall is a call of an agent, in a goroutine of its own.
type localCall struct {
	l     *local
	agent *localAgent
	ctx   context.Context
	fn    func(ctx context.Context) error
	done  chan error // has room for one
}

// errExited is the error of a call in which the agent ends the goroutine, like a
// test that fails there.
var errExited = errors.New("agent did not return from a call")

func (c *localCall) run() {
	err := errExited
	defer func() {
		<-c.agent.turn
		c.done <- err
	}()
	c.l.introduce(c.ctx, c.agent)
	err = c.fn(c.ctx)
}

// introduce introduces the client to an agent that does not know it. The caller
// holds the agent's turn.
func (l *local) introduce(ctx context.Context, a *localAgent) {
	l.mu.Lock()
	known := slices.Contains(l.met, a)
	if !known {
		l.met = append(l.met, a)
	}
	l.mu.Unlock()
	if known {
		return
	}
	if err := a.run.Introduce(ctx, l.client); err != nil {
		l.set.opts.Log.Warn("agent refused an attribute of its client", "agent", a.Name, "err", err)
	}
}

func (l *local) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	l.closed = true
	close(l.done)
	var gone sync.WaitGroup
	for _, a := range l.met {
		if !a.run.EndsContexts() {
			continue
		}
		bye := func() {
			a.run.EndContext(l.client)
			<-a.turn
		}
		select {
		case a.turn <- struct{}{}:
			gone.Go(bye)
		default:
			// It is busy, perhaps for ever.
			go func() {
				a.turn <- struct{}{}
				bye()
			}()
		}
	}
	gone.Wait()
	return nil
}

func (l *local) dup(ctx context.Context) (source, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	return l.set.newClient(), nil
}

func (l *local) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	return nil
}

func (l *local) reconnect(ctx context.Context) error { return l.begin(ctx) }

func (l *local) kind() SourceKind { return SourceLocal }

func (l *local) location() Location { return PMNSLocal }

func (l *local) archive() *recording { return nil }

func (l *local) nextOf(context.Context, []pcp.PMID, *pcp.Result) error { return pcp.ErrNotArchive }

func (l *local) hostName(context.Context, profile) (string, error) {
	return hostlabels.ReadHost(l.set.opts.HostRoot).Name, nil
}

func (l *local) timeZone(context.Context, profile) (string, error) {
	if zone := timezone.File(); zone != "" {
		return zone, nil
	}
	return timezone.Local(timezone.MaxLen), nil
}

func (l *local) ahead(context.Context, []pcp.Desc, bool) error { return nil }

func (l *local) rest() {}

func (l *local) pduCounts() (sent, received PDUCounts) { return sent, received }

// A localPart is the part of one agent in a fetch.
type localPart struct {
	agent   *localAgent // nil if there is none
	domain  int
	ids     []pcp.PMID
	res     pcp.Result
	req     pmda.FetchRequest
	changes Changes
	err     error                           // for all of them
	run     func(ctx context.Context) error // fetch
}

// A localPick is the place of the set of one metric.
type localPick struct{ part, set int }
