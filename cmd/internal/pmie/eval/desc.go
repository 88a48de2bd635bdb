package eval

import (
	"math"

	"github.com/go-pcp/pcp"
)

// Newest returns the first value of the newest sample. True is 1, false 0.
func (x *Expr) Newest() float64 {
	switch {
	case x.Op == OpVar:
		return x.Nums[0]
	case x.Span <= 0 || x.Texts != nil:
	case x.Sem == SemTruth:
		if v := x.Truth(0)[0]; v != Unknown {
			return float64(v)
		}
	case x.Nums != nil:
		return x.Numbers(0)[0]
	}
	return math.NaN()
}

// Describe returns the descriptor of the value of x.
func (x *Expr) Describe() pcp.Desc {
	d := pcp.Desc{PMID: pcp.PMIDNull, InDom: pcp.InDomNull, Type: pcp.TypeDouble, Sem: pcp.SemInstant}
	switch x.Sem {
	case SemInstant, SemVar, SemNumber, SemTruth:
	case SemDiscrete:
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
func (x *Expr) dimension() (u pcp.Units, known bool) {
	switch {
	case x.Op == OpNone:
		return x.Unit, true
	case x.Op == OpVar:
		return u, true
	case x.Op >= OpCount && x.Op < OpCount+3:
		return pcp.Units{DimCount: 1}, true
	case x.Sem == SemTruth || x.Sem == SemVar || x.Sem == SemNumber:
		return u, true
	case x.Op == OpFetch:
		for _, m := range x.Metrics.List {
			if m.Desc.Sem != 0 {
				u = InCanonical(m.Desc.Units)
				if m.Desc.Sem == pcp.SemCounter {
					u.DimTime--
				}
				return u, true
			}
		}
		return u, false
	case x.Arg1 == nil:
		return u, false
	}
	u, known = x.Arg1.dimension()
	if x.Arg2 == nil {
		switch {
		case x.Op == OpRate:
			u.DimTime--
		case x.Op == OpInstant && x.Metrics != nil && x.Metrics.First().Desc.Sem == pcp.SemCounter:
			u.DimTime++
		}
		return u, known
	}
	v, also := x.Arg2.dimension()
	if !known || !also {
		return pcp.Units{}, false
	}
	w := u
	if Primary(x.Arg1, x.Arg2) == x.Arg2 {
		w = v
	}
	switch one, two := u.Extra.Unit() != 0, v.Extra.Unit() != 0; {
	case x.Op != OpMul && x.Op != OpDiv:
	case one && two && (x.Op == OpMul || u.Extra != v.Extra):
		return pcp.Units{}, false // there are no units for it
	case one && two:
		w.Extra = 0
	case one:
		w.Extra = u.Extra
	case x.Op == OpMul:
		w.Extra = v.Extra
	default:
		w.Extra = v.Extra.Inverse()
	}
	switch x.Op {
	case OpMul:
		w.DimSpace, w.DimTime, w.DimCount = u.DimSpace+v.DimSpace, u.DimTime+v.DimTime, u.DimCount+v.DimCount
	case OpDiv:
		w.DimSpace, w.DimTime, w.DimCount = u.DimSpace-v.DimSpace, u.DimTime-v.DimTime, u.DimCount-v.DimCount
	}
	return w, true
}
