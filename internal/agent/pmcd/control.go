package pmcd

import (
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Flags of the event trace (TR_MASK_*).
const (
	traceConn       = 1 << 0
	tracePDU        = 1 << 1
	traceUnbuffered = 1 << 8
)

// debugBits are the bits of pmcd.control.debug: those that options of -D had
// when they were numbers (pmdbg(1)). Other bits are cleared, as in C.
const debugBits = 0x4fffffff

// controlMetrics are the metrics for stores.
func (a *Agent) controlMetrics() []pmda.Metric {
	metric := func(item int, name, one, help string, value func() int32, store func(v int32) error) pmda.Metric {
		return pmda.Metric{
			Name: "pmcd.control." + name, Item: item, Type: pcp.Type32, Sem: pcp.SemDiscrete,
			OneLine: one, Help: help,
			Value: func(int32, int) (pcp.Value, error) { return integer(value()) },
			Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error { return store(v.Int32()) },
		}
	}
	trace := func(item int, name string, bit uint32, one, help string) pmda.Metric {
		return metric(item, name, one, help, func() int32 {
			if a.c.TraceFlags()&bit != 0 {
				return 1
			}
			return 0
		}, func(v int32) error {
			switch v {
			case 0:
				a.c.SetTraceFlags(a.c.TraceFlags() &^ bit)
			case 1:
				a.c.SetTraceFlags(a.c.TraceFlags() | bit)
			default:
				return pcp.ErrBadStore
			}
			return nil
		})
	}
	button := func(item int, name, one, help string, push func()) pmda.Metric {
		return metric(item, name, one, help+"\nThe value is always 0.", func() int32 { return 0 }, func(int32) error {
			push()
			return nil
		})
	}
	return []pmda.Metric{
		metric(0, "debug", "debug options of the collector, as bits",
			"Can be set with pmstore(1). Bits are those of the options that pmdbg -o lists;\n"+
				"the collector's manual describes their output.",
			a.c.Debug, func(v int32) error {
				a.c.SetDebug(v & debugBits)
				return nil
			}),
		trace(9, "traceconn", traceConn, "whether connections are traced",
			"While it is 1, clients and agents that come and go are recorded, and what goes\n"+
				"wrong with them. pmcd.control.dumptrace writes that to the log."),
		trace(10, "tracepdu", tracePDU, "whether PDUs are traced",
			"While it is 1, each PDU that is sent or received is recorded.\n"+
				"pmcd.control.dumptrace writes that to the log."),
		metric(11, "tracebufs", "events that the trace keeps",
			"The trace keeps this number of the newest events. A store removes the existing\n"+
				"events.",
			func() int32 { return int32(a.c.TraceBuffers()) },
			func(v int32) error { return a.c.SetTraceBuffers(int(v)) }),
		button(12, "dumptrace", "stores write the trace to the log",
			"Any value stored with pmstore(1) has the events that were traced written to the\n"+
				"collector's log, and forgotten.", a.c.DumpTrace),
		button(13, "dumpconn", "stores write the clients to the log",
			"Any value stored with pmstore(1) has the table of clients written to the\n"+
				"collector's log.", a.c.DumpClients),
		trace(14, "tracenobuf", traceUnbuffered, "whether events go to the log at once",
			"While it is 1, events that are traced are not kept but written to the\n"+
				"collector's log."),
		button(15, "sighup", "stores have the collector read its configuration again",
			"Any value stored with pmstore(1) does what a SIGHUP does: dead agents are\n"+
				"restarted, and those started and stopped that were changed in pmcd.conf.", a.c.RequestHangUp),
	}
}

// limitMetrics are the limits of clients and new agents, which PCP has from 7.2.1 on.
func (a *Agent) limitMetrics() []pmda.Metric {
	limit := func(item int, name string, units pcp.Units, one, help string, value func(l Limits) int) pmda.Metric {
		return pmda.Metric{
			Name: "pmcd.limits." + name, Item: item, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: units,
			OneLine: one, Help: help,
			Value: func(int32, int) (pcp.Value, error) { return number(uint32(value(a.c.Limits()))) },
		}
	}
	return []pmda.Metric{
		limit(27, "inpdusize", bytesize, "longest PDU that is accepted from a client",
			"A client that sends a longer one is dropped. Option -L of pmcd sets it.",
			func(l Limits) int { return l.PDU }),
		limit(28, "contexts", pcp.Units{}, "contexts that one client may have",
			"The profile of a further context is refused. Option -C of pmcd sets it.",
			func(l Limits) int { return l.Contexts }),
		limit(29, "metrics", pcp.Units{}, "metrics that one fetch may ask for",
			"A fetch of more metrics is refused. Option -M of pmcd sets it.",
			func(l Limits) int { return l.Metrics }),
		{
			Name: "pmcd.control.creds_timeout", Item: 30, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: seconds,
			OneLine: "seconds that a new agent has for its first PDU",
			Help:    "An agent that takes longer is not started. Option -q of pmcd sets it, and\nPMCD_CREDS_TIMEOUT.",
			Value: func(int32, int) (pcp.Value, error) {
				return number(uint32(a.c.CredsTimeout() / time.Second))
			},
		},
	}
}

// bufferMetrics are about memory that the C collector keeps for PDUs.
func (a *Agent) bufferMetrics() []pmda.Metric {
	indom := &pmda.InDom{
		Serial: serialBuffer,
		Instances: []pcp.Instance{
			{Inst: 12, Name: "0012"},
			{Inst: 20, Name: "0020"},
			{Inst: 1024, Name: "1024"},
			{Inst: 2048, Name: "2048"},
			{Inst: 4196, Name: "4196"},
			{Inst: 8192, Name: "8192"},
			{Inst: 8193, Name: "8192+"},
		},
		OneLine: "sizes of buffers, in bytes",
		Help:    "Each instance is the buffers of one size, the last all larger buffers.",
	}
	none := func(int32, int) (pcp.Value, error) { return pcp.Value{}, pmda.ErrNoValue }
	return []pmda.Metric{{
		Name: "pmcd.buf.alloc", Item: 18, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count, InDom: indom,
		OneLine: "buffers in pools",
		Help:    "No values, for this collector has no pools of buffers.",
		Value:   none,
	}, {
		Name: "pmcd.buf.free", Item: 19, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count, InDom: indom,
		OneLine: "buffers in pools that are free",
		Help:    "No values, for this collector has no pools of buffers.",
		Value:   none,
	}}
}
