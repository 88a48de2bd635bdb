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
	"github.com/go-pcp/pcp/pmda"
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

// isRoot reports whether a is the agent of domain 1, the helper.
func (a *agent) isRoot() bool { return a.spec.Domain == backend.RootDomain }

// startedRoot reports whether a is the helper, and runs.
func (a *agent) startedRoot() bool { return a.isRoot() && a.Connected() }

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

// reachedAs reports whether b is an agent that is reached as a is. Neither the
// names nor the word notready matter.
func (a *AgentSpec) reachedAs(b *AgentSpec) bool {
	kind := func(s *AgentSpec) conf.Kind {
		if s.Agent != nil || s.Open != nil {
			return conf.DSO
		}
		return s.Kind
	}
	if a.Domain != b.Domain || kind(a) != kind(b) {
		return false
	}
	switch kind(a) {
	case conf.DSO:
		return a.Path == b.Path && a.Entry == b.Entry
	case conf.Socket:
		return a.Network == b.Network && a.Address == b.Address && slices.Equal(a.Args, b.Args)
	}
	return slices.Equal(a.Args, b.Args)
}
