package pmcd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// HangUp handles a SIGHUP: it reads the files with labels again, starts and
// stops agents according to Config.Reload, and restarts agents that died.
// Connected clients learn of it with their next fetch; new clients wait until it
// is done. Before the agents have been started it only reads labels.
func (s *Server) HangUp() {
	s.restart(1)
}

// RequestHangUp makes a running server call HangUp, without waiting for it.
// Requests made before it is done may count as one.
func (s *Server) RequestHangUp() {
	select {
	case s.reload.asked <- struct{}{}:
	default:
	}
}

// hangUpAsAsked serves the requests of RequestHangUp.
func (s *Server) hangUpAsAsked() {
	for {
		select {
		case <-s.reload.asked:
			s.log.Info("pmcd reset via pmcd.control.sighup")
			s.HangUp()
		case <-s.closing:
			return
		}
	}
}

// restart does what a SIGHUP or the death of an agent calls for. It counts as the
// given number of signals; a client that sees the count finds the new agents.
func (s *Server) restart(signals uint32) {
	s.reload.Lock()
	defer s.reload.Unlock()
	done := make(chan struct{})
	s.reload.busy.Store(&done)
	defer close(done)
	defer s.reload.busy.Store(nil)
	s.hangUps.Add(signals)

	// The empty lines are those of the C one's log.
	s.log.Info("\n\npmcd RESTARTED at " + time.Now().Format(time.ANSIC) + "\n")
	var b strings.Builder
	b.WriteByte('\n')
	s.describeClients(&b)
	io.WriteString(s.cfg.Report, b.String())
	s.reloadLabels()
	if !s.reload.running || s.stopping() {
		return
	}
	var setup *Setup
	if s.cfg.Reload != nil {
		setup = s.cfg.Reload()
	}
	s.findDead()
	if setup == nil || len(setup.Agents) == 0 {
		s.restartTable()
	} else if err := checkSpecs(setup.Agents); err != nil {
		s.log.Error("configuration left unchanged", "err", err)
	} else {
		s.replaceTable(setup)
	}
	s.setFeatures()
	if setup != nil && setup.NameSpace != nil {
		s.names.Store(setup.NameSpace)
		s.cfg.NameSpace = setup.NameSpace
		s.mark(wire.NamesChange)
	} else if s.cfg.NameSpace == nil {
		if names, err := s.makeNames(nil); err != nil {
			s.log.Error("names left unchanged", "err", err)
		} else {
			s.names.Store(names)
		}
	}
	b.Reset()
	s.describeTables(&b)
	io.WriteString(s.cfg.Report, b.String())
}

func (s *Server) reloadLabels() {
	now := hostlabels.ReadSite(s.cfg.SysConfDir, s.log)
	old := s.site.Swap(now)
	if now.Set.JSON != old.Set.JSON || !slices.Equal(now.Set.Index, old.Set.Index) || now.HashMachine != old.HashMachine {
		s.log.Info("labels changed", "labels", now.JSON())
		s.mark(wire.LabelChange)
	}
}

// findDead drops agents that have closed their connections. Otherwise that is
// noticed with their next request, or when their process has been waited for.
func (s *Server) findDead() {
	for _, ag := range s.agents() {
		ag.DropClosed()
	}
}

// restartTable starts the agents that died, or did not start.
func (s *Server) restartTable() {
	io.WriteString(s.cfg.Report, "Restarting any deceased agents:\n")
	t := new(table)
	var dead, fresh []*agent
	for _, ag := range s.agents() {
		if ag.Connected() {
			t.add(ag)
			continue
		}
		again, err := s.newAgent(ag.spec, ag.Index())
		if err != nil {
			s.log.Error("agent not started", "agent", ag.Name(), "domain", ag.spec.Domain, "err", err)
			t.add(ag)
			continue
		}
		again.Rename(ag.Name())
		again.reviving = ag.died()
		fmt.Fprintf(s.cfg.Report, "    %q agent\n", ag.Name())
		t.add(again)
		dead = append(dead, ag)
		fresh = append(fresh, again)
	}
	if len(dead) == 0 {
		io.WriteString(s.cfg.Report, "    (no agents required restarting)\n")
		return
	}
	io.WriteString(s.cfg.Report, "\n")
	s.exchange(t, dead, nil, fresh)
	s.mark(wire.RestartAgent)
	s.seqNum.Add(1)
}

// replaceTable brings the agents and access rules of setup.
func (s *Server) replaceTable(setup *Setup) {
	old := s.agents()
	kept := map[*agent]bool{}
	same := make([]*agent, len(setup.Agents)) // by position: the agent that continues
	for i := range setup.Agents {
		for _, ag := range old {
			if ag.Connected() && ag.spec.reachedAs(&setup.Agents[i]) {
				same[i] = ag
				kept[ag] = true
			}
		}
	}
	t := new(table)
	var unwanted, removed, fresh []*agent
	for i, spec := range setup.Agents {
		if ag := same[i]; ag != nil {
			ag.Rename(spec.Name)
			t.add(ag)
			continue
		}
		ag, err := s.newAgent(spec, t.freeIndex(kept))
		if err != nil {
			s.log.Error("agent not started", "agent", spec.Name, "domain", spec.Domain, "err", err)
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
			s.mark(wire.DropAgent)
		}
	}
	s.exchange(t, unwanted, removed, fresh)

	rules := setup.Access
	if rules == nil {
		rules = access.Default()
	}
	s.access.Store(rules)
	s.clients.Lock()
	clients := slices.Clone(s.clients.slots)
	s.clients.Unlock()
	for _, c := range clients {
		if c != nil {
			c.readmit()
		}
	}
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

// exchange makes t the table, stops the unwanted agents, logs the removed ones,
// and starts the fresh ones. Requests to these get pcp.ErrNoAgent until they are
// up.
func (s *Server) exchange(t *table, unwanted, removed, fresh []*agent) {
	s.table.Store(t)
	stopAgents(unwanted)
	for _, ag := range removed {
		ag.TellRemoved()
	}
	s.startAgents(fresh)
	for _, ag := range fresh {
		if ag.Connected() {
			s.seqNum.Add(1)
			s.mark(wire.AddAgent)
		}
	}
	s.clients.Lock()
	defer s.clients.Unlock()
	for _, c := range s.clients.slots {
		if c != nil {
			c.meetMore.Store(true)
		}
	}
}

// maxRetry is the longest time between two tries to make an agent in process.
const maxRetry = time.Hour

// remakeAbsent makes agents in process that could not be made. It waits an
// interval before it tries, and twice as long each time that some are left: the
// log gets a few lines each time.
func (s *Server) remakeAbsent() {
	for {
		select {
		case <-s.reload.absent:
		case <-s.closing:
			return
		}
		wait := s.cfg.RestartInterval
		for slices.ContainsFunc(s.agents(), (*agent).absent) {
			select {
			case <-time.After(wait):
			case <-s.closing:
				return
			}
			if !slices.ContainsFunc(s.agents(), (*agent).absent) {
				break // a hang-up made them
			}
			s.log.Info("Auto-restarting agents.")
			s.restart(0)
			wait = min(2*wait, maxRetry)
		}
	}
}

// restartDead restarts agents that died, at most once an interval. An agent that
// does not start is tried again after the next.
func (s *Server) restartDead() {
	var last time.Time
	for {
		select {
		case <-s.reload.died:
		case <-s.closing:
			return
		}
		if !last.IsZero() {
			select {
			case <-time.After(time.Until(last.Add(s.cfg.RestartInterval))):
			case <-s.closing:
				return
			}
		}
		if !slices.ContainsFunc(s.agents(), (*agent).died) {
			continue // another restart did it
		}
		last = time.Now()
		s.log.Info("Auto-restarting agents.")
		s.restart(0)
		if slices.ContainsFunc(s.agents(), (*agent).died) {
			s.agentDied()
		}
	}
}
