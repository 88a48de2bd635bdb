package sample

import (
	"os"
	"runtime/metrics"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Items of metrics that the code refers to. The agent's interface; do not change.
const (
	itemSysinfo         = 39
	itemNeedProfile     = 49
	itemBogusBin        = 51
	itemBadUnknown      = 54
	itemErrorCheck      = 75
	itemDynamicCounter  = 76
	itemDynamicDiscrete = 77
	itemDynamicInstant  = 78
	itemMetaMetric      = 86
	itemProcOrdinal     = 156
	itemProcExec        = 157
	itemProcTime        = 158
	itemExtra           = 172 // and the 12 after it
	itemGhostOrigin     = 1009
	itemGhostKarma      = 1010
	itemGhostState      = 1011
)

// Bits of sample.control: the old numbers of debug options (pmdbg -o).
const (
	debugAppl0 = 2048 // instance domains that change
	debugAppl1 = 4096 // contexts that come and go
	debugAuth  = 1 << 24
)

// control has the settings that clients store.
type control struct {
	bits      int32
	done      bool
	errorCode int32
	notReady  int32     // seconds
	awayUntil time.Time // zero until the first request after that store
	updown    updown

	quantities quantities
}

// away returns an error while the agent is away; the first request starts that time.
func (a *Agent) away() error {
	if a.notReady <= 0 {
		return nil
	}
	now := time.Now()
	if a.awayUntil.IsZero() {
		a.awayUntil = now.Add(time.Duration(a.notReady) * time.Second)
	}
	if now.Before(a.awayUntil) {
		return &pmda.NotReadyError{Until: a.awayUntil}
	}
	a.notReady, a.awayUntil = 0, time.Time{}
	return nil
}

// Done implements pmda.Finisher.
func (a *Agent) Done() bool { return a.done }

func (a *Agent) controlRows() []row {
	return []row{{Metric: pmda.Metric{
		Name: "control", Item: 0, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "what the agent logs, or its end",
		Help: `A store of -1 ends the agent, if it is a process of its own. Otherwise the number
is a sum of debug options as pmdbg -o lists them: with 2048 (appl0) the agent
logs when instances change, with 4096 (appl1) when clients come and go, with
16777216 (auth) who they are.`,
		Value: get32(&a.bits),
	}, set: func(v pcp.Value) error {
		a.bits = v.Int32()
		a.done = a.bits == -1
		return nil
	}}, {Metric: pmda.Metric{
		Name: "daemon_pid", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		// The words are the C agent's, as scripts look for them.
		OneLine: "Process id of PMDA daemon",
		Help:    "The process id of PMDA daemon, -1 if the daemon is a DSO.",
		Value:   constant(pcp.Uint32Value(uint32(os.Getpid()))),
	}}, {Metric: pmda.Metric{
		Name: "not_ready", Item: 56, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "makes the agent not ready for some seconds",
		Help: `After a store of N the agent answers the next request with "not ready", is silent for
N seconds, and then announces that it is ready. A fetch returns 0.`,
		Value: get32(&a.notReady),
	}, set: func(v pcp.Value) error {
		a.notReady, a.awayUntil = v.Int32(), time.Time{}
		return nil
	}}, {Metric: pmda.Metric{
		Name: "error_code", Item: 74, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "the error of sample.error_check",
		Help:    "An error code, which is negative; 0 for none. It can be stored.",
		Value:   get32(&a.errorCode),
	}, set: set32(&a.errorCode)}, {Metric: pmda.Metric{
		Name: "error_check", Item: itemErrorCheck, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "fails with the error in sample.error_code",
		Help:    "If that metric has an error code, fetches that include this metric fail with it, and\nso does a request for its descriptor. Otherwise the value is 0.",
		Value: func(int32, int) (pcp.Value, error) {
			if a.errorCode < 0 {
				a.fetchErr = pcp.Error(a.errorCode)
			}
			return pcp.Int32Value(0), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "many.count", Item: 79, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count,
		// Scripts look for this text.
		OneLine: "number of instances in sample.many.int's domain",
		Help:    "5 at first. It can be stored, 0 to 999999.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Int32Value(int32(len(a.many))), nil },
	}, set: func(v pcp.Value) error {
		a.setMany(v.Int32())
		a.errorCode = 0 // of making the instances, in the C agent
		return nil
	}}, {Metric: pmda.Metric{
		Name: "many.int", Item: 80, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count, InDom: a.dom.many,
		OneLine: "variable sized instance domain",
		Help:    "The value for an instance is its number. See sample.many.count.",
		Value:   func(inst int32, _ int) (pcp.Value, error) { return pcp.Int32Value(inst), nil },
	}}, {Metric: pmda.Metric{
		Name: "hordes.one", Item: 52, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.hordes,
		OneLine: "500 values, upwards",
		Help:    "The value for an instance is its number.",
		Value:   func(inst int32, _ int) (pcp.Value, error) { return pcp.Int32Value(inst), nil },
	}}, {Metric: pmda.Metric{
		Name: "hordes.two", Item: 53, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.hordes,
		OneLine: "500 values, downwards",
		Help:    "The value for an instance is 499 less its number.",
		Value:   func(inst int32, _ int) (pcp.Value, error) { return pcp.Int32Value(499 - inst), nil },
	}}, {Metric: pmda.Metric{
		Name: "datasize", Item: 91, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0),
		OneLine: "memory that the agent's process needs for data",
		Help: `Kbytes in use after the last garbage collection, rounded up to whole Mbytes: a
finer number would show buffers that grow and shrink.`,
		Value: func(int32, int) (pcp.Value, error) {
			s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(s)
			return pcp.Uint32Value(uint32(1024 * (s[0].Value.Uint64()>>20 + 1))), nil
		},
	}}}
}

// badRows are metrics with something wrong.
func (a *Agent) badRows() []row {
	return []row{{Metric: pmda.Metric{
		Name: "darkness", Item: 92, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.colour,
		OneLine: "has instances, and no values",
		Help: `A request for its instances gets those of sample.colour. A fetch of it gets none:
the answer is an empty set, which is not an error.`,
	}}, {Metric: pmda.Metric{
		Name: "noinst", Item: 9, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "never has a value",
		Help: `The answer to a fetch is an empty set, which is not an error. It is a value
without instances; sample.darkness is one with them.`,
	}}, {Metric: pmda.Metric{
		Name: "needprofile", Item: 49, Type: pcp.TypeFloat, Sem: pcp.SemDiscrete, InDom: a.dom.family,
		OneLine: "has values only for instances that are asked for by name",
		Help:    "Without a profile that lists instances of its domain a fetch of it fails.",
		Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.FloatValue([]float32{3.05, 12.05, 11.09, 11.09, 5.26}[inst]), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "bad.unknown", Item: itemBadUnknown, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "has a name, and the agent does not know it",
		Help: `Its name leads to an identifier for which the agent has neither a descriptor nor
values: every request for it ends with PM_ERR_PMID.`,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Value{}, pcp.ErrPMID },
	}}, {Metric: pmda.Metric{
		Name: "bad.nosupport", Item: 55, Type: pcp.TypeNoSupport,
		OneLine: "is not supported here",
		Help: `Its type is PM_TYPE_NOSUPPORT, as that of a metric that only other systems have.
It has a descriptor and no values.`,
	}}, {Metric: pmda.Metric{
		Name: "bad.novalues", Item: 138, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "has no values",
		Help:    `Its descriptor is that of any 32-bit integer, but it never has a value.`,
	}}, {Metric: pmda.Metric{
		Name: "bad.fetch.again", Item: 154, Type: pcp.Type32, Sem: pcp.SemDiscrete,
		OneLine: "always asks to be fetched again",
		Help: `Each fetch returns PM_ERR_AGAIN, like that of an agent whose source is briefly
unavailable.`,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Value{}, pcp.ErrAgain },
	}}}
}

// metaRows are a metric whose descriptor can be stored into.
func (a *Agent) metaRows() []row {
	m := &a.meta
	part := func(name string, item int, oneline string, get func() uint32, set func(uint32)) row {
		return row{Metric: pmda.Metric{
			Name: "dynamic.meta.pmdesc." + name, Item: item, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: count,
			OneLine: oneline, Help: "As a number. A store changes the descriptor of sample.dynamic.meta.metric.",
			Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(get()), nil },
		}, set: func(v pcp.Value) error { set(v.Uint32()); return nil }}
	}
	return []row{
		{Metric: pmda.Metric{
			// The type of its values is not that of the row: see metaValue.
			Name: "dynamic.meta.metric", Item: itemMetaMetric, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: bytesPerSec,
			OneLine: "a metric whose descriptor changes",
			Help:    "42 in the type that its descriptor has, which can be stored: see sample.dynamic.meta.pmdesc.",
			Value:   constant(pcp.Int32Value(42)),
		}},
		part("type", 87, "type of sample.dynamic.meta.metric",
			func() uint32 { return uint32(m.Type) }, func(n uint32) { m.Type = pcp.Type(n) }),
		part("indom", 88, "instance domain of sample.dynamic.meta.metric",
			func() uint32 { return uint32(m.InDom) }, func(n uint32) { m.InDom = pcp.InDom(n) }),
		part("sem", 89, "semantics of sample.dynamic.meta.metric",
			func() uint32 { return uint32(m.Sem) }, func(n uint32) { m.Sem = pcp.Sem(n) }),
		part("units", 90, "units of sample.dynamic.meta.metric",
			func() uint32 { return m.Units.Pack() }, func(n uint32) { m.Units = pcp.UnpackUnits(n) }),
	}
}

// metaValue is 42 in a type; without one the C agent sends random memory; here it
// is 0.
func metaValue(t pcp.Type) pcp.Value {
	switch t {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64:
		return pcp.RawValue(t, 42)
	case pcp.TypeFloat:
		return pcp.FloatValue(42)
	case pcp.TypeDouble:
		return pcp.DoubleValue(42)
	case pcp.TypeString:
		return pcp.StringValue("42")
	}
	return pcp.Int32Value(0)
}

// An updown is the state of sample.updown: a value that goes up and down.
type updown struct {
	now, by     int32 // by is 1 or -1
	click       int32 // fetches until the value changes
	repeat      uint32
	least, most int32
	step        uint32
}

func newUpdown() updown {
	return updown{by: 1, click: 5, repeat: 5, most: 200, step: 10}
}

func (u *updown) value() int32 {
	if u.click--; u.click <= 0 {
		u.click = int32(u.repeat)
		u.now += u.by * int32(u.step)
		if u.now < u.least {
			u.now = u.least + int32(u.step)
			u.by = -u.by
		}
		if u.now > u.most {
			u.now = u.most - int32(u.step)
			u.by = -u.by
		}
	}
	return u.now
}

func (a *Agent) updownRows() []row {
	u := &a.updown
	notNegative := func(p *uint32) func(pcp.Value) error {
		return func(v pcp.Value) error {
			if v.Int32() < 0 {
				return pcp.ErrSign
			}
			*p = v.Uint32()
			return nil
		}
	}
	return []row{{Metric: pmda.Metric{
		Name: "updown.obs", Item: 164, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "a value that goes up, down and up again",
		Help: `Starts at 0. The metrics below sample.updown.control are the size of a step, the
number of fetches for each step, and the value at which the direction changes.`,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(u.value()), nil },
	}}, {Metric: pmda.Metric{
		Name: "updown.control.repeat", Item: 165, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "fetches for which sample.updown.obs stays the same",
		Help:    "5 at first. It can be stored.",
		Value:   getU32(&u.repeat),
	}, set: notNegative(&u.repeat)}, {Metric: pmda.Metric{
		Name: "updown.control.min", Item: 166, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "where sample.updown.obs turns upwards",
		Help:    "0 at first. It can be stored.",
		Value:   get32(&u.least),
	}, set: set32(&u.least)}, {Metric: pmda.Metric{
		Name: "updown.control.max", Item: 167, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "where sample.updown.obs turns downwards",
		Help:    "200 at first. It can be stored.",
		Value:   get32(&u.most),
	}, set: set32(&u.most)}, {Metric: pmda.Metric{
		Name: "updown.control.step", Item: 168, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "how far sample.updown.obs moves at a time",
		Help:    "10 at first. It can be stored.",
		Value:   getU32(&u.step),
	}, set: notNegative(&u.step)}}
}
