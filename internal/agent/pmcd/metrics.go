package pmcd

import (
	"context"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/timezone"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// Items that code refers to.
const (
	itemNumAgents  = 2
	itemNumClients = 3
	itemWhoAmI     = 0
)

// Instance domains' serials.
const (
	serialLogger   = 1
	serialRegister = 2
	serialAgent    = 3
	serialEngine   = 4
	serialBuffer   = 5
	serialClient   = 6
)

func (a *Agent) listAgents(context.Context) error {
	a.agents = a.c.AgentStates()
	a.agentInsts = a.agentInsts[:0]
	for _, s := range a.agents {
		a.agentInsts = append(a.agentInsts, pcp.Instance{Inst: int32(s.Domain), Name: s.Name})
	}
	return nil
}

func (a *Agent) listClients(context.Context) error {
	a.clients = a.c.ClientStates()
	a.clientInst = a.clientInst[:0]
	for _, s := range a.clients {
		a.clientInst = append(a.clientInst, pcp.Instance{Inst: int32(s.Number), Name: strconv.Itoa(s.Number)})
	}
	return nil
}

// metrics returns the table, cluster by cluster.
func (a *Agent) metrics() []pmda.Metric {
	list := append(a.general(), a.controlMetrics()...)
	list = append(list, a.limitMetrics()...)
	list = append(list, a.bufferMetrics()...)
	list = append(list, pduMetrics(clusterPDUsIn, "pmcd.pdu_in.", "received", a.c.PDUsIn)...)
	list = append(list, pduMetrics(clusterPDUsOut, "pmcd.pdu_out.", "sent", a.c.PDUsOut)...)
	list = append(list, a.loggerMetrics()...)
	list = append(list, a.agentMetrics()...)
	list = append(list, a.engineMetrics()...)
	list = append(list, a.clientMetrics()...)
	list = append(list, a.cpuMetrics()...)
	return append(list, a.featureMetrics()...)
}

func text(s string) (pcp.Value, error)   { return pcp.StringValue(s), nil }
func number(n uint32) (pcp.Value, error) { return pcp.Uint32Value(n), nil }
func integer(n int32) (pcp.Value, error) { return pcp.Int32Value(n), nil }

func flag(on bool) (pcp.Value, error) {
	if on {
		return number(1)
	}
	return number(0)
}

var (
	bytesize    = pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0)
	seconds     = pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	kbyte       = pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)
	count       = pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)
	millisecond = pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0)
	perSecond   = pcp.NewUnits(0, -1, 1, 0, pcp.TimeSec, pcp.CountOne)
	perPDU      = pcp.NewUnits(0, 1, -1, 0, pcp.TimeUsec, pcp.CountOne)
)

func (a *Agent) general() []pmda.Metric {
	registers := &pmda.InDom{
		Serial:  serialRegister,
		OneLine: "the registers of pmcd.control.register",
		Help:    "Sixteen registers, numbered from 0. They mean what their users agree on.",
	}
	for i := range a.registers {
		registers.Instances = append(registers.Instances, pcp.Instance{Inst: int32(i), Name: strconv.Itoa(i)})
	}
	return []pmda.Metric{{
		Name: "pmcd.datasize", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: kbyte,
		OneLine: "memory in use by the collector and the agents in its process",
		Help:    "What the last garbage collection found in use on the heap of the process.",
		Value:   func(int32, int) (pcp.Value, error) { return number(heapKBytes()) },
	}, {
		Name: "pmcd.numagents", Item: itemNumAgents, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "agents that are connected",
		Help:    "How many agents the collector can ask at present.",
		Value: func(int32, int) (pcp.Value, error) {
			n := uint32(0)
			for _, s := range a.agents {
				if s.Connected {
					n++
				}
			}
			return number(n)
		},
	}, {
		Name: "pmcd.numclients", Item: itemNumClients, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "clients that are connected",
		Help:    "How many clients the collector serves at present, this one included.",
		Value:   func(int32, int) (pcp.Value, error) { return number(uint32(len(a.clients))) },
	}, {
		Name: "pmcd.control.timeout", Item: 4, Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		OneLine: "seconds within which agents must answer",
		Help:    "An agent that takes longer is given up. With 0 there is none. It can\nbe set with pmstore(1).",
		Value: func(int32, int) (pcp.Value, error) {
			return number(uint32(a.c.AgentTimeout() / time.Second))
		},
		Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
			if v.Int32() < 0 {
				return pcp.ErrBadStore
			}
			a.c.SetAgentTimeout(time.Duration(v.Uint32()) * time.Second)
			return nil
		},
	}, {
		Name: "pmcd.timezone", Item: 5, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "time zone of this host, as the variable TZ holds it",
		Help:    "For clients on other hosts that show times as they are here.",
		Value:   func(int32, int) (pcp.Value, error) { return text(timezone.Local(timezone.MaxLen)) },
	}, {
		Name: "pmcd.simabi", Item: 6, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "machine that the collector was compiled for",
		Help:    "The machine's name as uname(1) prints it.",
		Value:   func(int32, int) (pcp.Value, error) { return text(machine()) },
	}, {
		Name: "pmcd.version", Item: 7, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "version of the collector",
		Help:    "The version of this software.",
		Value:   func(int32, int) (pcp.Value, error) { return text(a.cfg.Version) },
	}, {
		Name: "pmcd.control.register", Item: 8, Type: pcp.Type32, Sem: pcp.SemDiscrete, InDom: registers,
		OneLine: "numbers that users may set",
		Help: "Sixteen registers that mean nothing to the collector. Programs can leave each\n" +
			"other values in them with pmstore(1).",
		Value: func(_ int32, i int) (pcp.Value, error) { return integer(a.registers[i]) },
		Store: func(_ *pmda.Client, _ int32, i int, v pcp.Value) error {
			a.registers[i] = v.Int32()
			return nil
		},
	}, {
		Name: "pmcd.services", Item: 16, Type: pcp.TypeString, Sem: pcp.SemInstant,
		OneLine: "services of PCP that run on this host",
		Help:    "Their names with spaces between.",
		Value:   func(int32, int) (pcp.Value, error) { return text(a.services()) },
	}, {
		Name: "pmcd.openfds", Item: 17, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "highest file descriptor that the collector has open",
		Help:    "Grows with the clients and agents, up to the limit that ulimit(1) sets.",
		Value:   func(int32, int) (pcp.Value, error) { return highestDescriptor() },
	}, {
		Name: "pmcd.build", Item: 20, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "build of the collector",
		Help:    "Distinguishes packages of the same version.",
		Value: func(int32, int) (pcp.Value, error) {
			if a.cfg.Build == "" {
				return text("1")
			}
			return text(a.cfg.Build)
		},
	}, {
		Name: "pmcd.hostname", Item: 21, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "name of this host",
		Help: "The host's own name, or the name in the collector's options. Clients of a\n" +
			"container get the name of the container.",
	}, {
		Name: "pmcd.sighups", Item: 22, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count,
		OneLine: "SIGHUP signals that the collector got",
		Help:    "Each asks it to read its configuration again.",
		Value:   func(int32, int) (pcp.Value, error) { return number(a.c.HangUps()) },
	}, {
		Name: "pmcd.pid", Item: 23, Type: pcp.TypeU64, Sem: pcp.SemDiscrete,
		OneLine: "process of the collector",
		Help:    "A different number means that the collector was restarted.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(uint64(os.Getpid())), nil },
	}, {
		Name: "pmcd.seqnum", Item: 24, Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		OneLine: "counts changes of the collector's agents",
		Help: "Increases with each new agent. A client that sees another value here, or of\n" +
			"pmcd.pid, knows that the metrics may have changed. Storing any value adds one.",
		Value: func(int32, int) (pcp.Value, error) { return number(a.c.SequenceNumber()) },
		Store: func(*pmda.Client, int32, int, pcp.Value) error {
			a.c.AdvanceSequenceNumber() // for any value, as in C
			return nil
		},
	}, {
		Name: "pmcd.labels", Item: 25, Type: pcp.TypeString, Sem: pcp.SemInstant,
		OneLine: "labels that the administrator gave to all values of this host",
		Help:    "A JSON object, or nothing.",
		Value:   func(int32, int) (pcp.Value, error) { return text(a.c.UserLabels()) },
	}, {
		Name: "pmcd.zoneinfo", Item: 26, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "time zone of this host, as a file of the zone database",
		Help:    "A colon and the file's name below the database's directory, or\nnothing if it is not known.",
		Value:   func(int32, int) (pcp.Value, error) { return text(timezone.File()) },
	}}
}

// pduTypes are the counted types in the order of their items: 16 is the total
// and 11 a type that was never used.
var pduTypes = []struct {
	item int
	name string
	kind wire.Type
}{
	{0, "error", wire.TypeError},
	{1, "result", wire.TypeResult},
	{2, "profile", wire.TypeProfile},
	{3, "fetch", wire.TypeFetch},
	{4, "desc_req", wire.TypeDescReq},
	{5, "desc", wire.TypeDesc},
	{6, "instance_req", wire.TypeInstanceReq},
	{7, "instance", wire.TypeInstance},
	{8, "text_req", wire.TypeTextReq},
	{9, "text", wire.TypeText},
	{10, "control_req", wire.TypeControlReq},
	{12, "creds", wire.TypeCreds},
	{13, "pmns_ids", wire.TypePMNSIDs},
	{14, "pmns_names", wire.TypePMNSNames},
	{15, "pmns_child", wire.TypePMNSChild},
	{17, "pmns_traverse", wire.TypePMNSTraverse},
	{18, "auth", wire.TypeAttr},
	{19, "label_req", wire.TypeLabelReq},
	{20, "label", wire.TypeLabel},
	{21, "highres_fetch", wire.TypeHighResFetch},
	{22, "highres_result", wire.TypeHighResResult},
	{23, "desc_ids", wire.TypeDescIDs},
	{24, "descs", wire.TypeDescs},
}

const itemPDUTotal = 16

func pduMetrics(cluster int, prefix, verb string, get func(kind int) uint64) []pmda.Metric {
	metric := func(item int, name string, value func() uint64) pmda.Metric {
		return pmda.Metric{
			Name: prefix + name, Cluster: cluster, Item: item,
			Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count,
			OneLine: strings.ToUpper(name) + " PDUs that the collector " + verb,
			Help:    "Counts those exchanged with clients and with agents in other processes.",
			Value:   func(int32, int) (pcp.Value, error) { return number(uint32(value())) },
		}
	}
	var list []pmda.Metric
	for _, t := range pduTypes {
		list = append(list, metric(t.item, t.name, func() uint64 { return get(int(t.kind - wire.TypeError)) }))
	}
	total := metric(itemPDUTotal, "total", func() uint64 { return totalPDUs(get) })
	total.OneLine = "PDUs of all types that the collector " + verb
	return append(list, total)
}

func totalPDUs(get func(kind int) uint64) (n uint64) {
	for _, t := range pduTypes {
		n += get(int(t.kind - wire.TypeError))
	}
	return n
}

func (a *Agent) agentMetrics() []pmda.Metric {
	indom := &pmda.InDom{
		Serial:  serialAgent,
		List:    func(context.Context) ([]pcp.Instance, error) { return a.agentInsts, nil },
		Refresh: a.listAgents,
		OneLine: "the agents of the collector",
		Help:    "An agent's number is its domain.",
	}
	return []pmda.Metric{{
		Name: "pmcd.agent.type", Cluster: clusterAgent, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, InDom: indom,
		OneLine: "how agents are reached",
		Help:    "0 for an agent in the collector's process, 2 for one by socket,\n4 for one by pipe.",
		Value:   func(_ int32, i int) (pcp.Value, error) { return number(uint32(a.agents[i].Type)) },
	}, {
		Name: "pmcd.agent.status", Cluster: clusterAgent, Item: 1, Type: pcp.Type32, Sem: pcp.SemDiscrete, InDom: indom,
		OneLine: "state of the agents",
		Help: "0 while all is well and 1 for an agent that is not ready for requests at the\n" +
			"moment. Otherwise the agent is gone: 2 its process ended, 4 it could not be\n" +
			"started, 8 it broke the protocol or did not answer in time; the second byte is\n" +
			"its exit status and the third the signal that ended it.",
		Value: func(_ int32, i int) (pcp.Value, error) { return integer(int32(a.agents[i].Status)) },
	}, {
		Name: "pmcd.agent.fenced", Cluster: clusterAgent, Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: indom,
		OneLine: "whether requests are kept from the agents",
		Help: "Set to 1 with pmstore(1), the agent's metrics are refused until it is set to 0\n" +
			"again. Only root may do so, and not to the collector's own agent.",
		Value: func(_ int32, i int) (pcp.Value, error) { return flag(a.agents[i].Fenced) },
		Store: a.storeFenced,
	}, {
		Name: "pmcd.agent.name", Cluster: clusterAgent, Item: 3, Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: indom,
		OneLine: "names of the agents",
		Help:    "The names of the instances, as values.",
		Value:   func(_ int32, i int) (pcp.Value, error) { return text(a.agents[i].Name) },
	}}
}

func (a *Agent) storeFenced(client *pmda.Client, inst int32, _ int, v pcp.Value) error {
	switch {
	case client.Attrs[pmda.AttrUserID] != "0":
		return pcp.ErrPermission
	case v.Uint32() > 1:
		return pcp.ErrBadStore
	case int(inst) == a.domain:
		return nil // never fenced, and not an error: a store without instances means all of them
	}
	return a.c.Fence(int(inst), v.Uint32() == 1)
}

func (a *Agent) clientMetrics() []pmda.Metric {
	indom := &pmda.InDom{
		Serial:  serialClient,
		List:    func(context.Context) ([]pcp.Instance, error) { return a.clientInst, nil },
		Refresh: a.listClients,
		OneLine: "the clients of the collector",
		Help:    "Numbered in the order in which they connected.",
	}
	return []pmda.Metric{{
		Name: "pmcd.client.whoami", Cluster: clusterClient, Item: itemWhoAmI, Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: indom,
		OneLine: "descriptions that clients give of themselves",
		Help:    "A client sets its own with pmStore(3): usually its host and command line.",
		Value:   func(_ int32, i int) (pcp.Value, error) { return text(a.whoami[a.byID[a.clients[i].ID]]) },
	}, {
		Name: "pmcd.client.start_date", Cluster: clusterClient, Item: 1, Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: indom,
		OneLine: "when the clients connected",
		Help:    "Date and time in the form of ctime(3).",
		Value: func(_ int32, i int) (pcp.Value, error) {
			return text(a.clients[i].Start.Format(time.ANSIC))
		},
	}, {
		Name: "pmcd.client.container", Cluster: clusterClient, Item: 2, Type: pcp.TypeString, Sem: pcp.SemInstant, InDom: indom,
		OneLine: "containers that the clients look into",
		Help:    "The container's name as the client gave it, or nothing.",
		Value:   func(_ int32, i int) (pcp.Value, error) { return text(a.clients[i].Container) },
	}}
}

func (a *Agent) cpuMetrics() []pmda.Metric {
	return []pmda.Metric{{
		Name: "pmcd.cputime.total", Cluster: clusterCPU, Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: millisecond,
		OneLine: "processor time of the collector and the agents in its process",
		Help:    "User and system time since its start.",
		Value: func(int32, int) (pcp.Value, error) {
			t, err := cpuTime()
			return pcp.Uint64Value(uint64(t.Milliseconds())), err
		},
	}, {
		Name: "pmcd.cputime.per_pdu_in", Cluster: clusterCPU, Item: 1, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: perPDU,
		OneLine: "processor time of the collector for each PDU it received",
		Help:    "An average since its start, over PDUs from clients and from agents.",
		Value: func(int32, int) (pcp.Value, error) {
			t, err := cpuTime()
			n := totalPDUs(a.c.PDUsIn)
			if n == 0 {
				return pcp.DoubleValue(0), err
			}
			return pcp.DoubleValue(float64(t.Microseconds()) / float64(n)), err
		},
	}}
}

func (a *Agent) featureMetrics() []pmda.Metric {
	var list []pmda.Metric
	for i, f := range []struct {
		name, what string
		get        func(Features) bool
	}{
		{"secure", "encrypted connections", func(f Features) bool { return f.Secure }},
		{"compress", "compressed connections", func(f Features) bool { return f.Compress }},
		{"ipv6", "IPv6", func(f Features) bool { return f.IPv6 }},
		{"authentication", "authentication of users", func(f Features) bool { return f.Authentication }},
		{"creds_required", "insistence on credentials", func(f Features) bool { return f.CredsRequired }},
		{"unix_domain_sockets", "Unix sockets", func(f Features) bool { return f.UnixSockets }},
		{"service_discovery", "being found on the network", func(f Features) bool { return f.ServiceDiscovery }},
		{"containers", "looking into containers", func(f Features) bool { return f.Containers }},
		{"local", "serving this host alone", func(f Features) bool { return f.Local }},
		{"client_cert_required", "insistence on clients' certificates", func(f Features) bool { return f.ClientCertRequired }},
	} {
		list = append(list, pmda.Metric{
			Name: "pmcd.feature." + f.name, Cluster: clusterFeature, Item: i, Type: pcp.TypeU32, Sem: pcp.SemInstant,
			OneLine: "whether the collector has " + f.what,
			Help:    fmt.Sprintf("1 if %s is in effect, else 0.", f.what),
			Value:   func(int32, int) (pcp.Value, error) { return flag(f.get(a.c.Features())) },
		})
	}
	return list
}

// heapKBytes returns the memory in use after the last garbage collection. Memory allocated since,
// much of it garbage by now, is not counted: it grows and shrinks by megabytes while nothing is kept.
// Before the first collection all allocated memory counts.
func heapKBytes() uint32 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	n := sample[0].Value.Uint64()
	if n == 0 {
		n = sample[1].Value.Uint64()
	}
	return uint32(n / 1024)
}
