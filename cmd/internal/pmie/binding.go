package pmie

import (
	"strings"

	"github.com/go-pcp/pcp"
)

// A binding is where a value is from.
type binding struct {
	host, conn, inst string
	hasHost, hasInst bool

	m      *metric
	number int32 // of the instance
}

// bindingOf returns the host and the instance of the ith value of x.
func bindingOf(x *expr, i int) binding {
	o := x.op
	value, extremum := 0.0, o.extremum()
	if extremum {
		value = x.numbers(0)[0]
		x = x.arg1
	}
	if x.insts <= 0 && x.hosts <= 0 || x.metrics == nil {
		return binding{}
	}
	list := x.metrics.list
	var m *metric
	pick := none
	switch {
	case !extremum:
		pick = i
		for _, candidate := range list {
			if pick < candidate.count {
				m = candidate
				break
			}
			pick -= max(candidate.count, 0)
		}
	case (o-opSum)%3 == op(overHosts):
		for k, v := range x.numbers(0) {
			if v == value && k < len(list) {
				m = list[k]
				break
			}
		}
	case (o-opSum)%3 == op(overInstances):
		for k, v := range x.numbers(0) {
			if v == value {
				m, pick = list[0], k
				break
			}
		}
	default:
		m, pick = list[0], i
	}
	if m == nil {
		return binding{}
	}
	bind := binding{host: m.host, conn: m.conn, hasHost: true, m: m, number: pcp.InNull}
	if pick >= 0 && x.insts > 0 && pick < len(m.names) {
		bind.inst, bind.hasInst = m.names[pick], true
		bind.number = m.insts[pick]
	}
	return bind
}

// findMetrics returns the first part with metrics of a conjunction.
func findMetrics(x *expr) *expr {
	switch {
	case x == nil:
		return nil
	case x.metrics != nil:
		return x
	case x.op != opAnd:
		return nil
	}
	if y := findMetrics(x.arg1); y != nil {
		return y
	}
	return findMetrics(x.arg2)
}

// findBindings returns the part of x that has the hosts and instances of its values.
func findBindings(x *expr) *expr {
	if x.metrics == nil {
		if y := findMetrics(x.arg1); y != nil {
			x = y
		}
	}
	for x.metrics != nil && (x.insts <= 0 || x.hosts <= 0) && !x.op.aggregate() {
		switch {
		case x.arg1 != nil && x.metrics == x.arg1.metrics:
			x = x.arg1
		case x.arg2 != nil:
			x = x.arg2
		default:
			return x
		}
	}
	return x
}

// findValues returns the part of x whose values determine its value.
func findValues(x *expr) *expr {
	for x.sem == semTruth && x.metrics != nil {
		switch {
		case x.arg1 != nil && x.metrics == x.arg1.metrics:
			x = x.arg1
		case x.arg2 != nil:
			x = x.arg2
		default:
			return x
		}
	}
	return x
}

// satisfies reports whether the ith value of x makes a rule true.
func satisfies(x *expr, i int) bool {
	if x.sem == semTruth {
		return x.truth(0)[i] == isTrue
	}
	return x.sem != semUnknown
}

// limitOf returns the operator and the ith value of the other operand of a comparison, as it is now: "> 0.9".
func limitOf(condition, what *expr, i int) string {
	if condition == nil || condition.sem != semTruth {
		return ""
	}
	o, other := condition.op, condition.arg2
	switch {
	case o < opEq || o > opGte:
		if limit := limitOf(condition.arg1, what, i); limit != "" {
			return limit
		}
		return limitOf(condition.arg2, what, i)
	case condition.arg1 == what:
	case condition.arg2 == what:
		other = condition.arg1
		switch o {
		case opLt:
			o = opGt
		case opLte:
			o = opGte
		case opGt:
			o = opLt
		case opGte:
			o = opLte
		}
	default:
		return ""
	}
	if other == nil || other.span <= 0 || other.nvals <= 0 {
		return ""
	}
	if i >= other.span {
		i = 0
	}
	return string(appendSamples(append([]byte(strings.TrimSuffix(o.String(), "<str>")), ' '), other, i))
}
