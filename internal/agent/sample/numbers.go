package sample

import (
	"math"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// numbers are the values of metrics that are just a number, with their initial
// values.
type numbers struct {
	x       int32 // position of the saw-tooth of colour and mirage
	drift   int32
	sign    int32
	step    int32
	writeMe int32
	bins    [9]int32

	long      int32
	ulong     uint32
	longlong  int64
	ulonglong uint64
	float     float32
	double    float64
	str       string
	aggregate []byte

	neg32     int32
	neg64     int64
	negFloat  float32
	negDouble float64

	colour     int32 // of lights, and its remaining fetches
	colourLeft int32
	magnitude  int32
	magLeft    int32
	bytes      int32 // byte_ctr and kbyte_ctr
	rapid      uint32
	rapidSum   uint64

	wrap      int32
	uwrap     uint32
	llwrap    int64
	ullwrap   uint64
	slow      int32
	uslow     uint32
	llslow    int64
	ullslow   uint64
	constRate struct {
		gradient, value uint32
		at              time.Time
	}
}

func newNumbers() numbers {
	n := numbers{
		drift: 200, sign: -1, step: 20, writeMe: 2,
		long: 13, ulong: 13, longlong: 13, ulonglong: 13, float: 13, double: 13, str: "13", aggregate: []byte("13"),
		neg32: -10000, neg64: -10000, negFloat: -10000, negDouble: -10000,
	}
	for i := range n.bins {
		n.bins[i] = int32(100 * (i + 1))
	}
	n.constRate.value = 10485760
	return n
}

// tooth advances the saw-tooth and returns its value.
func (n *numbers) tooth() int32 {
	n.x = (n.x + 1) % 100
	return n.x
}

// setTooth stores into the saw-tooth metrics: the first value counts, for any
// instance.
func (a *Agent) setTooth(values []pcp.Value) error {
	if v := values[0]; v.Type() == pcp.Type64 {
		a.x = int32(v.Int64())
	} else {
		a.x = v.Int32()
	}
	return nil
}

// changed reports whether the value of a metric with a label "changed" is no longer
// the initial one.
func (a *Agent) changed(id pcp.PMID) (changed, ok bool) {
	if id.Domain() != a.Domain() || id.Cluster() != 0 {
		return false, false
	}
	first := newNumbers()
	switch id.Item() {
	case 14:
		return a.long != first.long, true
	case 19:
		return a.float != first.float, true
	case 24:
		return a.longlong != first.longlong, true
	case 29:
		return a.double != first.double, true
	case 36:
		return a.writeMe != first.writeMe, true
	case 97:
		return a.ulong != first.ulong, true
	case 102:
		return a.ulonglong != first.ulonglong, true
	}
	return false, false
}

// The functions of constants.
func constant(v pcp.Value) func(int32, int) (pcp.Value, error) {
	return func(int32, int) (pcp.Value, error) { return v, nil }
}

// get32 returns the function of a metric whose value is at p; and similarly.
func get32(p *int32) func(int32, int) (pcp.Value, error) {
	return func(int32, int) (pcp.Value, error) { return pcp.Int32Value(*p), nil }
}

func getU32(p *uint32) func(int32, int) (pcp.Value, error) {
	return func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(*p), nil }
}

func set32(p *int32) func(pcp.Value) error {
	return func(v pcp.Value) error { *p = v.Int32(); return nil }
}

func setU32(p *uint32) func(pcp.Value) error {
	return func(v pcp.Value) error { *p = v.Uint32(); return nil }
}

// count are the units of a plain count.
var count = pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)

// bytesPerSec are those of a rate.
var bytesPerSec = pcp.NewUnits(1, -1, 0, pcp.SpaceByte, pcp.TimeSec, 0)

// numberRows are metrics that change by themselves.
func (a *Agent) numberRows() []row {
	sec := pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	msec := pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0)
	step := func(int32, int) (pcp.Value, error) {
		halfMinutes := int32(time.Since(a.start) / (30 * time.Second))
		return pcp.Int32Value((1 + halfMinutes) * a.step), nil
	}
	random := func(int32, int) (pcp.Value, error) { return pcp.Int32Value(a.rand.next() % 1024), nil }
	randomSum := func(int32, int) (pcp.Value, error) {
		a.bytes += a.rand.next() % 1024
		return pcp.Int32Value(a.bytes), nil
	}
	return []row{{Metric: pmda.Metric{
		Name: "seconds", Item: 2, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: sec,
		OneLine: "seconds since the agent started",
		Help: `Whole seconds. sample.milliseconds is the same time in finer steps. It starts from 0
when the agent is restarted.`,
		Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint32Value(uint32(a.now.Unix() - a.start.Unix())), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "milliseconds", Item: 3, Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: msec,
		OneLine: "milliseconds since the agent started",
		Help:    "With a fraction: the clock is read to the microsecond.",
		Value: func(int32, int) (pcp.Value, error) {
			return pcp.DoubleValue(1000 * a.now.Sub(a.start).Truncate(time.Microsecond).Seconds()), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "load", Item: 4, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "a load that is always 42",
		Help:    `The simplest of all metrics, and the first one in examples and tests.`,
		Value:   constant(pcp.Int32Value(42)),
	}}, {Metric: pmda.Metric{
		Name: "colour", Item: 5, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.colour,
		OneLine: "saw-teeth for three colours",
		Help: `Each value is one more than the one before, whatever its instance: 100 to 199 for
"red", 200 to 299 for "green", 300 to 399 for "blue". See sample.mirage for stores.`,
		Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Int32Value(a.tooth() + 100*(inst+1)), nil
		},
	}, setAll: a.setTooth}, {Metric: pmda.Metric{
		Name: "drift", Item: 7, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "a random walk",
		Help: `Starts near 200 and moves by up to 49 with each fetch, in the same direction for
some time; never below 0. A store sets the value.`,
		Value: func(int32, int) (pcp.Value, error) {
			a.drift = max(a.drift+a.sign*(a.rand.next()%50), 0)
			if a.rand.next()%100 < 20 {
				a.sign = -a.sign
			}
			return pcp.Int32Value(a.drift), nil
		},
	}, set: set32(&a.drift)}, {Metric: pmda.Metric{
		Name: "step", Item: 8, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count,
		OneLine: "goes up every 30 seconds",
		Help:    "By 20, or by the stored number, which also changes earlier steps.",
		Value:   step,
	}, set: set32(&a.step)}, {Metric: pmda.Metric{
		Name: "step_counter", Item: 63, Type: pcp.Type32, Sem: pcp.SemCounter, Units: count,
		OneLine: "goes up every 30 seconds, as a counter",
		Help:    "The value of sample.step with other semantics.",
		Value:   step,
	}}, {Metric: pmda.Metric{
		Name: "lights", Item: 46, Type: pcp.TypeString, Sem: pcp.SemDiscrete,
		OneLine: "traffic lights",
		Help:    `"red", "yellow" or "green" by chance, each for one to ten fetches.`,
		Value: func(int32, int) (pcp.Value, error) {
			if a.colourLeft == 0 {
				a.numbers.colour = a.rand.next() % 3
				a.colourLeft = 1 + a.rand.next()%10
			}
			a.colourLeft--
			return pcp.StringValue([]string{"red", "yellow", "green"}[a.numbers.colour]), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "magnitude", Item: 47, Type: pcp.Type32, Sem: pcp.SemDiscrete,
		OneLine: "a power of two",
		Help:    "2 to 64 by chance, each for one to five fetches.",
		Value: func(int32, int) (pcp.Value, error) {
			if a.magLeft == 0 {
				a.magnitude = 1 << (1 + a.rand.next()%6)
				a.magLeft = 1 + a.rand.next()%5
			}
			a.magLeft--
			return pcp.Int32Value(a.magnitude), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "byte_ctr", Item: 81, Type: pcp.Type32, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0),
		OneLine: "a counter of bytes",
		Help:    "Goes up by 0 to 1023 with each fetch, together with sample.kbyte_ctr.",
		Value:   randomSum,
	}}, {Metric: pmda.Metric{
		Name: "byte_rate", Item: 82, Type: pcp.Type32, Sem: pcp.SemInstant, Units: bytesPerSec,
		OneLine: "a random rate in bytes per second",
		Help:    "0 to 1023.",
		Value:   random,
	}}, {Metric: pmda.Metric{
		Name: "kbyte_ctr", Item: 83, Type: pcp.Type32, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0),
		OneLine: "a counter of Kbytes",
		Help:    "Goes up by 0 to 1023 with each fetch, together with sample.byte_ctr.",
		Value:   randomSum,
	}}, {Metric: pmda.Metric{
		Name: "kbyte_rate", Item: 84, Type: pcp.Type32, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0),
		OneLine: "a random rate in Kbytes per second",
		Help:    "0 to 1023.",
		Value:   random,
	}}, {Metric: pmda.Metric{
		Name: "byte_rate_perhour", Item: 85, Type: pcp.Type32, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceByte, pcp.TimeHour, 0),
		OneLine: "a random rate in bytes per hour",
		Help:    "0 to 1023.",
		Value:   random,
	}}, {Metric: pmda.Metric{
		Name: "rapid", Item: 64, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count,
		Labels:  `{"measure":"speed","units":"metres per second","unitsystem":"SI"}`,
		OneLine: "a counter that goes up very fast",
		Help:    "By 800 million with each fetch: it wraps around every five or six.",
		Value: func(int32, int) (pcp.Value, error) {
			a.rapid += 80000000
			if a.rapid < uint32(a.rapidSum) {
				a.rapidSum += 1 << 32
			}
			a.rapidSum = a.rapidSum>>32<<32 | uint64(a.rapid)
			return pcp.Uint32Value(uint32(a.rapidSum * 10)), nil
		},
	}}, {Metric: pmda.Metric{
		Name: "const_rate.value", Item: 72, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count,
		OneLine: "a counter with a constant rate",
		Help:    "Goes up by sample.const_rate.gradient each second. It can be stored.",
		Value: func(int32, int) (pcp.Value, error) {
			c := &a.constRate
			if c.gradient > 0 && !c.at.IsZero() {
				c.value = uint32(int64(float64(c.value) + float64(c.gradient)*a.now.Sub(c.at).Seconds()))
			}
			c.at = a.now
			return pcp.Uint32Value(c.value), nil
		},
	}, set: setU32(&a.constRate.value)}, {Metric: pmda.Metric{
		Name: "const_rate.gradient", Item: 73, Type: pcp.TypeU32, Sem: pcp.SemInstant,
		OneLine: "how fast sample.const_rate.value goes up",
		Help:    "Per second; 0 at first. It can be stored.",
		Value:   getU32(&a.constRate.gradient),
	}, set: setU32(&a.constRate.gradient)}}
}

// counterRows are counters that wrap around, and values below 0.
func (a *Agent) counterRows() []row {
	rows := []row{}
	add := func(name string, item int, typ pcp.Type, oneline string, value func() pcp.Value) {
		rows = append(rows, row{Metric: pmda.Metric{
			Name: name, Item: item, Type: typ, Sem: pcp.SemCounter, OneLine: oneline,
			Help:  "Goes up so far with each fetch that it soon wraps around.",
			Value: func(int32, int) (pcp.Value, error) { return value(), nil },
		}})
	}
	add("wrap.long", 57, pcp.Type32, "wraps around every third fetch", func() pcp.Value {
		a.wrap += math.MaxInt32/2 - 1
		return pcp.Int32Value(a.wrap)
	})
	add("wrap.ulong", 58, pcp.TypeU32, "wraps around every third fetch, unsigned", func() pcp.Value {
		a.uwrap += math.MaxUint32/2 - 1
		return pcp.Uint32Value(a.uwrap)
	})
	add("wrap.longlong", 59, pcp.Type64, "wraps around every third fetch, in 64 bits", func() pcp.Value {
		a.llwrap += math.MaxInt64/2 - 1
		return pcp.Int64Value(a.llwrap)
	})
	add("wrap.ulonglong", 60, pcp.TypeU64, "wraps around every third fetch, unsigned in 64 bits", func() pcp.Value {
		a.ullwrap += math.MaxUint64/2 - 1
		return pcp.Uint64Value(a.ullwrap)
	})
	add("slow_wrap.long", 160, pcp.Type32, "wraps around after ten fetches", func() pcp.Value {
		a.slow += math.MaxInt32/10 - 1
		return pcp.Int32Value(a.slow)
	})
	add("slow_wrap.ulong", 161, pcp.TypeU32, "wraps around after twenty fetches, unsigned", func() pcp.Value {
		a.uslow += math.MaxInt32/10 - 1
		return pcp.Uint32Value(a.uslow)
	})
	add("slow_wrap.longlong", 162, pcp.Type64, "wraps around after ten fetches, in 64 bits", func() pcp.Value {
		a.llslow += math.MaxInt64/10 - 1
		return pcp.Int64Value(a.llslow)
	})
	add("slow_wrap.ulonglong", 163, pcp.TypeU64, "wraps around after twenty fetches, unsigned in 64 bits", func() pcp.Value {
		a.ullslow += math.MaxInt64/10 - 1
		return pcp.Uint64Value(a.ullslow)
	})
	return append(rows, a.negativeRows()...)
}

// negativeRows count up from -10000; all semantics of a type share its number.
func (a *Agent) negativeRows() []row {
	var rows []row
	for i, sem := range []struct {
		name string
		sem  pcp.Sem
	}{{"ctr", pcp.SemCounter}, {"instant", pcp.SemInstant}, {"discrete", pcp.SemDiscrete}} {
		add := func(name string, n int, typ pcp.Type, value func() pcp.Value, set func(pcp.Value) error) {
			rows = append(rows, row{Metric: pmda.Metric{
				Name: "negative." + sem.name + "." + name, Item: 141 + 4*i + n, Type: typ, Sem: sem.sem,
				OneLine: "goes up by 1 from below 0",
				Help: `Starts at -10000 and goes up with each fetch. The number is the same for the three
semantics. A store sets the value.`,
				Value: func(int32, int) (pcp.Value, error) { return value(), nil },
			}, set: set})
		}
		add("m_32", 0, pcp.Type32, func() pcp.Value { a.neg32++; return pcp.Int32Value(a.neg32) }, set32(&a.neg32))
		add("m_64", 1, pcp.Type64, func() pcp.Value { a.neg64++; return pcp.Int64Value(a.neg64) },
			func(v pcp.Value) error { a.neg64 = v.Int64(); return nil })
		add("m_float", 2, pcp.TypeFloat, func() pcp.Value { a.negFloat++; return pcp.FloatValue(a.negFloat) },
			func(v pcp.Value) error { a.negFloat = v.Float(); return nil })
		add("m_double", 3, pcp.TypeDouble, func() pcp.Value { a.negDouble++; return pcp.DoubleValue(a.negDouble) },
			func(v pcp.Value) error { a.negDouble = v.Double(); return nil })
	}
	return rows
}
