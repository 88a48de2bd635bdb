package sample

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// typeRows are a few values in every type, and one for stores.
func (a *Agent) typeRows() []row {
	var rows []row
	group := func(name, what string, items [5]int, typ pcp.Type, make func(n int64) pcp.Value, get func() pcp.Value, set func(pcp.Value) error) {
		for i, part := range []struct {
			name string
			n    int64
		}{{"one", 1}, {"ten", 10}, {"hundred", 100}, {"million", 1000000}} {
			rows = append(rows, row{Metric: pmda.Metric{
				Name: name + "." + part.name, Item: items[i], Type: typ, Sem: pcp.SemInstant,
				OneLine: fmt.Sprintf("%d as %s", part.n, what), // scripts look for that of long.ten, and for no other help text
				Value:   constant(make(part.n)),
			}})
		}
		rows = append(rows, row{Metric: pmda.Metric{
			Name: name + ".write_me", Item: items[4], Type: typ, Sem: pcp.SemInstant,
			OneLine: what + " to store into", Help: "13 until something else is stored.",
			Value: func(int32, int) (pcp.Value, error) { return get(), nil },
		}, set: set})
	}
	group("long", "a 32-bit integer", [5]int{10, 11, 12, 13, 14}, pcp.Type32,
		func(n int64) pcp.Value { return pcp.Int32Value(int32(n)) },
		func() pcp.Value { return pcp.Int32Value(a.long) }, set32(&a.long))
	group("float", "a 32-bit floating point value", [5]int{15, 16, 17, 18, 19}, pcp.TypeFloat,
		func(n int64) pcp.Value { return pcp.FloatValue(float32(n)) },
		func() pcp.Value { return pcp.FloatValue(a.float) },
		func(v pcp.Value) error { a.float = v.Float(); return nil })
	group("longlong", "a 64-bit integer", [5]int{20, 21, 22, 23, 24}, pcp.Type64, pcp.Int64Value,
		func() pcp.Value { return pcp.Int64Value(a.longlong) },
		func(v pcp.Value) error { a.longlong = v.Int64(); return nil })
	group("double", "a 64-bit floating point value", [5]int{25, 26, 27, 28, 29}, pcp.TypeDouble,
		func(n int64) pcp.Value { return pcp.DoubleValue(float64(n)) },
		func() pcp.Value { return pcp.DoubleValue(a.double) },
		func(v pcp.Value) error { a.double = v.Double(); return nil })
	group("ulong", "a 32-bit unsigned integer", [5]int{93, 94, 95, 96, 97}, pcp.TypeU32,
		func(n int64) pcp.Value { return pcp.Uint32Value(uint32(n)) },
		func() pcp.Value { return pcp.Uint32Value(a.ulong) }, setU32(&a.ulong))
	group("ulonglong", "a 64-bit unsigned integer", [5]int{98, 99, 100, 101, 102}, pcp.TypeU64,
		func(n int64) pcp.Value { return pcp.Uint64Value(uint64(n)) },
		func() pcp.Value { return pcp.Uint64Value(a.ulonglong) },
		func(v pcp.Value) error { a.ulonglong = v.Uint64(); return nil })

	return append(rows, row{Metric: pmda.Metric{
		Name: "string.null", Item: 30, Type: pcp.TypeString, Sem: pcp.SemInstant,
		OneLine: "a string of no characters", Help: "Always the same.",
		Value: constant(pcp.StringValue("")),
	}}, row{Metric: pmda.Metric{
		Name: "string.hullo", Item: 31, Type: pcp.TypeString, Sem: pcp.SemInstant,
		OneLine: "a greeting", Help: `Always "hullo world!".`,
		Value: constant(pcp.StringValue("hullo world!")),
	}}, row{Metric: pmda.Metric{
		Name: "string.write_me", Item: 32, Type: pcp.TypeString, Sem: pcp.SemInstant,
		OneLine: "a string to store into", Help: `"13" until something else is stored.`,
		Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue(a.str), nil },
	}, set: func(v pcp.Value) error { a.str = string(v.Bytes()); return nil }}, row{Metric: pmda.Metric{
		Name: "aggregate.null", Item: 33, Type: pcp.TypeAggregate, Sem: pcp.SemInstant,
		OneLine: "an aggregate of no bytes", Help: "Always the same.",
		Value: constant(pcp.BytesValue(pcp.TypeAggregate, nil)),
	}}, row{Metric: pmda.Metric{
		Name: "aggregate.hullo", Item: 34, Type: pcp.TypeAggregate, Sem: pcp.SemInstant,
		OneLine: "a greeting as an aggregate", Help: `Always the bytes of "hullo world!".`,
		Value: constant(pcp.BytesValue(pcp.TypeAggregate, []byte("hullo world!"))),
	}}, row{Metric: pmda.Metric{
		Name: "aggregate.write_me", Item: 35, Type: pcp.TypeAggregate, Sem: pcp.SemInstant,
		OneLine: "an aggregate to store into", Help: `The bytes of "13" until something else is stored.`,
		Value: func(int32, int) (pcp.Value, error) { return pcp.BytesValue(pcp.TypeAggregate, a.aggregate), nil },
	}, set: func(v pcp.Value) error {
		a.aggregate = append([]byte(nil), v.Bytes()...)
		return nil
	}}, row{Metric: pmda.Metric{
		Name: "write_me", Item: 36, Type: pcp.Type32, Sem: pcp.SemInstant, Units: pcp.NewUnits(0, -1, 1, 0, pcp.TimeSec, pcp.CountOne),
		OneLine: "a rate to store into", Help: "2 until something else is stored.",
		Value: get32(&a.writeMe),
	}, set: set32(&a.writeMe)}, row{Metric: pmda.Metric{
		Name: "sysinfo", Item: itemSysinfo, Type: pcp.TypeAggregate, Sem: pcp.SemInstant,
		OneLine: "what sysinfo(2) returns",
		Help:    "The bytes of the structure as the kernel fills it in, elsewhere 64 letters and digits.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.BytesValue(pcp.TypeAggregate, sysinfo()), nil },
	}}, row{Metric: pmda.Metric{
		Name: "bigid", Item: 1023, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count,
		OneLine: "a metric with the largest item number", Help: "Always 4194303.",
		Value: constant(pcp.Int32Value(4194303)),
	}})
}

// binRows have the nine bins in every type, also as counters.
func (a *Agent) binRows() []row {
	kbyte := pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)
	bin := func(inst int32) int32 { return a.bins[inst/100-1] }
	plain := func(inst int32, _ int) (pcp.Value, error) { return pcp.Int32Value(bin(inst)), nil }
	setBins := func(values []pcp.Value) error {
		for _, v := range values {
			if v.Inst < 100 || v.Inst > 900 || v.Inst%100 != 0 {
				return pcp.ErrInst
			}
			a.bins[v.Inst/100-1] = v.Int32()
		}
		return nil
	}
	const help = "The value for an instance is its number, until something else is stored into sample.bin."
	rows := []row{{Metric: pmda.Metric{
		Name: "bin", Item: 6, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.bin,
		OneLine: "nine bins", Help: help + "\nEach can be stored into.",
		Value: plain,
	}, setAll: setBins}, {Metric: pmda.Metric{
		Name: "bucket", Item: 48, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.bin,
		OneLine: "the nine bins by another name", Help: help,
		Value: plain,
	}}, {Metric: pmda.Metric{
		Name: "part_bin", Item: 50, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.bin,
		OneLine: "bins of which some have no value", Help: `Those with an even number, such as "bin-200", are left out. ` + help,
		Value: func(inst int32, i int) (pcp.Value, error) {
			if inst%200 == 0 {
				return noValue(inst, i)
			}
			return plain(inst, i)
		},
	}}, {Metric: pmda.Metric{
		Name: "bogus_bin", Item: itemBogusBin, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.bin,
		OneLine: "bins, some of which are not in the instance domain",
		Help:    "In place of those with an even number there is one with 50 more. " + help,
		Value:   plain,
	}}, {Metric: pmda.Metric{
		Name: "scramble.bin", Item: 121, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.scramble,
		OneLine: "bins in another order each time",
		Help:    "With each fetch some are left out, and the others come in a random order. " + help,
		Value:   plain,
	}}, {Metric: pmda.Metric{
		Name: "scramble.version", Item: 120, Type: pcp.Type64, Sem: pcp.SemInstant,
		OneLine: "how often the order of sample.scramble.bin has changed",
		Help:    "A store of any value starts over: the orders that follow are always the same.",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Int64Value(a.scrambles), nil },
	}, set: func(pcp.Value) error {
		a.scrambles = 0
		a.resetScramble()
		return nil
	}}, {Metric: pmda.Metric{
		Name: "string.bin", Item: 153, Type: pcp.TypeString, Sem: pcp.SemInstant, InDom: a.dom.bin,
		OneLine: "the nine bins as strings", Help: "Of three characters. " + help,
		Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.StringValue(fmt.Sprintf("%3d", bin(inst))[:3]), nil
		},
	}}}
	for _, g := range []struct {
		name  string
		item  int
		typ   pcp.Type
		value func(n int32) pcp.Value
	}{
		{"long", 103, pcp.Type32, pcp.Int32Value},
		{"ulong", 105, pcp.TypeU32, func(n int32) pcp.Value { return pcp.Uint32Value(uint32(n)) }},
		{"float", 107, pcp.TypeFloat, func(n int32) pcp.Value { return pcp.FloatValue(float32(n)) }},
		{"longlong", 109, pcp.Type64, func(n int32) pcp.Value { return pcp.Int64Value(int64(n)) }},
		{"ulonglong", 111, pcp.TypeU64, func(n int32) pcp.Value {
			return pcp.Uint64Value(uint64(int64(n) + a.now.Unix() - a.start.Unix()))
		}},
		{"double", 113, pcp.TypeDouble, func(n int32) pcp.Value { return pcp.DoubleValue(float64(n)) }},
	} {
		value := func(inst int32, _ int) (pcp.Value, error) { return g.value(bin(inst)), nil }
		moves := ""
		if g.name == "ulonglong" {
			moves = "\nThis one also goes up each second."
		}
		rows = append(rows, row{Metric: pmda.Metric{
			Name: g.name + ".bin", Item: g.item, Type: g.typ, Sem: pcp.SemInstant, InDom: a.dom.bin,
			OneLine: "the nine bins in type " + g.typ.String(), Help: help + moves, Value: value,
		}}, row{Metric: pmda.Metric{
			Name: g.name + ".bin_ctr", Item: g.item + 1, Type: g.typ, Sem: pcp.SemCounter, Units: kbyte, InDom: a.dom.bin,
			OneLine: "the nine bins as counters in type " + g.typ.String(), Help: help + moves, Value: value,
		}})
	}
	return rows
}

// scaleRows are values that grow from scale to scale, and one value in several
// scales.
func (a *Agent) scaleRows() []row {
	const tb = 1 << 40
	var rows []row
	add := func(name string, item int, units pcp.Units, factor, most float64, oneline string) {
		down := strings.HasSuffix(name, "_down")
		now, n := 1.0, 0
		rows = append(rows, row{Metric: pmda.Metric{
			Name: "scale_step." + name, Item: item, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: units,
			OneLine: oneline,
			Help:    "Changes after every fifth fetch, and starts over at the end.",
			Value: func(int32, int) (pcp.Value, error) {
				v := now
				if n++; n%5 == 0 {
					switch {
					case down && now > 1:
						now /= factor
					case down:
						now = most
					case now < most:
						now *= factor
					default:
						now = 1
					}
				}
				return pcp.DoubleValue(v), nil
			},
		}})
	}
	add("bytes_up", 65, bytesPerSec, 2, tb, "a rate in bytes that doubles")
	add("bytes_down", 66, pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0), 2, tb, "bytes that become half as many")
	add("count_up", 67, pcp.NewUnits(0, -1, 1, 0, pcp.TimeSec, pcp.CountOne), 10, 1e12, "a rate of counts that becomes ten times as much")
	add("count_down", 68, count, 10, 1e12, "a count that becomes a tenth")
	add("time_up_secs", 69, pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0), 10, 24*3600, "seconds that become ten times as many")
	add("time_up_nanosecs", 70, pcp.NewUnits(0, 1, 0, 0, pcp.TimeNsec, 0), 10, 1e9*24*3600, "nanoseconds that become ten times as many")
	add("none_up", 71, pcp.Units{}, 10, 10000000, "a number without units that becomes ten times as much")

	for i, c := range []struct {
		name  string
		scale int
		n     uint32
	}{{"base", 0, 42000000}, {"deca", 1, 4200000}, {"hecto", 2, 420000}, {"kilo", 3, 42000}, {"mega", 6, 42}} {
		rows = append(rows, row{Metric: pmda.Metric{
			Name: "ulong.count." + c.name, Item: 115 + i, Type: pcp.TypeU32, Sem: pcp.SemInstant,
			Units:   pcp.NewUnits(-1, 0, 1, pcp.SpaceMByte, 0, pcp.CountOne+c.scale),
			OneLine: fmt.Sprintf("42 million per Mbyte, counted in 10^%d", c.scale), Help: "Always the same.",
			Value: constant(pcp.Uint32Value(c.n)),
		}})
	}
	return rows
}
