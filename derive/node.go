package derive

import (
	"regexp"

	"github.com/go-pcp/pcp"
)

// An op is the operation of a node of an expression. Those of one kind are together.
type op uint8

const (
	opNone op = iota

	opInteger // a constant; text has its digits
	opDouble
	opName // a metric; text is its name

	opAdd
	opSub
	opMul
	opDiv

	opLess
	opLessEq
	opEq
	opGreaterEq
	opGreater
	opNotEq
	opAnd
	opOr

	opNot
	opNeg

	opQuest // left is the guard, right the opColon
	opColon

	opAvg
	opCount
	opMax
	opMin
	opSum
	opScalar
	opDelta
	opRate
	opInstant
	opDefined
	opAnon
	opRescale // more.desc.Units are the requested units
	opSelect  // [instance]: text is its name
	opMatch   // matchinst: more.re, text is the pattern
	opNoValue
)

// opNames are the names of nodes in messages, and their signs.
var opNames = [...]struct{ name, sign string }{
	opInteger: {"INTEGER", ""}, opDouble: {"DOUBLE", ""}, opName: {"NAME", ""},
	opAdd: {"PLUS", "+"}, opSub: {"MINUS", "-"}, opMul: {"STAR", "*"}, opDiv: {"SLASH", "/"},
	opLess: {"LT", "<"}, opLessEq: {"LEQ", "<="}, opEq: {"EQ", "=="},
	opGreaterEq: {"GEQ", ">="}, opGreater: {"GT", ">"}, opNotEq: {"NEQ", "!="},
	opAnd: {"AND", "&&"}, opOr: {"OR", "||"}, opNot: {"NOT", "!"}, opNeg: {"NEG", "-"},
	opQuest: {"QUEST", "?"}, opColon: {"COLON", ":"},
	opAvg: {"AVG", ""}, opCount: {"COUNT", ""}, opMax: {"MAX", ""}, opMin: {"MIN", ""}, opSum: {"SUM", ""},
	opScalar: {"SCALAR", ""}, opDelta: {"DELTA", ""}, opRate: {"RATE", ""}, opInstant: {"INSTANT", ""},
	opDefined: {"DEFINED", ""}, opAnon: {"ANON", ""}, opRescale: {"RESCALE", ""},
	opSelect: {"FILTERINST", ""}, opMatch: {"FILTERINST", ""}, opNoValue: {"NOVALUE", ""},
}

func (o op) String() string { return opNames[o].name }

// isTruth reports whether o is a comparison or a logical operator, with the result 0 or
// 1.
func (o op) isTruth() bool { return o >= opLess && o <= opOr }

func (o op) isConst() bool { return o == opInteger || o == opDouble }

// A node is a parsed expression. It never changes afterwards: all bindings of the
// definition share it.
type node struct {
	op          op
	last        bool  // the node above needs the previous values too
	left, right *node // of a function and of a prefix operator only left
	text        string
	more        *details // nil for most
}

// details are fields that few nodes need.
type details struct {
	desc     pcp.Desc // of constants that are not plain numbers, anon, novalue and rescale
	meta     meta     // fields of desc that were given
	metaName string   // the metric whose descriptor has the others, or ""
	re       *regexp.Regexp
	invert   bool
}

// A meta is a set of the fields that mkconst and novalue accept.
type meta uint8

const (
	metaType meta = 1 << iota
	metaInDom
	metaSem
	metaUnits
)

// plain is the descriptor of a number of type t.
func plain(t pcp.Type) pcp.Desc {
	return pcp.Desc{PMID: pcp.PMIDNull, Type: t, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
}

// metaName returns the metric whose descriptor n uses, or "".
func (n *node) metaName() string {
	if n.more == nil {
		return ""
	}
	return n.more.metaName
}

// walk calls f for n and all nodes below it.
func (n *node) walk(f func(*node)) {
	for ; n != nil; n = n.right {
		f(n)
		n.left.walk(f)
	}
}
