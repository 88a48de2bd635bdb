package pmcd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the agent's default domain.
const Domain = 2

// A Collector is the collector that the agent reports on. Its methods may be
// called at any time.
type Collector interface {
	// PDUsIn and PDUsOut count PDUs of a type, given as its distance from
	// PDU_ERROR, that were received and sent.
	PDUsIn(kind int) uint64
	PDUsOut(kind int) uint64

	// AgentStates lists all agents in the order of the collector's table.
	AgentStates() []AgentState
	// Fence blocks requests to an agent, or allows them again. It returns
	// pcp.ErrInst if there is no agent for the domain.
	Fence(domain int, on bool) error

	// ClientStates lists the clients.
	ClientStates() []ClientState

	// SequenceNumber counts changes of the agents; HangUps requests to read
	// the configuration again.
	SequenceNumber() uint32
	AdvanceSequenceNumber()
	HangUps() uint32
	// RequestHangUp makes such a request and does not wait for it.
	RequestHangUp()

	HostName() string
	// UserLabels is the JSON of the labels that the administrator set, "" if
	// there are none.
	UserLabels() string

	// AgentTimeout is the time limit for an agent's answer; 0 means none.
	AgentTimeout() time.Duration
	SetAgentTimeout(time.Duration)

	// CredsTimeout is the time limit for the first PDU of a new agent.
	CredsTimeout() time.Duration
	// Limits are those of requests of clients.
	Limits() Limits

	// Debug are the debug options of the collector, as bits.
	Debug() int32
	SetDebug(int32)

	// TraceFlags select the events to trace: 1 connections, 2 PDUs, 256 to the
	// log at once.
	TraceFlags() uint32
	SetTraceFlags(uint32)
	// TraceBuffers is the number of events kept for DumpTrace.
	TraceBuffers() int
	SetTraceBuffers(n int) error
	// DumpTrace writes the kept events to the log, and DumpClients the table of clients.
	DumpTrace()
	DumpClients()

	// Features are the features of the collector.
	Features() Features
}

// An AgentState is the collector's state of one agent.
type AgentState struct {
	Name      string
	Domain    int
	Type      int // 0 in process, 2 by socket, 4 by pipe
	Status    int // 0 connected; see pmcd.agent.status
	Connected bool
	Fenced    bool
}

// A ClientState is the collector's state of one client.
type ClientState struct {
	Number    int // unique while the collector runs
	ID        int // as in pmda.Client, unique among those connected
	Start     time.Time
	Container string
}

// Limits are the values of pmcd.limits: the longest PDU in bytes, the contexts of a client, and the
// metrics of a fetch.
type Limits struct {
	PDU, Contexts, Metrics int
}

// Features are the values of pmcd.feature.
type Features struct {
	Secure, Compress, IPv6, Authentication, CredsRequired, UnixSockets,
	ServiceDiscovery, Containers, Local, ClientCertRequired bool
}

// A Config has the collector to report on.
type Config struct {
	Collector Collector
	Domain    int    // 0 means Domain
	Version   string // of this software, for pmcd.version
	Build     string // for pmcd.build; "" means 1
	// TmpDir and RunDir, PCP_TMP_DIR and PCP_RUN_DIR, are the directories of other
	// daemons' files about themselves; "" means none.
	TmpDir, RunDir string
}

// An Agent is the agent. Its table answers requests; the Agent keeps the clients'
// texts about themselves.
type Agent struct {
	*pmda.Table
	cfg    Config
	c      Collector
	domain int

	registers [16]int32
	whoami    map[*pmda.Client]string
	byID      map[int]*pmda.Client

	// Results of the last Refresh.
	agents     []AgentState
	agentInsts []pcp.Instance
	clients    []ClientState
	clientInst []pcp.Instance
	loggers    []logger
	loggerInst []pcp.Instance
	engines    []engine
	engineInst []pcp.Instance
}

// New returns an agent.
func New(cfg Config) (*Agent, error) {
	if cfg.Collector == nil {
		return nil, errors.New("pmcd agent: no collector to report on")
	}
	a := &Agent{
		cfg: cfg, c: cfg.Collector, domain: cmp.Or(cfg.Domain, Domain),
		whoami: map[*pmda.Client]string{}, byID: map[int]*pmda.Client{},
	}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name:    "pmcd",
		Domain:  a.domain,
		Metrics: a.metrics(),
		Refresh: a.refresh,
		Value:   a.valueFor,
	})
	return a, err
}

// Clusters with instances, which a refresh has to list.
const (
	clusterGeneral = 0
	clusterPDUsIn  = 1
	clusterPDUsOut = 2
	clusterLogger  = 3
	clusterAgent   = 4
	clusterEngine  = 5
	clusterClient  = 6
	clusterCPU     = 7
	clusterFeature = 8
)

func (a *Agent) refresh(ctx context.Context, ids []pcp.PMID) error {
	var agents, clients, loggers, engines bool
	for _, id := range ids {
		switch id.Cluster() {
		case clusterAgent:
			agents = true
		case clusterClient:
			clients = true
		case clusterLogger:
			loggers = true
		case clusterEngine:
			engines = true
		case clusterGeneral:
			agents = agents || id.Item() == itemNumAgents
			clients = clients || id.Item() == itemNumClients
		}
	}
	if agents {
		a.listAgents(ctx)
	}
	if clients {
		a.listClients(ctx)
	}
	var errs [2]error
	if loggers {
		errs[0] = a.listLoggers(ctx)
	}
	if engines {
		errs[1] = a.listEngines(ctx)
	}
	return errors.Join(errs[:]...)
}

// EndContext forgets a client's text about itself.
func (a *Agent) EndContext(client *pmda.Client) {
	delete(a.whoami, client)
	if a.byID[client.ID] == client {
		delete(a.byID, client.ID)
	}
}

// Store sets values. A client's text about itself needs no instance.
func (a *Agent) Store(ctx context.Context, client *pmda.Client, res *pcp.Result) error {
	who := pcp.NewPMID(a.domain, clusterClient, itemWhoAmI)
	rest := pcp.Result{Time: res.Time}
	for _, vs := range res.Sets {
		if vs.PMID != who {
			if m := a.Metric(vs.PMID); m != nil && m.Store == nil {
				return pcp.ErrPMID // where other agents return ErrPermission
			}
			rest.Sets = append(rest.Sets, vs)
			continue
		}
		if len(vs.Values) != 1 {
			return pcp.ErrInst
		}
		v := vs.Values[0]
		if v.Type() != pcp.TypeString {
			return pcp.ErrConv
		}
		if len(v.Bytes()) > maxWhoAmI {
			return pcp.ErrTooBig
		}
		a.whoami[client] = string(v.Bytes())
		a.byID[client.ID] = client
	}
	if len(rest.Sets) == 0 {
		return nil
	}
	if err := a.refresh(ctx, pmids(rest.Sets)); err != nil {
		return err
	}
	return a.Table.Store(ctx, client, &rest)
}

// Labels answers for the domain alone, as the C agent does.
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	if kind != pcp.LabelDomain {
		return nil, nil
	}
	return a.Table.Labels(ctx, ident, kind)
}

// maxWhoAmI is the limit of a client's text about itself.
const maxWhoAmI = 8192

func pmids(sets []pcp.ValueSet) []pcp.PMID {
	ids := make([]pcp.PMID, len(sets))
	for i := range sets {
		ids[i] = sets[i].PMID
	}
	return ids
}
