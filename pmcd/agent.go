package pmcd

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

// A backend is how the server reaches an agent: in process or by PDUs. All
// methods may be called from many goroutines; each makes the agent's calls one
// at a time. They return an error that is, or wraps, a pcp.Error; or
// errAbandoned, after which the caller must leave c alone and return it (see
// turn).
type backend interface {
	// fetch fills p.res or sets p.err. Its only error is errAbandoned.
	fetch(c *client, p *part) error
	desc(c *client, id pcp.PMID) (pcp.Desc, error)
	instances(c *client, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error)
	text(c *client, ident uint32, kind pcp.TextKind) (string, error)
	labels(c *client, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error)
	store(c *client, res *pcp.Result) error

	// The dynamic part of the name space.
	names(c *client, id pcp.PMID) ([]string, error)
	lookup(c *client, name string) (pcp.PMID, error)
	children(c *client, name string) ([]pmns.Child, error)
	traverse(c *client, name string) ([]string, error)

	// sendFetch sends a part of a fetch to the agent if it is idle, and keeps the
	// agent to itself until the answer has been collected; p.link is set then. It
	// returns false if fetch is to be called instead.
	sendFetch(c *client, p *part, start time.Time) bool

	// greet introduces a client that has not asked for anything yet, if the
	// agent wants that. It returns false if that is to be tried again.
	greet(c *client) bool
	// endContext tells the agent that a client it has seen is gone.
	endContext(c *client) error

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

// A part is the share of one agent in one client's fetch. It belongs to the
// client's goroutine, and while a call for it runs to the agent's.
type part struct {
	ag      *agent // nil if there is none for the domain
	domain  int
	remote  bool // in another process
	ids     []pcp.PMID
	context int32
	profile *pcp.Profile
	res     pcp.Result
	err     error // for all ids
	next    int   // the set of res to be merged next

	alone   bool       // the fetch has no other part
	link    *remote    // to which sendFetch sent it; p holds its slot
	relay   wire.Relay // of a long result, if relayed
	relayed bool

	req pmda.FetchRequest
	buf []byte // holds what the values of res point into
	own []pcp.PMID
}

func (p *part) reset() {
	p.res.Reset()
	p.err, p.next, p.remote = nil, 0, false
	p.alone, p.link, p.relay, p.relayed = false, nil, wire.Relay{}, false
}

// forget drops what a part refers to beside its own memory.
func (p *part) forget() {
	p.reset()
	p.ag, p.ids, p.profile, p.req = nil, nil, nil, pmda.FetchRequest{}
}

// valid reports whether the agent answered what it was asked.
func (p *part) valid() bool {
	if len(p.res.Sets) != len(p.ids) {
		return false
	}
	for i := range p.res.Sets {
		if p.res.Sets[i].PMID != p.ids[i] {
			return false
		}
	}
	return true
}
