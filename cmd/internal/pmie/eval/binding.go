package eval

import (
	"strings"

	"github.com/go-pcp/pcp"
)

// A Binding is where a value is from.
type Binding struct {
	Host, Conn, Inst string
	HasHost, HasInst bool

	M      *Metric
	Number int32 // of the instance
}

// BindingOf returns the host and the instance of the ith value of x.
func BindingOf(x *Expr, i int) Binding {
	o := x.Op
	value, extremum := 0.0, o.extremum()
	if extremum {
		value = x.Numbers(0)[0]
		x = x.Arg1
	}
	if x.Insts <= 0 && x.Hosts <= 0 || x.Metrics == nil {
		return Binding{}
	}
	list := x.Metrics.List
	var m *Metric
	pick := None
	switch {
	case !extremum:
		pick = i
		for _, candidate := range list {
			if pick < candidate.Count {
				m = candidate
				break
			}
			pick -= max(candidate.Count, 0)
		}
	case (o-OpSum)%3 == Op(OverHosts):
		for k, v := range x.Numbers(0) {
			if v == value && k < len(list) {
				m = list[k]
				break
			}
		}
	case (o-OpSum)%3 == Op(OverInstances):
		for k, v := range x.Numbers(0) {
			if v == value {
				m, pick = list[0], k
				break
			}
		}
	default:
		m, pick = list[0], i
	}
	if m == nil {
		return Binding{}
	}
	bind := Binding{Host: m.Host, Conn: m.Conn, HasHost: true, M: m, Number: pcp.InNull}
	if pick >= 0 && x.Insts > 0 && pick < len(m.Names) {
		bind.Inst, bind.HasInst = m.Names[pick], true
		bind.Number = m.Insts[pick]
	}
	return bind
}

// findMetrics returns the first part with metrics of a conjunction.
func findMetrics(x *Expr) *Expr {
	switch {
	case x == nil:
		return nil
	case x.Metrics != nil:
		return x
	case x.Op != OpAnd:
		return nil
	}
	if y := findMetrics(x.Arg1); y != nil {
		return y
	}
	return findMetrics(x.Arg2)
}

// FindBindings returns the part of x that has the hosts and instances of its values.
func FindBindings(x *Expr) *Expr {
	if x.Metrics == nil {
		if y := findMetrics(x.Arg1); y != nil {
			x = y
		}
	}
	for x.Metrics != nil && (x.Insts <= 0 || x.Hosts <= 0) && !x.Op.Aggregate() {
		switch {
		case x.Arg1 != nil && x.Metrics == x.Arg1.Metrics:
			x = x.Arg1
		case x.Arg2 != nil:
			x = x.Arg2
		default:
			return x
		}
	}
	return x
}

// FindValues returns the part of x whose values determine its value.
func FindValues(x *Expr) *Expr {
	for x.Sem == SemTruth && x.Metrics != nil {
		switch {
		case x.Arg1 != nil && x.Metrics == x.Arg1.Metrics:
			x = x.Arg1
		case x.Arg2 != nil:
			x = x.Arg2
		default:
			return x
		}
	}
	return x
}

// Satisfies reports whether the ith value of x makes a rule true.
func Satisfies(x *Expr, i int) bool {
	if x.Sem == SemTruth {
		return x.Truth(0)[i] == True
	}
	return x.Sem != SemUnknown
}

// LimitOf returns the operator and the ith value of the other operand of a comparison, as it is now: "> 0.9".
func LimitOf(condition, what *Expr, i int) string {
	if condition == nil || condition.Sem != SemTruth {
		return ""
	}
	o, other := condition.Op, condition.Arg2
	switch {
	case o < OpEq || o > OpGte:
		if limit := LimitOf(condition.Arg1, what, i); limit != "" {
			return limit
		}
		return LimitOf(condition.Arg2, what, i)
	case condition.Arg1 == what:
	case condition.Arg2 == what:
		other = condition.Arg1
		switch o {
		case OpLt:
			o = OpGt
		case OpLte:
			o = OpGte
		case OpGt:
			o = OpLt
		case OpGte:
			o = OpLte
		}
	default:
		return ""
	}
	if other == nil || other.Span <= 0 || other.Nvals <= 0 {
		return ""
	}
	if i >= other.Span {
		i = 0
	}
	return string(AppendSamples(append([]byte(strings.TrimSuffix(o.String(), "<str>")), ' '), other, i))
}
