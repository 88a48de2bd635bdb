package pmapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// A LocalAgent is an agent that a local context asks.
type LocalAgent struct {
	Name   string // the label "agent" of its metrics, unless it has labels of its own
	Domain int    // that it serves
	Agent  pmda.Agent
}

// LocalOptions are the settings of a local context. The zero value has the
// defaults.
type LocalOptions struct {
	Container string       // the container that agents are to report on, "" for the host
	LabelsDir string       // where the site's labels are (PCP_SYSCONF_DIR), "" for none
	Log       *slog.Logger // what agents panic with; nil discards

	// Names loads the name space. It is called at the first lookup, and again at
	// the next one if it returned an error, which that lookup then returns. Nil
	// means the names that the agents bring along.
	Names func() (*pmns.Tree, error)
}

// OpenLocal returns a context on agents in this process: there is no collector
// and no connection. It is pmNewContext(PM_CONTEXT_LOCAL), but the caller says
// which agents there are.
//
// Names are those that the agents bring along (pmda.NameSpacer), unless
// [LocalOptions] or [Context.UseNameSpace] say otherwise, and in both cases those that agents
// answer for below a dynamic root (pmda.DynamicNamer).
//
// Each context, and each of its duplicates, is a client of its own to the
// agents. An agent gets one call at a time from them; it must not serve anybody
// else besides. A call that takes longer than its context.Context allows is left
// alone: its caller gets an error, and others wait until the agent has
// returned from it. One whose context.Context cannot end is made at less cost,
// and neither that nor Close ends it. The agents remain the caller's: Close only tells them that
// the client has gone.
func OpenLocal(agents ...LocalAgent) (*Context, error) {
	return OpenLocalOptions(LocalOptions{}, agents...)
}

// OpenLocalOptions is OpenLocal with options.
func OpenLocalOptions(o LocalOptions, agents ...LocalAgent) (*Context, error) {
	set := &localAgents{opts: o, byDomain: make(map[int]*localAgent, len(agents)), tree: pmns.New()}
	if set.opts.Log == nil {
		set.opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkContainer(o.Container); err != nil {
		return nil, err
	}
	for _, la := range agents {
		switch old := set.byDomain[la.Domain]; {
		case la.Agent == nil:
			return nil, fmt.Errorf("agent %s: there is none: %w", la.Name, pcp.ErrNoAgent)
		case la.Domain <= 0 || la.Domain > pcp.MaxAgentDomain:
			return nil, fmt.Errorf("agent %s: domain %d is not in 1...%d", la.Name, la.Domain, pcp.MaxAgentDomain)
		case old != nil:
			return nil, fmt.Errorf("agent %s: domain %d is that of %s", la.Name, la.Domain, old.Name)
		}
		a := &localAgent{
			LocalAgent: la,
			turn:       make(chan struct{}, 1),
			run:        pmda.NewRunner(la.Agent, pmda.RunnerOptions{Name: la.Name, Log: set.opts.Log}),
		}
		set.byDomain[la.Domain] = a
		tree := a.run.NameSpace()
		if tree == nil {
			continue
		}
		if err := set.tree.Merge(tree); err != nil {
			return nil, fmt.Errorf("names of agent %s: %w", la.Name, err)
		}
	}
	return newContext(set.newClient()), nil
}

// localAgents are what a local context shares with its duplicates.
type localAgents struct {
	opts     LocalOptions
	byDomain map[int]*localAgent
	clients  atomic.Int32

	mu     sync.Mutex
	tree   *pmns.Tree // of LocalOptions.Names, or of the names that the agents bring along
	loaded bool       // tree is what it has to be
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

// A localAgent is an agent and what makes its calls.
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

	// What follows is of the request under way.
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
// caller must not use what fn writes to.
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

// errExited is what becomes of a call in which the agent ends the goroutine, as
// a test does that fails there.
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

// introduce tells an agent about the client if it does not know it, whose turn
// it is.
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
	return hostlabels.ReadHost().Name, nil
}

func (l *local) timeZone(context.Context, profile) (string, error) {
	if zone := timezone.File(); zone != "" {
		return zone, nil
	}
	return timezone.Local(timezone.MaxLen), nil
}

func (l *local) pduCounts() (sent, received PDUCounts) { return sent, received }
