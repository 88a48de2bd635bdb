package eval

import "fmt"

// An Op is the operation of a node of an expression.
type Op uint8

// The operators. Aggregates and quantifiers have one for each domain, in the order of
// the domains.
const (
	OpNone Op = iota // a constant
	OpVar            // a variable that the program sets, such as $minute
	OpRule
	OpFetch
	OpDelay
	OpRate
	OpInstant
	OpNeg
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpSum
	opSumInst
	opSumSample
	OpAvg
	opAvgInst
	opAvgSample
	OpMax
	opMaxInst
	opMaxSample
	OpMin
	opMinInst
	opMinSample
	OpEq
	OpEqText
	OpNeq
	OpNeqText
	OpLt
	OpLte
	OpGt
	OpGte
	OpNot
	OpRise
	OpFall
	OpAnd
	OpOr
	OpMatch
	OpNoMatch
	OpRuleset
	OpOther
	OpAll
	opAllInst
	opAllSample
	OpSome
	opSomeInst
	opSomeSample
	OpPercent
	opPercentInst
	opPercentSample
	OpCount
	opCountInst
	opCountSample
	ActSeq
	ActAlt
	ActShell
	ActAlarm
	ActSyslog
	ActPrint
	ActStomp
	ActExec
	ActWebhook
	ActAlertmanager
	ActMail
	ActArgument
)

// String returns an operator as it is written, or as it is shown if rules cannot contain
// it.
func (o Op) String() string {
	switch o {
	case OpNone:
		return "<nop node>"
	case OpVar:
		return "<op_var node>"
	case OpRule:
		return "->"
	case OpFetch:
		return "<fetch node>"
	case OpDelay:
		return "<delay node>"
	case OpRate:
		return "rate"
	case OpInstant:
		return "instant"
	case OpNeg, OpSub:
		return "-"
	case OpAdd:
		return "+"
	case OpMul:
		return "*"
	case OpDiv:
		return "/"
	case OpEq:
		return "=="
	case OpEqText:
		return "==<str>"
	case OpNeq:
		return "!="
	case OpNeqText:
		return "!=<str>"
	case OpLt:
		return "<"
	case OpLte:
		return "<="
	case OpGt:
		return ">"
	case OpGte:
		return ">="
	case OpNot:
		return "!"
	case OpRise:
		return "rising"
	case OpFall:
		return "falling"
	case OpAnd:
		return "&&"
	case OpOr:
		return "||"
	case OpMatch:
		return "match_inst"
	case OpNoMatch:
		return "nomatch_inst"
	case OpRuleset:
		return "ruleset"
	case OpOther:
		return "other"
	case ActSeq:
		return "&"
	case ActAlt:
		return "|"
	case ActShell:
		return "shell"
	case ActAlarm:
		return "alarm"
	case ActSyslog:
		return "syslog"
	case ActPrint:
		return "print"
	case ActStomp:
		return "stomp"
	case ActExec:
		return "exec"
	case ActWebhook:
		return "webhook"
	case ActAlertmanager:
		return "alertmanager"
	case ActMail:
		return "mail"
	case ActArgument:
		return "<action arg node>"
	}
	for _, f := range []struct {
		first Op
		name  string
	}{{OpSum, "sum"}, {OpAvg, "avg"}, {OpMax, "max"}, {OpMin, "min"}, {OpAll, "all"}, {OpSome, "some"}, {OpPercent, "pcnt"}, {OpCount, "count"}} {
		if o >= f.first && o < f.first+3 {
			return f.name + "_" + Domain(o-f.first).String()
		}
	}
	return fmt.Sprintf("<unknown op %d>", uint8(o))
}

// Aggregate reports whether an operator reduces a set of values to one number.
func (o Op) Aggregate() bool {
	return o >= OpSum && o < OpSum+12 || o >= OpCount && o < OpCount+3
}

// numeric reports whether an operator reduces a set of numbers to one.
func (o Op) numeric() bool { return o >= OpSum && o < OpSum+12 }

// ofSamples reports whether an aggregate runs over samples.
func (o Op) ofSamples() bool {
	return o >= OpSum && o < OpSum+12 && Domain((o-OpSum)%3) == OverSamples || o == opCountSample
}

// domain returns the domain of an aggregate or a quantifier.
func (o Op) domain() (d Domain, ok bool) {
	switch {
	case o >= OpSum && o < OpSum+12:
		return Domain((o - OpSum) % 3), true
	case o >= OpAll && o < OpCount+3:
		return Domain((o - OpAll) % 3), true
	}
	return 0, false
}

// computes reports whether the values of an operator are those of its arguments, or are computed from
// them.
func (o Op) computes() bool { return o >= OpDelay && o < OpCount+3 && o != OpRuleset && o != OpOther }

// extremum reports whether the value of an operator is one of the values in its domain.
func (o Op) extremum() bool { return o >= OpMax && o < OpMax+6 }

// Acts reports whether an operator is an action that runs.
func (o Op) Acts() bool { return o >= ActShell && o <= ActMail }

// Delivers reports whether an operator is an action that names a receiver.
func (o Op) Delivers() bool { return o >= ActWebhook && o <= ActMail }

// A Domain is the dimension that an aggregate or a quantifier covers.
type Domain uint8

const (
	OverHosts Domain = iota
	OverInstances
	OverSamples
)

func (d Domain) String() string { return [...]string{"host", "inst", "sample"}[d] }

// Truth values, of three kinds. Their numbers are in order, for comparisons.
const (
	False int8 = iota
	True
	Unknown
)
