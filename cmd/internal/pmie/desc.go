package pmie

import (
	"math"

	"github.com/go-pcp/pcp"
)

// newest returns the first value of the newest sample. True is 1, false 0.
func (x *expr) newest() float64 {
	switch {
	case x.op == opVar:
		return x.nums[0]
	case x.span <= 0 || x.texts != nil:
	case x.sem == semTruth:
		if v := x.truth(0)[0]; v != isUnknown {
			return float64(v)
		}
	case x.nums != nil:
		return x.numbers(0)[0]
	}
	return math.NaN()
}

// describe returns the descriptor of the value of x.
func (x *expr) describe() pcp.Desc {
	d := pcp.Desc{PMID: pcp.PMIDNull, InDom: pcp.InDomNull, Type: pcp.TypeDouble, Sem: pcp.SemInstant}
	switch x.sem {
	case semInstant, semVar, semNumber, semTruth:
	case semDiscrete:
		d.Sem = pcp.SemDiscrete
	default:
		d.Type = pcp.TypeNoSupport
		return d
	}
	if x.strings() {
		d.Type = pcp.TypeNoSupport
		return d
	}
	d.Units, _ = x.dimension()
	return d
}

// dimension returns the units of x, if they are known.
func (x *expr) dimension() (u pcp.Units, known bool) {
	switch {
	case x.op == opNone:
		return x.unit, true
	case x.op == opVar:
		return u, true
	case x.op >= opCount && x.op < opCount+3:
		return pcp.Units{DimCount: 1}, true
	case x.sem == semTruth || x.sem == semVar || x.sem == semNumber:
		return u, true
	case x.op == opFetch:
		for _, m := range x.metrics.list {
			if m.desc.Sem != 0 {
				u = inCanonical(m.desc.Units)
				if m.desc.Sem == pcp.SemCounter {
					u.DimTime--
				}
				return u, true
			}
		}
		return u, false
	case x.arg1 == nil:
		return u, false
	}
	u, known = x.arg1.dimension()
	if x.arg2 == nil {
		switch {
		case x.op == opRate:
			u.DimTime--
		case x.op == opInstant && x.metrics != nil && x.metrics.first().desc.Sem == pcp.SemCounter:
			u.DimTime++
		}
		return u, known
	}
	v, also := x.arg2.dimension()
	if !known || !also {
		return pcp.Units{}, false
	}
	w := u
	if primary(x.arg1, x.arg2) == x.arg2 {
		w = v
	}
	switch x.op {
	case opMul:
		w.DimSpace, w.DimTime, w.DimCount = u.DimSpace+v.DimSpace, u.DimTime+v.DimTime, u.DimCount+v.DimCount
	case opDiv:
		w.DimSpace, w.DimTime, w.DimCount = u.DimSpace-v.DimSpace, u.DimTime-v.DimTime, u.DimCount-v.DimCount
	}
	return w, true
}
