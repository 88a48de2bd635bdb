package replay

import (
	"math"
	"slices"

	"github.com/go-pcp/pcp"
)

// count determines the instances with a value at the time wanted. Seen is set if
// a mark was passed since the last fetch.
func (m *metric) count(req float64, seen bool) {
	if m.unknown {
		return
	}
	arithmetic := !m.variable
	for _, i := range m.live {
		b := &m.bounds[i]
		b.wanted = m.all || m.part.Includes(b.inst)
		b.inResult = false
		if !b.wanted || b.sPrior&valued == 0 || b.tPrior > req {
			continue
		}
		if m.desc.Sem == pcp.SemDiscrete {
			if b.born != never && b.born > req || b.died != never && req > b.died {
				continue
			}
		} else {
			if b.sNext&valued == 0 || b.tNext < req {
				continue
			}
			if m.desc.Sem == pcp.SemCounter {
				if !arithmetic {
					m.err = pcp.ErrType
					continue
				}
				if seen && m.lastNumval > 0 {
					continue
				}
			}
		}
		b.inResult = true
		m.numval++
	}
	if m.err != 0 {
		m.numval = int(m.err)
	}
}

// build appends the values of a metric to a result.
func (c *Cursor) build(m *metric, req float64, keep bool, res *pcp.Result) {
	if m.err != 0 {
		res.AddError(m.id, m.err)
		return
	}
	res.AddSet(m.id)
	if m.numval <= 0 {
		return
	}
	if !slices.IsSorted(m.live) {
		slices.Sort(m.live)
	}
	vals := res.AddValues(m.numval)
	n := 0
	for _, i := range m.live {
		b := &m.bounds[i]
		if !b.inResult || b.tPrior < 0 {
			continue
		}
		if c.in.moved {
			m.traceValue(b)
		}
		if m.variable {
			d := m.data[i][0]
			if keep {
				d = slices.Clone(d)
			}
			t := pcp.Type(d[0])
			d = d[1:]
			if t == pcp.TypeString && len(d) > 0 && d[len(d)-1] == 0 {
				d = d[:len(d)-1]
			}
			vals[n] = pcp.BytesValue(t, d)
		} else {
			vals[n] = pcp.RawValue(m.desc.Type, m.value(b, req, &c.set.opts))
		}
		vals[n].Inst = b.inst
		n++
	}
	vs := &res.Sets[len(res.Sets)-1]
	vs.Values = vals[:n]
	vs.ValFmt = pcp.ValDPtr
	if m.valfmt == pcp.ValInSitu {
		vs.ValFmt = pcp.ValInSitu
	}
}

// value returns the number at the time wanted.
func (m *metric) value(b *bound, req float64, o *Options) uint64 {
	switch {
	case b.tPrior == req:
		return b.vPrior
	case b.tNext == req:
		return b.vNext
	case m.desc.Sem == pcp.SemDiscrete, m.desc.Sem == pcp.SemInstant:
		if o.Nearest && b.sNext&valued != 0 && req > (b.tPrior+b.tNext)/2 {
			return b.vNext
		}
		return b.vPrior
	}
	return m.between(b.vPrior, b.vNext, req-b.tPrior, b.tNext-b.tPrior, o.CounterWrap)
}

// between returns the value of a counter part seconds behind that of prior, gap
// before next. The order of operations and the conversions are those of the C
// library, as they affect rounding. A product is converted to float64 to prevent
// fusing it with the addition.
func (m *metric) between(prior, next uint64, part, gap float64, wrap bool) uint64 {
	switch m.desc.Type {
	case pcp.Type32:
		p, n := int32(prior), int32(next)
		if n >= p || !wrap {
			return uint64(uint32(toInt32(0.5 + float64(p) + float64(part*float64(n-p))/gap)))
		}
		v := toInt32(0.5 + float64(part*float64(int32(math.MaxUint32-uint32(p)+1+uint32(n))))/gap)
		return uint64(uint32(v + p))
	case pcp.TypeU32:
		p, n := uint32(prior), uint32(next)
		if n >= p {
			return uint64(toUint32(0.5 + float64(p) + float64(part*float64(n-p))/gap))
		}
		if wrap {
			return uint64(toUint32(0.5+float64(part*float64(math.MaxUint32-p+1+n))/gap) + p)
		}
		return uint64(toUint32(0.5 + float64(p) - float64(part*float64(p-n))/gap))
	case pcp.Type64:
		p, n := int64(prior), int64(next)
		d := n - p
		if n < p && wrap {
			d = int64(math.MaxUint64 - uint64(p) + 1 + uint64(n))
		}
		return uint64(toInt64(0.5 + float64(p) + float64(part*float64(d))/gap))
	case pcp.TypeU64:
		// The C library uses signed variables, for the difference too, which is
		// correct below 1<<63; see TestUnsignedCounter for its results for
		// others.
		p, n := int64(prior), int64(next)
		return toUint64(0.5 + float64(p) + float64(part*float64(n-p))/gap)
	case pcp.TypeFloat:
		p, n := math.Float32frombits(uint32(prior)), math.Float32frombits(uint32(next))
		return uint64(math.Float32bits(float32(float64(p) + float64(part*float64(n-p))/gap)))
	case pcp.TypeDouble:
		p, n := math.Float64frombits(prior), math.Float64frombits(next)
		return math.Float64bits(p + float64(part*(n-p))/gap)
	}
	return prior
}

// Results of C's conversions on common machines for numbers that do not fit.

func toInt32(f float64) int32 {
	if f > -2147483649 && f < 2147483648 {
		return int32(f)
	}
	return math.MinInt32
}

func toInt64(f float64) int64 {
	if f >= -9223372036854775808 && f < 9223372036854775808 {
		return int64(f)
	}
	return math.MinInt64
}

func toUint32(f float64) uint32 { return uint32(toInt64(f)) }

func toUint64(f float64) uint64 {
	if f < 9223372036854775808 {
		return uint64(toInt64(f))
	}
	return uint64(toInt64(f-9223372036854775808)) ^ 1<<63
}
