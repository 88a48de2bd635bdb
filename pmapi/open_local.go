package pmapi

import (
	"fmt"
	"log/slog"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A LocalAgent is an agent that a local context asks.
type LocalAgent struct {
	Name   string // the label "agent" of its metrics, unless it has labels of its own
	Domain int    // that it serves
	Agent  pmda.Agent
	Help   pmda.Texter // asked for help texts before Agent; may be nil
}

// LocalOptions are the settings of a local context. The zero value has the
// defaults.
type LocalOptions struct {
	Container string       // the container that agents are to report on, "" for the host
	LabelsDir string       // where the site's labels are (PCP_SYSCONF_DIR), "" for none
	HostRoot  string       // where the root directory of the host is mounted (PCP_HOST_ROOT), "" for /
	Log       *slog.Logger // what agents panic with; nil discards
	Debug     *debug.Log   // prints lines about the context that its options select; nil prints nothing

	// Names loads the name space. It is called at the first lookup, and again at
	// the next one if it returned an error, which that lookup then returns. Nil
	// means the names that the agents bring along.
	Names func() (*pmns.Tree, error)
}

// OpenLocal returns a context on agents in this process: there is no collector
// and no connection. It is pmNewContext(PM_CONTEXT_LOCAL), but the caller
// passes the agents.
//
// Names are those of the agents (pmda.NameSpacer), unless [LocalOptions] or
// [Context.UseNameSpace] set a name space, and in both cases those that agents look up below
// a dynamic root (pmda.DynamicNamer).
//
// Each context, and each of its duplicates, is a separate client to the agents. An agent gets
// one call at a time from them; it must not serve anyone else at the same time. A call that
// takes longer than its context.Context allows is abandoned: its caller gets an error, and
// others wait until the agent has returned from it. A call whose context.Context cannot end is
// cheaper, and neither that nor Close ends it. The caller owns the agents: Close only notifies
// them that the client has gone.
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
			run:        pmda.NewRunner(la.Agent, pmda.RunnerOptions{Name: la.Name, Log: set.opts.Log, Help: la.Help}),
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
	t := newTrace(o.Debug)
	t.newContext(SourceLocal, "")
	client := set.newClient()
	t.opened(SourceLocal, "", client, nil)
	return newContext(client, t), nil
}
