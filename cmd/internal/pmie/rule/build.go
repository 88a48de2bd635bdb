//go:generate sh -c "export GOWORK=off; go tool -modfile=../../../../tools/go.mod goyacc -o grammar.go grammar.y && sed -i.orig -f recover.sed grammar.go && rm grammar.go.orig && go tool -modfile=../../../../tools/go.mod gofumpt -w grammar.go && rm y.output"

package rule

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)

// A Config configures a Parser.
type Config struct {
	Program string // the name of the program, in messages
	Places  bool   // messages about mistakes also have the place at the end of a file
	Agent   bool   // rules become metrics of an agent
	Applet  bool   // the values of all rules are printed in a line
	Errorf  func(format string, args ...any)
	Source  Source
}

// A Source has the metrics that rules name.
type Source interface {
	// Metrics returns a metric of some hosts, with the instances of these names or with all. Nil means
	// the default host.
	Metrics(name string, hosts, insts []string) []*eval.Metric
	// Describe requests the metadata of a metric. It reports whether the rule can be used now or later.
	Describe(m *eval.Metric) bool
}

// A Parser makes expressions from the constructs that the grammar recognizes.
type Parser struct {
	scanner
	Config
	vars   map[string]*eval.Expr
	rules  map[string]*eval.Expr
	names  int   // of rules that had none
	result *Rule // of the last statement
	Errs   int   // in the statement

	unitPercent bool // the statement has a % that is not part of a quantifier

	Conditions uint32 // rules with a condition and an action so far
	Stomps     bool   // an action sends messages to a broker

	interval *eval.Expr    // $delta
	clock    [6]*eval.Expr // minute, hour, day, month, year, day of the week
}

// A Rule is a rule.
type Rule struct {
	Name string
	X    *eval.Expr
}

// New returns a Parser without rules.
func New(l Config) *Parser {
	b := &Parser{Config: l, vars: make(map[string]*eval.Expr), rules: make(map[string]*eval.Expr)}
	variable := func(name string) *eval.Expr {
		x := eval.NewExpr(eval.OpVar, nil, nil, eval.None, eval.None, eval.None, 1, eval.SemVar)
		x.Valid = 1
		x.Text = "$" + name
		b.vars[name] = x
		return x
	}
	b.interval = variable("delta")
	for i, name := range []string{"minute", "hour", "day", "month", "year", "day_of_week"} {
		b.clock[i] = variable(name)
	}
	return b
}

// Begin makes the parser read a file, in which the statements follow.
func (b *Parser) Begin(name string, text []byte) {
	b.ahead = 0
	b.Errs, b.unitPercent = 0, false
	b.open(name, bytes.Clone(text), false)
}

// End drops the rest of a file.
func (b *Parser) End() { b.in, b.depth = nil, 0 }

// Next reads a statement, and returns the rule that it defines or nil.
func (b *Parser) Next() *Rule {
	b.Errs, b.unitPercent = 0, false
	b.result = nil
	yyParse(b)
	return b.result
}

// Delta returns the interval of the rules that follow, in seconds.
func (b *Parser) Delta() float64 {
	if x := b.vars["delta"]; x.Nums != nil {
		return x.Nums[0]
	}
	return 0
}

// SetTime sets the variables for an interval, unless a rule has, and for a time.
func (b *Parser) SetTime(delta float64, t time.Time) {
	if x := b.vars["delta"]; x == b.interval {
		x.Nums[0] = delta
	}
	for i, v := range []int{t.Minute(), t.Hour(), t.Day(), int(t.Month()) - 1, t.Year(), int(t.Weekday())} {
		b.clock[i].Nums[0] = float64(v)
	}
}

// Rule returns the rule of a name, nil if there is none.
func (b *Parser) Rule(name string) *Rule {
	x := b.rules[name]
	if x == nil {
		return nil
	}
	return &Rule{Name: name, X: x}
}

// b returns the Parser that a parser reads from.
func b(l yyLexer) *Parser { return l.(*Parser) }

func (b *Parser) printf(format string, args ...any) { b.Errorf(format, args...) }

func (b *Parser) report(what string) {
	at := b.place()
	if b.Places {
		at = b.lastPlace()
	}
	b.printf("%s: %s - %s\n", b.Config.Program, what, at)
}

// syntaxError reports the place of a mistake.
func (b *Parser) syntaxError() {
	b.report("syntax error")
	b.Errs++
}

// Error is called by the parser where no production fits.
func (b *Parser) Error(string) { b.syntaxError() }

// mistake reports a mistake and its place.
func (b *Parser) mistake(format string, args ...any) {
	b.syntaxError()
	b.printf(format+"\n", args...)
}

// warn reports a warning and its place.
func (b *Parser) warn(format string, args ...any) {
	b.report("warning")
	b.printf(format+"\n", args...)
}

// The subjects of mistakes.
const (
	precede = "precede"
	follow  = "follow"

	anAction     = "action"
	aLogical     = "logical expression"
	anArithmetic = "arithmetic expression"
	aPlain       = "arithmetic or string expression"
	aPattern     = "regular expression"
	aQuantifier  = "quantifier"
	anAggregate  = "aggregation operator"
	aPercentage  = "percentage quantifier"
	aHost        = "host name"
	anInstance   = "instance name"
	aSample      = "sample number(s)"
	aText        = "(time interval optional) and string"
	aReceiver    = "(time interval optional), receiver and string"
	aNumber      = "number"
)

// fault reports a missing operand of an operator and skips the rest of the statement.
func (b *Parser) fault(what, where string, o eval.Op) *eval.Expr {
	return b.faultAt(what, where, o.String())
}

func (b *Parser) faultAt(what, where, part string) *eval.Expr {
	if b.unitPercent && b.Places {
		b.printf("%% is not a unit: compare with the number alone, as in > 50 (a %% belongs to %%_inst, %%_host and %%_sample)\n")
	} else {
		b.printf("%s expected to %s %s\n", what, where, part)
	}
	b.sync()
	return nil
}

// defined takes in a rule, or a macro.
func (b *Parser) defined(name string, x *eval.Expr) {
	b.define(name, x)
	publishes := b.Agent
	switch {
	case name == "" && publishes:
		b.mistake("expressions must be named in agent mode")
	case name == "" || x == nil || b.Errs > 0:
		return
	case x.Op == eval.OpRuleset && publishes || (x.Op == eval.OpRule || x.Op == eval.ActSeq || x.Op == eval.ActAlt || x.Op.Acts()) && (publishes || b.Applet):
		b.mistake("operator %v not allowed in agent mode", x.Op)
	default:
		return
	}
	b.result = nil
}

// define gives a rule or a macro its name.
func (b *Parser) define(name string, x *eval.Expr) {
	b.result = nil
	if x == nil {
		return
	}
	if name == "" {
		b.names++
		name = fmt.Sprintf("expr_%d", b.names)
	}
	if x.Op == eval.OpNone {
		b.vars[name] = x
		b.result = &Rule{Name: name, X: x}
		return
	}
	if b.rules[name] != nil {
		b.mistake("rule \"%s\" multiply defined", name)
		return
	}
	if b.Errs > 0 {
		return
	}
	spread(x)
	b.rules[name] = x
	b.result = &Rule{Name: name, X: x}
}

// spread passes known properties of metrics up through an expression.
func spread(x *eval.Expr) {
	if x.Op == eval.OpFetch {
		x.Instances()
		return
	}
	if x.Arg1 != nil {
		spread(x.Arg1)
		if x.Arg2 != nil {
			spread(x.Arg2)
		}
	}
}

// agree checks that two arguments have values for the same hosts, instances and samples.
func (b *Parser) agree(x, y *eval.Expr) {
	if x.Nvals == 1 || y.Nvals == 1 {
		return
	}
	for _, d := range []struct {
		what string
		x, y int
	}{{"host", x.Hosts, y.Hosts}, {"instance", x.Insts, y.Insts}, {"time", x.Times, y.Times}} {
		if d.x != d.y {
			b.mistake("%s domains have different size (%d and %d)", d.what, d.x, d.y)
			return
		}
	}
}

// isText reports whether an argument has strings.
func isText(x *eval.Expr) bool {
	switch x.Sem {
	case eval.SemText:
		return true
	case eval.SemUnknown, eval.SemInstant, eval.SemDiscrete:
		return x.Metrics != nil && slices.ContainsFunc(x.Metrics.List[:max(x.Hosts, 0)], func(m *eval.Metric) bool { return m.Desc.Type == pcp.TypeString })
	}
	return false
}

// above returns a node with the dimensions of one of its arguments.
func above(o eval.Op, arg1, arg2 *eval.Expr, s eval.Sem) *eval.Expr {
	arg := eval.Primary(arg1, arg2)
	x := eval.NewExpr(o, arg1, arg2, arg.Hosts, arg.Insts, arg.Times, eval.Abs(arg.Times), s)
	x.Settle()
	return x
}

// fold evaluates a node whose arguments are constants, and makes it a constant.
func (b *Parser) fold(x *eval.Expr) *eval.Expr {
	if x.Arg1.Op == eval.OpNone && (x.Arg2 == nil || x.Arg2.Op == eval.OpNone) {
		var arg2 *eval.Cell
		if x.Arg2 != nil {
			arg2 = x.Arg2.Cell
		}
		eval.Compute(x.Cell, x.Arg1.Cell, arg2)
		x.Op, x.Arg1, x.Arg2 = eval.OpNone, nil, nil
	}
	return x
}

func (b *Parser) rule(cond, act *eval.Expr) *eval.Expr {
	switch {
	case cond == nil:
		return act
	case act == nil:
		return cond
	}
	if cond.Nvals != 1 {
		b.mistake("rule condition must have a single boolean value")
	}
	b.Conditions++
	x := eval.NewExpr(eval.OpRule, cond, act, eval.None, eval.None, eval.None, 1, eval.SemTruth)
	x.Settle()
	return x
}

// other returns the actions of a ruleset for an unknown condition and for no true
// condition.
func (b *Parser) other(unknown, otherwise *eval.Expr) *eval.Expr {
	rule := func(act *eval.Expr) *eval.Expr {
		if act == nil {
			return truth(eval.False)
		}
		return b.rule(truth(eval.True), act)
	}
	return eval.NewExpr(eval.OpOther, rule(unknown), rule(otherwise), eval.None, eval.None, eval.None, 1, eval.SemTruth)
}

func (b *Parser) action(o eval.Op, arg1, arg2 *eval.Expr) *eval.Expr {
	if arg1 == nil {
		return nil
	}
	switch o {
	case eval.ActSyslog:
		b.syslogArguments(arg1)
	case eval.ActStomp:
		b.Stomps = true
	}
	x := eval.NewExpr(o, arg1, arg2, eval.None, eval.None, eval.None, 1, eval.SemTruth)
	x.File, x.Line = b.arrowFile, b.arrowLine
	x.Settle()
	return x
}

// send returns an action that names a receiver.
func (b *Parser) send(o eval.Op, receiver string, arg1, arg2 *eval.Expr) *eval.Expr {
	x := b.action(o, arg1, arg2)
	if x != nil {
		x.Text = receiver
	}
	return x
}

func (b *Parser) arguments(list *eval.Expr) *eval.Expr {
	x := eval.NewExpr(eval.ActArgument, list, nil, eval.None, 1, eval.None, 1, eval.SemText)
	x.Settle()
	return x
}

// argument returns a string of an action, linked before others.
func argument(text string, next *eval.Expr) *eval.Expr {
	x := str(text)
	if x.Arg1 = next; next != nil {
		next.Parent = x
	}
	return x
}

func (b *Parser) compare(o eval.Op, arg1, arg2 *eval.Expr) *eval.Expr {
	if arg1 == nil || arg2 == nil {
		return nil
	}
	b.agree(arg1, arg2)
	if o == eval.OpEq || o == eval.OpNeq {
		switch text1, text2 := isText(arg1), isText(arg2); {
		case text1 != text2:
			b.mistake("operands have mixed string and arithmetic types")
		case text1 && o == eval.OpEq:
			o = eval.OpEqText
		case text1:
			o = eval.OpNeqText
		}
	}
	x := above(o, arg1, arg2, eval.SemTruth)
	for i := range min(len(x.Samples), len(x.Truths)) {
		x.Truths[i] = eval.Unknown
	}
	return b.fold(x)
}

// arithmetic returns a node that needs both arguments.
func (b *Parser) arithmetic(o eval.Op, arg1, arg2 *eval.Expr) *eval.Expr {
	if arg1 == nil || arg2 == nil {
		return nil
	}
	return b.binary(o, arg1, arg2)
}

// binary returns a node of one or two arguments.
func (b *Parser) binary(o eval.Op, arg1, arg2 *eval.Expr) *eval.Expr {
	if arg1 == nil {
		return nil
	}
	if arg2 != nil {
		b.agree(arg1, arg2)
	}
	x := above(o, arg1, arg2, eval.Primary(arg1, arg2).Sem)
	switch {
	case o == eval.OpRuleset:
		return x // the remains of a rule with a mistake may be a constant
	case (o == eval.OpAnd || o == eval.OpOr) && arg2 == nil:
		return x // the mistake was reported: there is nothing to combine with
	}
	return b.fold(x)
}

// match returns a node that looks at the names of instances.
func (b *Parser) match(o eval.Op, pattern, cond *eval.Expr) *eval.Expr {
	if cond == nil {
		return nil
	}
	re, err := regexp.CompilePOSIX(pattern.Text)
	if err != nil {
		b.printf("illegal regular expression \"%s\"\n", pattern.Text)
		return nil
	}
	pattern.Pattern = re
	pattern.Sem = eval.SemPattern
	x := eval.NewExpr(o, cond, pattern, cond.Hosts, cond.Insts, cond.Times, eval.Abs(cond.Times), cond.Sem)
	x.Settle()
	return b.fold(x)
}

func (b *Parser) unary(o eval.Op, arg *eval.Expr) *eval.Expr {
	if arg == nil {
		return nil
	}
	return b.fold(above(o, arg, nil, arg.Sem))
}

// over returns an aggregate or a quantifier.
func (b *Parser) over(o eval.Op, d eval.Domain, arg *eval.Expr) *eval.Expr {
	if arg == nil {
		return nil
	}
	hosts, insts, times := arg.Hosts, arg.Insts, arg.Times
	switch d {
	case eval.OverHosts:
		if hosts == eval.None {
			b.mistake("no host domain")
			return nil
		}
		hosts, insts = eval.None, eval.None
	case eval.OverInstances:
		insts = eval.None
	case eval.OverSamples:
		if times == eval.None {
			b.mistake("no time domain")
			return nil
		}
		times = eval.None
	}
	if o == eval.OpSum || o == eval.OpAvg {
		if arg.Metrics == nil {
			b.mistake("metric required in the operand of %v", o+eval.Op(d))
			return nil
		}
		switch t := arg.Metrics.First().Desc.Type; t {
		case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
		default:
			b.mistake("arithmetic (not %v) operand required for aggregate operator", t)
			return nil
		}
	}
	s := arg.Sem
	if o == eval.OpCount {
		s = eval.SemInstant
	}
	x := eval.NewExpr(o+eval.Op(d), arg, nil, hosts, insts, times, eval.Abs(times), s)
	x.Units = x.Units || o == eval.OpCount
	x.Settle()
	return x
}

func (b *Parser) percent(n float64, d eval.Domain, arg *eval.Expr) *eval.Expr {
	x := b.over(eval.OpPercent, d, arg)
	if x != nil {
		x.Arg2 = number(n/100, pcp.Units{})
	}
	return x
}

// merge returns a node that compares the last two samples of its argument.
func merge(o eval.Op, arg *eval.Expr) *eval.Expr {
	if arg.Op == eval.OpVar { // rules share it, and it has no history
		arg = above(eval.OpInstant, arg, nil, arg.Sem)
	}
	if len(arg.Samples) < 2 {
		arg.Keep(2)
	}
	return above(o, arg, nil, arg.Sem)
}

func (b *Parser) rate(arg *eval.Expr) *eval.Expr {
	if arg == nil {
		return nil
	}
	if arg.Sem == eval.SemTruth || arg.Sem == eval.SemText {
		b.mistake("operator \"%v\" requires numeric valued argument", eval.OpRate)
		return nil
	}
	return merge(eval.OpRate, arg)
}

func (b *Parser) instant(arg *eval.Expr) *eval.Expr {
	if arg == nil {
		return nil
	}
	arg.Sem = eval.SemInstant
	return b.unary(eval.OpInstant, arg)
}

func (b *Parser) edge(o eval.Op, arg *eval.Expr) *eval.Expr {
	if arg == nil {
		return nil
	}
	if arg.Sem != eval.SemTruth {
		b.mistake("operator \"%v\" requires boolean valued argument", o)
		return nil
	}
	return merge(o, arg)
}

// fetch returns a node for the values of a metric, of some hosts and instances, from one
// sample in the past to another.
func (b *Parser) fetch(name string, hosts, insts []string, from, to int) *eval.Expr {
	ms := &eval.Metrics{List: b.Source.Metrics(name, hosts, insts)}
	count := 0
	for _, m := range ms.List {
		if b.Errs == 0 {
			if !b.Source.Describe(m) {
				b.Errs++
			}
			count += max(m.Count, 0)
		}
	}
	if count == 0 {
		count = eval.None
	}
	if to >= maxSamples {
		b.mistake("sample number(s) must be less than %d", maxSamples)
	}
	if b.Errs > 0 {
		return nil
	}
	keep, delay := to-from+1, 0
	if from != 0 {
		keep, delay = from+1, to-from+1
	}
	if count > 0 && max(keep, delay) > maxValues/count {
		b.mistake("%d samples of %d values of %s are too many", max(keep, delay), count, name)
		return nil
	}
	x := eval.NewExpr(eval.OpFetch, nil, nil, len(ms.List), count, keep, keep, eval.SemUnknown)
	x.Metrics = ms
	x.Room()
	x.Settle()
	x.Instances()
	for _, m := range ms.List {
		m.X = x
	}
	if delay > 0 {
		x = eval.NewExpr(eval.OpDelay, x, nil, x.Hosts, x.Insts, delay, delay, x.Sem)
		x.Settle()
	}
	return x
}

// maxSamples limits how far back an expression looks.
const maxSamples = 1 << 20

// maxValues limits how many values of a metric an expression keeps, of all samples.
const maxValues = 1 << 24

// span returns the samples between two numbers, in order.
func span(x, y float64) (from, to int) {
	clamp := func(f float64) int {
		if !(f < maxSamples) {
			f = maxSamples
		}
		return int(f)
	}
	x, y = min(x, y), max(x, y)
	return clamp(x), clamp(y)
}

// number returns a constant, in canonical units.
func number(n float64, u pcp.Units) *eval.Expr {
	x := eval.NewExpr(eval.OpNone, nil, nil, eval.None, eval.None, eval.None, 1, eval.SemNumber)
	x.Nums[0] = eval.Canonical(u) * n
	x.Unit = eval.InCanonical(u)
	x.Valid = 1
	return x
}

// str returns a constant string.
func str(s string) *eval.Expr {
	x := eval.NewExpr(eval.OpNone, nil, nil, eval.None, eval.None, eval.None, 1, eval.SemText)
	x.Text = s
	x.Valid = 1
	x.Span = len(s) + 1
	x.Nvals = 1
	return x
}

// truth returns a constant truth value.
func truth(v int8) *eval.Expr {
	x := eval.NewExpr(eval.OpNone, nil, nil, eval.None, eval.None, eval.None, 1, eval.SemTruth)
	x.Truths[0] = v
	x.Valid = 1
	return x
}

// withUnit adds a unit to others, dividing if its sign is negative.
func withUnit(u, v pcp.Units, sign int8) pcp.Units {
	switch {
	case v.DimSpace != 0:
		u.DimSpace, u.ScaleSpace = sign*v.DimSpace, v.ScaleSpace
	case v.DimTime != 0:
		u.DimTime, u.ScaleTime = sign*v.DimTime, v.ScaleTime
	default:
		u.DimCount, u.ScaleCount = sign*v.DimCount, v.ScaleCount
	}
	return u
}

// powerOf returns a unit to a power.
func powerOf(u pcp.Units, power float64) pcp.Units {
	n := int8(math.Mod(math.Trunc(power), 16))
	if n > 7 {
		n -= 16 // the dimensions have four bits
	}
	switch {
	case u.DimSpace != 0:
		u.DimSpace = n
	case u.DimTime != 0:
		u.DimTime = n
	default:
		u.DimCount = n
	}
	return u
}
