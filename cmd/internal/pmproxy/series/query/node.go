package query

// Limits of queries. Longer or deeper queries are refused.
const (
	// MaxLength is the maximum length of a query, in bytes.
	MaxLength = 64 << 10
	// MaxDepth is the maximum nesting depth of functions and operators.
	MaxDepth = 100
	// MaxMatchers is the maximum number of conditions in a query.
	MaxMatchers = 1000
)

// An Op is an operator of a condition, or of arithmetic.
type Op int

// Operators of conditions, and of arithmetic.
const (
	OpEqual        Op = iota + 1 // ==
	OpNotEqual                   // !=
	OpLess                       // <
	OpLessEqual                  // <=
	OpGreaterEqual               // >=
	OpGreater                    // >
	OpGlob                       // ~~ or :
	OpRegex                      // =~
	OpNotRegex                   // !~
	OpAnd                        // && or a comma
	OpOr                         // ||
	OpAdd                        // +
	OpSub                        // -
	OpMul                        // *
	OpDiv                        // /
)

var opNames = [...]string{
	OpEqual: "==", OpNotEqual: "!=", OpLess: "<", OpLessEqual: "<=", OpGreaterEqual: ">=", OpGreater: ">",
	OpGlob: "~~", OpRegex: "=~", OpNotRegex: "!~", OpAnd: "&&", OpOr: "||", OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/",
}

// String returns the operator as in the query language.
func (o Op) String() string { return opNames[o] }

// A Kind is the kind of value in a condition.
type Kind int

// Kinds of values.
const (
	KindString Kind = iota // in quotes
	KindName               // a word
	KindNumber             // an integer, or a number with a point
)

// A Match is a condition on names and labels, or two of them joined.
type Match struct {
	Op          Op
	Left, Right *Match // of OpAnd and OpOr

	// the operand as in the query: "metric.name", "hostname" …
	Name string
	Text string
	Kind Kind

	comma   bool // OpAnd was a comma
	operand bool // the name of a metric, before braces or alone
}

// A Func is a function of the language.
type Func int

// Functions are named as in the language: FuncRate is rate.
const (
	FuncAvg Func = iota + 1
	FuncAvgInst
	FuncAvgSample
	FuncCount
	FuncMax
	FuncMaxInst
	FuncMaxSample
	FuncMin
	FuncMinInst
	FuncMinSample
	FuncSum
	FuncSumInst
	FuncSumSample
	FuncStdevInst
	FuncStdevSample
	FuncTopkInst
	FuncTopkSample
	FuncNthPercentileInst
	FuncNthPercentileSample
	FuncRate
	FuncAbs
	FuncFloor
	FuncLog
	FuncSqrt
	FuncRound
	FuncRescale
)

var funcNames = [...]string{
	FuncAvg: "avg", FuncAvgInst: "avg_inst", FuncAvgSample: "avg_sample", FuncCount: "count", FuncMax: "max", FuncMaxInst: "max_inst",
	FuncMaxSample: "max_sample", FuncMin: "min", FuncMinInst: "min_inst", FuncMinSample: "min_sample", FuncSum: "sum",
	FuncSumInst: "sum_inst", FuncSumSample: "sum_sample", FuncStdevInst: "stdev_inst", FuncStdevSample: "stdev_sample",
	FuncTopkInst: "topk_inst", FuncTopkSample: "topk_sample", FuncNthPercentileInst: "nth_percentile_inst",
	FuncNthPercentileSample: "nth_percentile_sample", FuncRate: "rate", FuncAbs: "abs", FuncFloor: "floor", FuncLog: "log",
	FuncSqrt: "sqrt", FuncRound: "round", FuncRescale: "rescale",
}

// String returns the name of the function.
func (f Func) String() string { return funcNames[f] }

func functionNamed(s string) (Func, bool) {
	for f := FuncAvg; f <= FuncRescale; f++ {
		if funcNames[f] == s {
			return f, true
		}
	}
	return 0, false
}

// An Expr is an expression: an operand, which selects series; a number; a
// function of an expression; or two expressions with an operator.
type Expr struct {
	// Match selects series, if the expression is an operand. The name of a
	// metric is a condition too, the left side of OpAnd if there are others.
	Match *Match
	// Window is the operand's window, or nil.
	Window *Window

	Number string // a number

	Func Func   // a function of Left
	Arg  string // its second argument: a number, or units

	Op          Op // arithmetic
	Left, Right *Expr
}
