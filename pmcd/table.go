package pmcd

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// An agent is one row of the server's table.
type agent struct {
	*backend.Agent
	spec AgentSpec

	// reviving is set for an agent that replaces a dead one.
	reviving bool
}

// absent reports whether a is an agent in process that could not be made.
func (a *agent) absent() bool { return a.spec.Kind == conf.DSO && !a.Connected() }

// died reports whether a, or the agent in whose place it is, was up once.
func (a *agent) died() bool { return !a.Connected() && (a.reviving || a.WasUp()) }

// A table is the agents that a server has at a time. It does not change once
// clients see it; a reload replaces it.
type table struct {
	list     []*agent
	byDomain [pcp.MaxDomain + 1]*agent
}

func (t *table) add(ag *agent) {
	t.list = append(t.list, ag)
	t.byDomain[ag.spec.Domain] = ag
}

// reach returns the agent of a domain, or nil if there is none.
func (t *table) reach(domain int) *backend.Agent {
	if ag := t.byDomain[domain]; ag != nil {
		return ag.Agent
	}
	return nil
}

// freeIndex is the lowest that no agent of t or of keep has.
func (t *table) freeIndex(keep map[*agent]bool) int {
	for i := 0; ; i++ {
		has := func(ag *agent) bool { return ag.Index() == i }
		if slices.ContainsFunc(t.list, has) {
			continue
		}
		free := true
		for ag := range keep {
			free = free && !has(ag)
		}
		if free {
			return i
		}
	}
}

func (s *Server) agents() []*agent { return s.table.Load().list }

// checkSpecs returns an error if the agents cannot be in one table. Any number
// can have the same name.
func checkSpecs(specs []AgentSpec) error {
	domains := map[int]string{}
	for _, spec := range specs {
		if spec.Domain < 1 || spec.Domain > pcp.MaxAgentDomain {
			return fmt.Errorf("agent %s: domain %d is not in 1..%d", spec.Name, spec.Domain, pcp.MaxAgentDomain)
		}
		if other, ok := domains[spec.Domain]; ok {
			return fmt.Errorf("agent %s: domain %d is that of agent %s", spec.Name, spec.Domain, other)
		}
		domains[spec.Domain] = spec.Name
	}
	return nil
}

// newAgent makes an agent. It does not start its process.
func (s *Server) newAgent(spec AgentSpec, index int) (*agent, error) {
	impl := spec.Agent
	var broken error // why an agent in process cannot be made
	if impl == nil && spec.Open != nil {
		impl, broken = open(spec.Open, s)
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
		s.log.Error("agent not started", append(attrs, "err", broken)...)
		ag.Agent = backend.NewAbsent(s.backend, line, index)
		s.missAgent()
	case impl != nil:
		ag.Agent = backend.NewLocal(s.backend, line, index, impl)
	case spec.Kind == conf.Pipe || spec.Kind == conf.Socket:
		ag.Agent = backend.NewRemote(s.backend, line, index)
	default:
		return nil, fmt.Errorf("agent %s: not in process, and no command or address", spec.Name)
	}
	return ag, nil
}

// open makes an agent in process. A panic is returned as an error.
func open(make func(*Server) (pmda.Agent, error), s *Server) (a pmda.Agent, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	a, err = make(s)
	if err == nil && a == nil {
		err = errors.New("there is no agent")
	}
	return a, err
}

// makeNames returns those of given, or if that is nil of the agents in process.
func (s *Server) makeNames(given *pmns.Tree) (*pmns.Tree, error) {
	if given != nil {
		return given, nil
	}
	names := pmns.New()
	for _, ag := range s.agents() {
		if t := ag.NameSpace(); t != nil {
			if err := names.Merge(t); err != nil {
				return nil, fmt.Errorf("names of agent %s: %w", ag.spec.Name, err)
			}
		}
	}
	return names, nil
}

// setFeatures sets the features that clients may ask for. Containers are one only
// if there is a helper to ask about them, or an agent that knows them.
func (s *Server) setFeatures() {
	features := wire.FeatureDescs | wire.FeatureLabels | wire.FeatureHighRes
	if s.cfg.Root != nil {
		features |= wire.FeatureContainer
	}
	for _, ag := range s.agents() {
		if ag.Connected() {
			features |= ag.Features() & wire.FeatureContainer
		}
	}
	s.features.Store(uint32(features))
}

// startAgents starts those of agents that are in processes at the same time, but that of
// backend.RootDomain before the others; those that do not come up are logged and left
// out.
func (s *Server) startAgents(agents []*agent) {
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
			s.events.Add(trace.Event{Kind: trace.AddAgent, Who: ag.spec.Domain, P1: -1, P2: -1})
		}
	}
}

// stopAgents stops agents, and last the agent that ends the processes of others.
func stopAgents(agents []*agent) {
	var stopping sync.WaitGroup
	stop := func(root bool) {
		for _, ag := range agents {
			if (ag.spec.Domain == backend.RootDomain) == root {
				stopping.Go(ag.Stop)
			}
		}
		stopping.Wait()
	}
	stop(false)
	stop(true)
}
