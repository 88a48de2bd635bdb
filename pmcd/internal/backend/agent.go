package backend

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// An Agent is one agent of a collector. Only its link, whose methods it has,
// knows how it is reached; its present state is in the Agent itself.
type Agent struct {
	link

	spec  conf.Agent
	index int // a number that no other agent of the collector has
	host  *Host
	label atomic.Pointer[string] // its name at present, if it was renamed

	pid       atomic.Int32
	notReady  atomic.Bool // the agent reported so
	late      atomic.Bool // an answer, or the end of a call, is overdue
	fenced    atomic.Bool
	connected atomic.Bool

	mu     sync.Mutex
	reason int // why it is not connected, as in pmcd.agent.status

	known known
}

// A link is the way an agent is reached: in process or by PDUs. All methods may be called
// from many goroutines; each makes the agent's calls one at a time. They return an error
// that is, or wraps, a pcp.Error. Agent has its own methods in front of those whose
// answers known.go keeps.
type link interface {
	Desc(c *Caller, id pcp.PMID) (pcp.Desc, error)
	Instances(c *Caller, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error)
	Text(c *Caller, ident uint32, kind pcp.TextKind) (string, error)
	Labels(c *Caller, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error)
	Store(c *Caller, res *pcp.Result) error

	// The dynamic part of the name space. Traverse returns ErrNoNames for an agent
	// in process without dynamic names.
	Names(c *Caller, id pcp.PMID) ([]string, error)
	Lookup(c *Caller, name string) (pcp.PMID, error)
	Children(c *Caller, name string) ([]pmns.Child, error)
	Traverse(c *Caller, name string) ([]string, error)

	// Start starts the agent. If that fails, it is not connected.
	Start()
	// Stop ends the agent and waits for it as long as is reasonable.
	Stop()
	// Abandon ends a call that is under way, so that no caller waits for it.
	Abandon()
	// DropClosed drops an agent that has closed its connection.
	DropClosed()

	// Features returns the features that the agent announced.
	Features() wire.Features
	// NameSpace returns the names that the agent brings along, or nil.
	NameSpace() *pmns.Tree
	// Describe writes the agent's entry in the log's table of agents.
	Describe(b *strings.Builder)
	// Waiting returns how many callers are in the queue of an agent in process.
	Waiting() int

	// fetch fills p. It returns false if p must be left to the agent, which
	// hangs.
	fetch(c *Caller, p *Part) bool
	// sendFetch sends a part of f to the agent if it is idle, and keeps the agent
	// to itself until the answer has been collected; p.sentTo is set then. It
	// returns false if fetch must be called instead.
	sendFetch(c *Caller, f *Fetch, p *Part, start time.Time) bool

	// greet introduces a client that has not asked for anything yet, if the agent
	// wants that. It returns false if that must be tried again.
	greet(c *Caller) bool
	// endContext notifies the agent that a client it has seen is gone.
	endContext(c *Caller)

	// rename gives the agent another name while it runs.
	rename(name string)
	// ended returns, after the agent was stopped, its files and, for the log,
	// how its process ended.
	ended() (in, out int, how string)
}

// NewLocal returns an agent in this process. Index is a number that no other
// agent of the collector has, and low.
func NewLocal(h *Host, spec conf.Agent, index int, impl pmda.Agent) *Agent {
	a := &Agent{spec: spec, index: index, host: h}
	a.link = newLocal(h, a, impl)
	a.connected.Store(true)
	return a
}

// NewRemote returns an agent that is reached by the Transport of spec, once it
// has been started.
func NewRemote(h *Host, spec conf.Agent, index int) *Agent {
	a := &Agent{spec: spec, index: index, host: h, reason: reasonNoStart}
	a.link = newRemote(h, a)
	return a
}

// NewAbsent returns an agent in this process that could not be made.
func NewAbsent(h *Host, spec conf.Agent, index int) *Agent {
	return &Agent{link: absent{}, spec: spec, index: index, host: h, reason: reasonNoStart}
}

// Index is that of the constructor.
func (a *Agent) Index() int { return a.index }

// Domain is the agent's domain.
func (a *Agent) Domain() int { return a.spec.Domain }

// Name is that of the configuration, which can change while the agent runs.
func (a *Agent) Name() string {
	if l := a.label.Load(); l != nil {
		return *l
	}
	return a.spec.Name
}

// Rename gives a another name while it runs.
func (a *Agent) Rename(name string) {
	a.label.Store(&name)
	a.rename(name)
}

// remote reports whether a is in another process.
func (a *Agent) remote() bool { return a.spec.Kind != conf.DSO }

// Reasons for an agent not being connected: the low byte of pmcd.agent.status
// (REASON_*); an exit status or signal is in the bits above it.
const (
	statusNotReady = 1
	reasonExit     = 2
	reasonNoStart  = 4
	reasonProtocol = 8
)

// Connected reports whether a is up.
func (a *Agent) Connected() bool { return a.connected.Load() }

// Fenced reports whether requests are kept from a.
func (a *Agent) Fenced() bool { return a.fenced.Load() }

// Fence keeps requests from a, or lets them through again. It returns whether
// that is a change.
func (a *Agent) Fence(on bool) bool { return a.fenced.Swap(on) != on }

// Usable returns the error for a request that cannot go to a, or nil if it can.
func (a *Agent) Usable() error {
	switch {
	case !a.connected.Load():
		return pcp.ErrNoAgent
	case a.fenced.Load():
		return pcp.ErrPMDAFenced
	case a.notReady.Load(), a.late.Load():
		return pcp.ErrAgain
	}
	return nil
}

// Overdue reports whether a has been asked something and has not answered in time. Requests
// are kept from it until it does.
func (a *Agent) Overdue() bool { return a.connected.Load() && a.late.Load() }

// askable returns the error for a request of c that cannot go to a, or nil if it
// can.
func (a *Agent) askable(c *Caller) error {
	if err := c.alive(); err != nil {
		return err
	}
	return a.Usable()
}

// WasUp reports whether a is not connected now, but was.
func (a *Agent) WasUp() bool {
	if a.connected.Load() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason != reasonNoStart
}

// Status is the value of pmcd.agent.status.
func (a *Agent) Status() int {
	if a.connected.Load() {
		if a.notReady.Load() || a.late.Load() {
			return statusNotReady
		}
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason
}
