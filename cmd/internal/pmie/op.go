package pmie

import "fmt"

// An op is the operation of a node of an expression.
type op uint8

// The operators. Aggregates and quantifiers have one for each domain, in the order of
// the domains.
const (
	opNone op = iota // a constant
	opVar            // a variable that the program sets, such as $minute
	opRule
	opFetch
	opDelay
	opRate
	opInstant
	opNeg
	opAdd
	opSub
	opMul
	opDiv
	opSum
	opSumInst
	opSumSample
	opAvg
	opAvgInst
	opAvgSample
	opMax
	opMaxInst
	opMaxSample
	opMin
	opMinInst
	opMinSample
	opEq
	opEqText
	opNeq
	opNeqText
	opLt
	opLte
	opGt
	opGte
	opNot
	opRise
	opFall
	opAnd
	opOr
	opMatch
	opNoMatch
	opRuleset
	opOther
	opAll
	opAllInst
	opAllSample
	opSome
	opSomeInst
	opSomeSample
	opPercent
	opPercentInst
	opPercentSample
	opCount
	opCountInst
	opCountSample
	actSeq
	actAlt
	actShell
	actAlarm
	actSyslog
	actPrint
	actStomp
	actExec
	actWebhook
	actAlertmanager
	actMail
	actArgument
)

// String returns an operator as it is written, or as it is shown if rules cannot contain
// it.
func (o op) String() string {
	switch o {
	case opNone:
		return "<nop node>"
	case opVar:
		return "<op_var node>"
	case opRule:
		return "->"
	case opFetch:
		return "<fetch node>"
	case opDelay:
		return "<delay node>"
	case opRate:
		return "rate"
	case opInstant:
		return "instant"
	case opNeg, opSub:
		return "-"
	case opAdd:
		return "+"
	case opMul:
		return "*"
	case opDiv:
		return "/"
	case opEq:
		return "=="
	case opEqText:
		return "==<str>"
	case opNeq:
		return "!="
	case opNeqText:
		return "!=<str>"
	case opLt:
		return "<"
	case opLte:
		return "<="
	case opGt:
		return ">"
	case opGte:
		return ">="
	case opNot:
		return "!"
	case opRise:
		return "rising"
	case opFall:
		return "falling"
	case opAnd:
		return "&&"
	case opOr:
		return "||"
	case opMatch:
		return "match_inst"
	case opNoMatch:
		return "nomatch_inst"
	case opRuleset:
		return "ruleset"
	case opOther:
		return "other"
	case actSeq:
		return "&"
	case actAlt:
		return "|"
	case actShell:
		return "shell"
	case actAlarm:
		return "alarm"
	case actSyslog:
		return "syslog"
	case actPrint:
		return "print"
	case actStomp:
		return "stomp"
	case actExec:
		return "exec"
	case actWebhook:
		return "webhook"
	case actAlertmanager:
		return "alertmanager"
	case actMail:
		return "mail"
	case actArgument:
		return "<action arg node>"
	}
	for _, f := range []struct {
		first op
		name  string
	}{{opSum, "sum"}, {opAvg, "avg"}, {opMax, "max"}, {opMin, "min"}, {opAll, "all"}, {opSome, "some"}, {opPercent, "pcnt"}, {opCount, "count"}} {
		if o >= f.first && o < f.first+3 {
			return f.name + "_" + domain(o-f.first).String()
		}
	}
	return fmt.Sprintf("<unknown op %d>", uint8(o))
}

// aggregate reports whether an operator reduces a set of values to one number.
func (o op) aggregate() bool {
	return o >= opSum && o < opSum+12 || o >= opCount && o < opCount+3
}

// numeric reports whether an operator reduces a set of numbers to one.
func (o op) numeric() bool { return o >= opSum && o < opSum+12 }

// ofSamples reports whether an aggregate runs over samples.
func (o op) ofSamples() bool {
	return o >= opSum && o < opSum+12 && domain((o-opSum)%3) == overSamples || o == opCountSample
}

// domain returns the domain of an aggregate or a quantifier.
func (o op) domain() (d domain, ok bool) {
	switch {
	case o >= opSum && o < opSum+12:
		return domain((o - opSum) % 3), true
	case o >= opAll && o < opCount+3:
		return domain((o - opAll) % 3), true
	}
	return 0, false
}

// computes reports whether the values of an operator are those of its arguments, or are computed from
// them.
func (o op) computes() bool { return o >= opDelay && o < opCount+3 && o != opRuleset && o != opOther }

// extremum reports whether the value of an operator is one of the values in its domain.
func (o op) extremum() bool { return o >= opMax && o < opMax+6 }

// acts reports whether an operator is an action that runs.
func (o op) acts() bool { return o >= actShell && o <= actMail }

// delivers reports whether an operator is an action that names a receiver.
func (o op) delivers() bool { return o >= actWebhook && o <= actMail }

// A domain is the dimension that an aggregate or a quantifier covers.
type domain uint8

const (
	overHosts domain = iota
	overInstances
	overSamples
)

func (d domain) String() string { return [...]string{"host", "inst", "sample"}[d] }

// Truth values, of three kinds. Their numbers are in order, for comparisons.
const (
	isFalse int8 = iota
	isTrue
	isUnknown
)
