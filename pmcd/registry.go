package pmcd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A registry is the agents of a server, and the names of their metrics. Requests read table, names and
// features, which are replaced as a whole; whoever replaces them holds the reloader's mutex.
type registry struct {
	*journal
	host    *backend.Host // the agents' view of the server
	root    bool          // there is a helper to ask about containers
	open    func(spec AgentSpec) (pmda.Agent, error)
	missing func()           // an agent in process could not be made
	changed func(wire.State) // clients are to learn of it
	started func()           // there are agents that clients have not met

	table    atomic.Pointer[table]
	names    atomic.Pointer[pmns.Tree]
	given    *pmns.Tree    // names that are not the agents' own, or nil
	features atomic.Uint32 // wire.Features that agents and helper bring
	seqNum   atomic.Uint32
}

// set makes the agents of specs, and the names. It starts no agent.
func (r *registry) set(specs []AgentSpec, names *pmns.Tree) error {
	r.table.Store(new(table))
	if err := checkSpecs(specs); err != nil {
		return err
	}
	t := new(table)
	for i, spec := range specs {
		ag, err := r.newAgent(spec, i)
		if err != nil {
			return err
		}
		t.add(ag)
	}
	r.table.Store(t)
	r.given = names
	return r.renewNames()
}

func (r *registry) list() []*agent { return r.table.Load().list }

// usable returns the agent of a domain if it can be asked, else why not;
// unknown is the error for a domain without an agent.
func (r *registry) usable(domain int, unknown pcp.Error) (*agent, error) {
	ag, err := r.of(domain, unknown)
	if err == nil {
		err = ag.Usable()
	}
	return ag, err
}

// of returns the agent of a domain, whether it can be asked or not, for requests that the agent's last answer
// will do for; unknown is the error for a domain without an agent.
func (r *registry) of(domain int, unknown pcp.Error) (*agent, error) {
	ag := r.table.Load().byDomain[domain&pcp.MaxDomain]
	if ag == nil {
		return nil, unknown
	}
	return ag, nil
}

// newAgent makes an agent. It does not start its process.
func (r *registry) newAgent(spec AgentSpec, index int) (*agent, error) {
	impl := spec.Agent
	var broken error // why an agent in process cannot be made
	if impl == nil && spec.Open != nil {
		impl, broken = r.open(spec)
	}
	if impl != nil || broken != nil {
		spec.Kind = conf.DSO
	}
	ag := &agent{spec: spec}
	line := conf.Agent{Name: spec.Name, Domain: spec.Domain, Transport: spec.Transport}
	switch {
	case broken != nil:
		attrs := []any{"agent", spec.Name, "domain", spec.Domain}
		if spec.Path != "" {
			attrs = append(attrs, "dso", spec.Path)
		}
		r.log.Error("agent not started", append(attrs, "err", broken)...)
		ag.Agent = backend.NewAbsent(r.host, line, index)
		r.missing()
	case impl != nil:
		ag.Agent = backend.NewLocal(r.host, line, index, impl)
	case spec.Kind == conf.Pipe || spec.Kind == conf.Socket:
		ag.Agent = backend.NewRemote(r.host, line, index)
	default:
		return nil, fmt.Errorf("agent %s: not in process, and no command or address", spec.Name)
	}
	return ag, nil
}

// setNames makes names the names, in place of the agents' own.
func (r *registry) setNames(names *pmns.Tree) {
	r.names.Store(names)
	r.given = names
	r.changed(wire.NamesChange)
}

// renewNames collects the names of the agents in process, unless others were given.
func (r *registry) renewNames() error {
	if r.given != nil {
		r.names.Store(r.given)
		return nil
	}
	names := pmns.New()
	for _, ag := range r.list() {
		if t := ag.NameSpace(); t != nil {
			if err := names.Merge(t); err != nil {
				return fmt.Errorf("names of agent %s: %w", ag.spec.Name, err)
			}
		}
	}
	r.names.Store(names)
	return nil
}

// setFeatures sets the features that clients may ask for. Containers are one only
// if there is a helper to ask about them, or an agent that knows them.
func (r *registry) setFeatures() {
	features := wire.FeatureDescs | wire.FeatureLabels | wire.FeatureHighRes
	if r.root {
		features |= wire.FeatureContainer
	}
	for _, ag := range r.list() {
		if ag.Connected() {
			features |= ag.Features() & wire.FeatureContainer
		}
	}
	r.features.Store(uint32(features))
}

// start starts those of agents that are in processes at the same time, but that of
// backend.RootDomain before the others; those that do not come up are logged and left
// out.
func (r *registry) start(agents []*agent) {
	var starting sync.WaitGroup
	start := func(root bool) {
		for _, ag := range agents {
			if (ag.spec.Domain == backend.RootDomain) == root {
				starting.Go(ag.Start)
			}
		}
		starting.Wait()
	}
	start(true)
	start(false)
	for _, ag := range agents {
		if ag.spec.Kind == conf.DSO && !ag.absent() {
			r.events.Add(trace.Event{Kind: trace.AddAgent, Who: ag.spec.Domain, P1: -1, P2: -1})
		}
	}
}

// startAll starts all agents.
func (r *registry) startAll() {
	r.start(r.list())
	r.seqNum.Store(1)
	for _, ag := range r.list() {
		if ag.Connected() {
			r.seqNum.Add(1)
		}
	}
}

// stopAll stops all agents.
func (r *registry) stopAll() { stopAgents(r.list()) }

// abandon releases requests that wait for agents which hang.
func (r *registry) abandon() {
	for _, ag := range r.list() {
		ag.Abandon()
	}
}

// any reports whether there is an agent of which is is true.
func (r *registry) any(is func(*agent) bool) bool { return slices.ContainsFunc(r.list(), is) }

// dropClosed drops agents that have closed their connections. Otherwise that is
// noticed with their next request, or when their process has been waited for.
func (r *registry) dropClosed() {
	for _, ag := range r.list() {
		ag.DropClosed()
	}
}

// revive starts the agents that died, or did not start.
func (r *registry) revive() {
	io.WriteString(r.report, "Restarting any deceased agents:\n")
	t := new(table)
	var dead, fresh []*agent
	for _, ag := range r.list() {
		if ag.Connected() {
			t.add(ag)
			continue
		}
		again, err := r.newAgent(ag.spec, ag.Index())
		if err != nil {
			r.log.Error("agent not started", "agent", ag.Name(), "domain", ag.spec.Domain, "err", err)
			t.add(ag)
			continue
		}
		again.Rename(ag.Name())
		again.reviving = ag.died()
		fmt.Fprintf(r.report, "    %q agent\n", ag.Name())
		t.add(again)
		dead = append(dead, ag)
		fresh = append(fresh, again)
	}
	if len(dead) == 0 {
		io.WriteString(r.report, "    (no agents required restarting)\n")
		return
	}
	io.WriteString(r.report, "\n")
	r.exchange(t, dead, nil, fresh)
	r.changed(wire.RestartAgent)
	r.seqNum.Add(1)
}

// replace makes the agents those of specs.
func (r *registry) replace(specs []AgentSpec) {
	old := r.list()
	kept := map[*agent]bool{}
	same := make([]*agent, len(specs)) // by position: the agent that continues
	for i := range specs {
		for _, ag := range old {
			if ag.Connected() && ag.spec.reachedAs(&specs[i]) {
				same[i] = ag
				kept[ag] = true
			}
		}
	}
	t := new(table)
	var unwanted, removed, fresh []*agent
	for i, spec := range specs {
		if ag := same[i]; ag != nil {
			ag.Rename(spec.Name)
			t.add(ag)
			continue
		}
		ag, err := r.newAgent(spec, t.freeIndex(kept))
		if err != nil {
			r.log.Error("agent not started", "agent", spec.Name, "domain", spec.Domain, "err", err)
			continue
		}
		t.add(ag)
		fresh = append(fresh, ag)
	}
	for _, ag := range old {
		if kept[ag] {
			continue
		}
		unwanted = append(unwanted, ag)
		if ag.Connected() {
			removed = append(removed, ag)
			r.changed(wire.DropAgent)
		}
	}
	r.exchange(t, unwanted, removed, fresh)
}

// exchange makes t the table, stops the unwanted agents, logs the removed ones,
// and starts the fresh ones. Requests to these get pcp.ErrNoAgent until they are
// up.
func (r *registry) exchange(t *table, unwanted, removed, fresh []*agent) {
	r.table.Store(t)
	stopAgents(unwanted)
	for _, ag := range removed {
		ag.TellRemoved()
	}
	r.start(fresh)
	for _, ag := range fresh {
		if ag.Connected() {
			r.seqNum.Add(1)
			r.changed(wire.AddAgent)
		}
	}
	r.started()
}

// states lists the agents by domain.
func (r *registry) states() []AgentState {
	agents := r.list()
	list := make([]AgentState, len(agents))
	for i, ag := range agents {
		list[i] = AgentState{
			Name:      ag.Name(),
			Domain:    ag.spec.Domain,
			Type:      int(ag.spec.Kind) << 1,
			Status:    ag.Status(),
			Connected: ag.Connected(),
			Fenced:    ag.Fenced(),
		}
	}
	slices.SortFunc(list, func(a, b AgentState) int { return cmp.Compare(a.Domain, b.Domain) })
	return list
}

// fence keeps requests from an agent, or lets them through again.
func (r *registry) fence(domain int, on bool) error {
	if domain < 0 || domain > pcp.MaxAgentDomain {
		return pcp.ErrInst
	}
	ag := r.table.Load().byDomain[domain]
	if ag == nil {
		return pcp.ErrInst
	}
	if ag.Fence(on) {
		r.log.Warn("agent fenced", "agent", ag.Name(), "fenced", on)
	}
	return nil
}

// describe writes the table of agents.
func (r *registry) describe(b *strings.Builder) {
	b.WriteString("\nactive agent dom   pid  in out ver protocol parameters\n" +
		"============ === ===== === === === ======== ==========\n")
	for _, ag := range r.list() {
		if ag.Connected() {
			ag.Describe(b)
		}
	}
	b.WriteByte('\n')
}
