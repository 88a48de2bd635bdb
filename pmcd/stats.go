package pmcd

import (
	"cmp"
	"net"
	"time"

	"github.com/go-pcp/pcp"
	agentpmcd "github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/wire"
)

// A control is the server for the agents in its process: the agent pmcd shows its state and changes
// its settings, the agent linux asks for containers.
type control struct{ *Server }

var _ agentpmcd.Collector = control{}

// Host returns the Host of a builtin.Env for agents that the server opens.
func (s *Server) Host() any { return control{s} }

// PDUsIn counts the PDUs received of a type, given as its distance from
// PDU_ERROR.
func (s control) PDUsIn(kind int) uint64 { return s.events.In[kind].Load() }

// PDUsOut counts the PDUs sent of a type.
func (s control) PDUsOut(kind int) uint64 { return s.events.Out[kind].Load() }

// An AgentState is the state of one agent.
type AgentState struct {
	Name      string
	Domain    int
	Type      int // 0 in process, 2 by socket, 4 by pipe
	Status    int // 0 connected; see pmcd.agent.status
	Connected bool
	Fenced    bool
}

// AgentStates lists the agents by domain.
func (s *Server) AgentStates() []AgentState { return s.agents.states() }

// AgentStates implements agentpmcd.Collector.
func (s control) AgentStates() []agentpmcd.AgentState {
	states := s.agents.states()
	list := make([]agentpmcd.AgentState, len(states))
	for i, st := range states {
		list[i] = agentpmcd.AgentState(st)
	}
	return list
}

// Fence keeps requests from an agent, or lets them through again.
func (s control) Fence(domain int, on bool) error { return s.agents.fence(domain, on) }

// ClientStates lists the clients in the order in which they came.
func (s control) ClientStates() []agentpmcd.ClientState { return s.clients.states() }

// SequenceNumber starts at 1 and counts the agents that were started.
func (s control) SequenceNumber() uint32 { return s.agents.seqNum.Load() }

// AdvanceSequenceNumber adds one to it.
func (s control) AdvanceSequenceNumber() { s.agents.seqNum.Add(1) }

// HangUps counts calls of HangUp.
func (s control) HangUps() uint32 { return s.reloader.hangUps.Load() }

// HostName is the value of pmcd.hostname. The label hostname is always the
// system's name for itself, as in C.
func (s *Server) HostName() string { return cmp.Or(s.cfg.HostName, s.labels.host.Name) }

// UserLabels is the JSON of the labels that the administrator set, or "".
func (s control) UserLabels() string { return s.labels.site.Load().JSON() }

// AgentTimeout is how long an agent may take to answer; 0 means unlimited.
func (s control) AgentTimeout() time.Duration { return s.agents.host.Timeout() }

// SetAgentTimeout changes it for the calls that follow.
func (s control) SetAgentTimeout(d time.Duration) {
	s.agents.host.SetTimeout(d)
	s.log.Info("agents' time limit changed", "timeout", d)
}

// CredsTimeout is how long a new agent process has for its first PDU.
func (s control) CredsTimeout() time.Duration { return s.cfg.CredsTimeout }

// Limits are those of requests of clients.
func (s control) Limits() agentpmcd.Limits {
	return agentpmcd.Limits{PDU: s.cfg.MaxPDU, Contexts: s.cfg.MaxContexts, Metrics: s.cfg.MaxMetrics}
}

// Features are what the server can do.
func (s control) Features() agentpmcd.Features {
	f := agentpmcd.Features{
		Containers:     s.featureSet()&wire.FeatureContainer != 0,
		Local:          s.cfg.Local,
		Authentication: s.cfg.Auth != nil,
		CredsRequired:  s.entry.credsRequired(),

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
func (s control) HostNameIn(container string) (string, error) {
	if s.cfg.Root == nil {
		return "", pcp.ErrNotConn
	}
	return s.cfg.Root.hostName(container)
}

// ProcessIDIn returns the number of the first process of a container, for the agent
// linux; pcp.ErrNotConn without a Config.Root.
func (s control) ProcessIDIn(container string) (int, error) {
	if s.cfg.Root == nil {
		return 0, pcp.ErrNotConn
	}
	return s.cfg.Root.processID(container)
}
