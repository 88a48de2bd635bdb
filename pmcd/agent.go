package pmcd

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A backend is how an agent is reached: in process or by PDUs. All
// methods may be called from many goroutines; each makes the agent's calls one
// at a time. They return an error that is, or wraps, a pcp.Error.
type backend interface {
	Desc(c *Caller, id pcp.PMID) (pcp.Desc, error)
	Instances(c *Caller, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error)
	Text(c *Caller, ident uint32, kind pcp.TextKind) (string, error)
	Labels(c *Caller, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error)
	Store(c *Caller, res *pcp.Result) error

	// The dynamic part of the name space.
	Names(c *Caller, id pcp.PMID) ([]string, error)
	Lookup(c *Caller, name string) (pcp.PMID, error)
	Children(c *Caller, name string) ([]pmns.Child, error)
	Traverse(c *Caller, name string) ([]string, error)

	// fetch fills p. It returns false if p has to be left to the agent, which
	// hangs.
	fetch(c *Caller, p *Part) bool
	// sendFetch sends a part of a fetch to the agent if it is idle, and keeps the
	// agent to itself until the answer has been collected; p.link is set then. It
	// returns false if fetch is to be called instead.
	sendFetch(c *Caller, f *Fetch, p *Part, start time.Time) bool

	// greet introduces a client that has not asked for anything yet, if the
	// agent wants that. It returns false if that is to be tried again.
	greet(c *Caller) bool
	// endContext tells the agent that a client it has seen is gone.
	endContext(c *Caller)

	// start brings the agent up. One that does not come up is not connected.
	start()
	// stop ends the agent and waits for it as long as is reasonable.
	stop()
	// abandon ends a call that is under way, so that no caller waits for it.
	abandon()
	// dropClosed drops an agent that has closed its connection.
	dropClosed()
	// rename gives the agent another name while it runs.
	rename(name string)

	// features returns what the agent says it can do.
	features() wire.Features
	// nameSpace returns the names that the agent brings along, or nil.
	nameSpace() *pmns.Tree
	// describe writes what the log's table of agents says about it.
	describe(b *strings.Builder)
	// ended returns, after the agent was stopped, its files and, for the log,
	// how its process ended.
	ended() (in, out int, how string)
}

// An agent is one row of the server's table.
type agent struct {
	spec  AgentSpec
	label atomic.Pointer[string] // its name at present, if it was renamed
	index int                    // a number that no other agent of the table has
	host  *host
	be    backend

	// reviving is set for an agent that takes the place of one that died.
	reviving bool

	pid       atomic.Int32
	notReady  atomic.Bool
	fenced    atomic.Bool
	connected atomic.Bool

	mu     sync.Mutex
	reason int // why it is not connected, as in pmcd.agent.status
}

// Reasons for an agent not being connected: the low byte of pmcd.agent.status
// (REASON_*); an exit status or signal stands above it.
const (
	statusNotReady = 1
	reasonExit     = 2
	reasonNoStart  = 4
	reasonProtocol = 8
)

// name is that of the configuration, which can change while the agent runs.
func (a *agent) name() string {
	if l := a.label.Load(); l != nil {
		return *l
	}
	return a.spec.Name
}

// rename gives a another name while it runs.
func (a *agent) rename(name string) {
	a.label.Store(&name)
	a.be.rename(name)
}

// absent reports whether a is an agent in process that could not be made.
func (a *agent) absent() bool { return a.spec.Kind == conf.DSO && !a.connected.Load() }

// usable returns the error for a request that cannot go to a, or nil if it can.
func (a *agent) usable() error {
	switch {
	case !a.connected.Load():
		return pcp.ErrNoAgent
	case a.fenced.Load():
		return pcp.ErrPMDAFenced
	case a.notReady.Load():
		return pcp.ErrAgain
	}
	return nil
}

// askable returns the error for a request of c that cannot go to a, or nil if it
// can.
func (a *agent) askable(c *Caller) error {
	if err := c.alive(); err != nil {
		return err
	}
	return a.usable()
}

// died reports whether a, or the agent in whose place it is, was up once.
func (a *agent) died() bool {
	if a.connected.Load() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reviving || a.reason != reasonNoStart
}

// status is the value of pmcd.agent.status.
func (a *agent) status() int {
	if a.connected.Load() {
		if a.notReady.Load() {
			return statusNotReady
		}
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason
}
