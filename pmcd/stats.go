package pmcd

import (
	"cmp"
	"net"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	agentpmcd "github.com/go-pcp/pcp/agent/pmcd"
	"github.com/go-pcp/pcp/wire"
)

var _ agentpmcd.Collector = (*Server)(nil)

// PDUsIn counts the PDUs received of a type, given as its distance from
// PDU_ERROR.
func (s *Server) PDUsIn(kind int) uint64 { return s.events.In[kind].Load() }

// PDUsOut counts the PDUs sent of a type.
func (s *Server) PDUsOut(kind int) uint64 { return s.events.Out[kind].Load() }

// AgentStates lists the agents by domain.
func (s *Server) AgentStates() []agentpmcd.AgentState {
	agents := s.agents()
	list := make([]agentpmcd.AgentState, len(agents))
	for i, ag := range agents {
		list[i] = agentpmcd.AgentState{
			Name:      ag.Name(),
			Domain:    ag.spec.Domain,
			Type:      int(ag.spec.Kind) << 1,
			Status:    ag.Status(),
			Connected: ag.Connected(),
			Fenced:    ag.Fenced(),
		}
	}
	slices.SortFunc(list, func(a, b agentpmcd.AgentState) int { return cmp.Compare(a.Domain, b.Domain) })
	return list
}

// Fence keeps requests from an agent, or lets them through again.
func (s *Server) Fence(domain int, on bool) error {
	if domain < 0 || domain > pcp.MaxAgentDomain {
		return pcp.ErrInst
	}
	ag := s.table.Load().byDomain[domain]
	if ag == nil {
		return pcp.ErrInst
	}
	if ag.Fence(on) {
		s.log.Warn("agent fenced", "agent", ag.Name(), "fenced", on)
	}
	return nil
}

// ClientStates lists the clients in the order in which they came.
func (s *Server) ClientStates() []agentpmcd.ClientState {
	s.clients.Lock()
	defer s.clients.Unlock()
	list := make([]agentpmcd.ClientState, 0, s.clients.count)
	for _, c := range s.clients.slots {
		if c != nil {
			container, _ := c.container.Load().(string)
			list = append(list, agentpmcd.ClientState{
				Number: c.number, ID: c.pub.ID, Start: c.started, Container: container,
			})
		}
	}
	slices.SortFunc(list, func(a, b agentpmcd.ClientState) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// SequenceNumber starts at 1 and counts the agents that were started.
func (s *Server) SequenceNumber() uint32 { return s.seqNum.Load() }

// AdvanceSequenceNumber adds one to it.
func (s *Server) AdvanceSequenceNumber() { s.seqNum.Add(1) }

// HangUps counts calls of HangUp.
func (s *Server) HangUps() uint32 { return s.hangUps.Load() }

// HostName is the value of pmcd.hostname. The label hostname is always the
// system's name for itself, as in C.
func (s *Server) HostName() string { return cmp.Or(s.cfg.HostName, s.host.Name) }

// UserLabels is the JSON of the labels that the administrator set, or "".
func (s *Server) UserLabels() string { return s.site.Load().JSON() }

// AgentTimeout is how long an agent may take to answer; 0 means unlimited.
func (s *Server) AgentTimeout() time.Duration { return s.backend.Timeout() }

// SetAgentTimeout changes it for the calls that follow.
func (s *Server) SetAgentTimeout(d time.Duration) {
	s.backend.SetTimeout(d)
	s.log.Info("agents' time limit changed", "timeout", d)
}

// Features are what the server can do.
func (s *Server) Features() agentpmcd.Features {
	f := agentpmcd.Features{
		Containers:     s.featureSet()&wire.FeatureContainer != 0,
		Local:          s.cfg.Local,
		Authentication: s.cfg.Auth != nil,
		CredsRequired:  s.credsRequired(),

		Secure:             s.cfg.TLS != nil,
		ClientCertRequired: s.cfg.RequireClientCert,
	}
	for _, ln := range s.cfg.Listeners {
		if ln.Addr().Network() == "unix" {
			f.UnixSockets = true
		} else if addr, ok := ln.Addr().(*net.TCPAddr); ok && addr.IP.To4() == nil {
			f.IPv6 = true
		}
	}
	return f
}

// HostNameIn returns what the host is called in a container, for the agent pmcd.
func (s *Server) HostNameIn(container string) (string, error) {
	if s.cfg.Root == nil {
		return "", pcp.ErrNotConn
	}
	return s.cfg.Root.HostName(container)
}

// ProcessIDIn returns the number of the first process of a container, for the agent
// linux; pcp.ErrNotConn without a Config.Root.
func (s *Server) ProcessIDIn(container string) (int, error) {
	if s.cfg.Root == nil {
		return 0, pcp.ErrNotConn
	}
	return s.cfg.Root.ProcessID(container)
}
