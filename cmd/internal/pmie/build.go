//go:generate sh -c "go tool -modfile=../tools/go.mod goyacc -o grammar.go grammar.y && sed -i.orig -f recover.sed grammar.go && rm grammar.go.orig && go tool -modfile=../tools/go.mod gofumpt -w grammar.go && rm y.output"

package pmie

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
)

// A language is what a builder needs to know to read rules.
type language struct {
	name   string // of the program, in messages
	places bool   // messages about mistakes also have the place at the end of a file
	agent  bool   // rules become metrics of an agent
	applet bool   // the values of all rules are printed in a line
	errorf func(format string, args ...any)
	source source
}

// A source has the metrics that rules name.
type source interface {
	// metrics returns a metric of some hosts, with the instances of these names or with all. Nil means
	// the default host.
	metrics(name string, hosts, insts []string) []*metric
	// describe requests the metadata of a metric. It reports whether the rule can be used now or later.
	describe(m *metric) bool
}

// A builder makes expressions from the constructs that the parser recognizes.
type builder struct {
	scanner
	language
	vars   map[string]*expr
	rules  map[string]*expr
	names  int    // of rules that had none
	result *named // of the last statement
	errs   int    // in the statement

	unitPercent bool // the statement has a % that is not part of a quantifier

	conditions uint32 // rules with a condition and an action so far
	stomps     bool   // an action sends messages to a broker

	interval *expr    // $delta
	clock    [6]*expr // minute, hour, day, month, year, day of the week
}

// A named is a rule.
type named struct {
	name string
	x    *expr
}

// newBuilder returns a builder without rules.
func newBuilder(l language) *builder {
	b := &builder{language: l, vars: make(map[string]*expr), rules: make(map[string]*expr)}
	variable := func(name string) *expr {
		x := newExpr(opVar, nil, nil, none, none, none, 1, semVar)
		x.valid = 1
		x.text = "$" + name
		b.vars[name] = x
		return x
	}
	b.interval = variable("delta")
	for i, name := range []string{"minute", "hour", "day", "month", "year", "day_of_week"} {
		b.clock[i] = variable(name)
	}
	return b
}

// begin makes the builder read a file, in which the statements follow.
func (b *builder) begin(name string, text []byte) {
	b.ahead = 0
	b.errs, b.unitPercent = 0, false
	b.open(name, bytes.Clone(text), false)
}

// end drops the rest of a file.
func (b *builder) end() { b.in, b.depth = nil, 0 }

// statement reads a statement, and returns the rule that it defines or nil.
func (b *builder) statement() *named {
	b.errs, b.unitPercent = 0, false
	b.result = nil
	yyParse(b)
	return b.result
}

// delta returns the interval of the rules that follow, in seconds.
func (b *builder) delta() float64 {
	if x := b.vars["delta"]; x.nums != nil {
		return x.nums[0]
	}
	return 0
}

// tell sets the variables for an interval, unless a rule has, and for a time.
func (b *builder) tell(delta float64, t time.Time) {
	if x := b.vars["delta"]; x == b.interval {
		x.nums[0] = delta
	}
	for i, v := range []int{t.Minute(), t.Hour(), t.Day(), int(t.Month()) - 1, t.Year(), int(t.Weekday())} {
		b.clock[i].nums[0] = float64(v)
	}
}

// find returns the rule of a name, nil if there is none.
func (b *builder) find(name string) *named {
	x := b.rules[name]
	if x == nil {
		return nil
	}
	return &named{name: name, x: x}
}

// b returns the builder that a parser reads from.
func b(l yyLexer) *builder { return l.(*builder) }

func (b *builder) printf(format string, args ...any) { b.errorf(format, args...) }

func (b *builder) report(what string) {
	at := b.place()
	if b.places {
		at = b.lastPlace()
	}
	b.printf("%s: %s - %s\n", b.language.name, what, at)
}

// syntaxError reports the place of a mistake.
func (b *builder) syntaxError() {
	b.report("syntax error")
	b.errs++
}

// Error is called by the parser where no production fits.
func (b *builder) Error(string) { b.syntaxError() }

// mistake reports a mistake and its place.
func (b *builder) mistake(format string, args ...any) {
	b.syntaxError()
	b.printf(format+"\n", args...)
}

// warn reports a warning and its place.
func (b *builder) warn(format string, args ...any) {
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
func (b *builder) fault(what, where string, o op) *expr { return b.faultAt(what, where, o.String()) }

func (b *builder) faultAt(what, where, part string) *expr {
	if b.unitPercent && b.places {
		b.printf("%% is not a unit: compare with the number alone, as in > 50 (a %% belongs to %%_inst, %%_host and %%_sample)\n")
	} else {
		b.printf("%s expected to %s %s\n", what, where, part)
	}
	b.sync()
	return nil
}

// defined takes in a rule, or a macro.
func (b *builder) defined(name string, x *expr) {
	b.define(name, x)
	publishes := b.agent
	switch {
	case name == "" && publishes:
		b.mistake("expressions must be named in agent mode")
	case name == "" || x == nil || b.errs > 0:
		return
	case x.op == opRuleset && publishes || (x.op == opRule || x.op == actSeq || x.op == actAlt || x.op.acts()) && (publishes || b.applet):
		b.mistake("operator %v not allowed in agent mode", x.op)
	default:
		return
	}
	b.result = nil
}

// define gives a rule or a macro its name.
func (b *builder) define(name string, x *expr) {
	b.result = nil
	if x == nil {
		return
	}
	if name == "" {
		b.names++
		name = fmt.Sprintf("expr_%d", b.names)
	}
	if x.op == opNone {
		b.vars[name] = x
		b.result = &named{name: name, x: x}
		return
	}
	if b.rules[name] != nil {
		b.mistake("rule \"%s\" multiply defined", name)
		return
	}
	if b.errs > 0 {
		return
	}
	spread(x)
	b.rules[name] = x
	b.result = &named{name: name, x: x}
}

// spread passes known properties of metrics up through an expression.
func spread(x *expr) {
	if x.op == opFetch {
		x.instances()
		return
	}
	if x.arg1 != nil {
		spread(x.arg1)
		if x.arg2 != nil {
			spread(x.arg2)
		}
	}
}

// agree checks that two arguments have values for the same hosts, instances and samples.
func (b *builder) agree(x, y *expr) {
	if x.nvals == 1 || y.nvals == 1 {
		return
	}
	for _, d := range []struct {
		what string
		x, y int
	}{{"host", x.hosts, y.hosts}, {"instance", x.insts, y.insts}, {"time", x.times, y.times}} {
		if d.x != d.y {
			b.mistake("%s domains have different size (%d and %d)", d.what, d.x, d.y)
			return
		}
	}
}

// isText reports whether an argument has strings.
func isText(x *expr) bool {
	switch x.sem {
	case semText:
		return true
	case semUnknown, semInstant, semDiscrete:
		return x.metrics != nil && slices.ContainsFunc(x.metrics.list[:max(x.hosts, 0)], func(m *metric) bool { return m.desc.Type == pcp.TypeString })
	}
	return false
}

// above returns a node with the dimensions of one of its arguments.
func above(o op, arg1, arg2 *expr, s sem) *expr {
	arg := primary(arg1, arg2)
	x := newExpr(o, arg1, arg2, arg.hosts, arg.insts, arg.times, abs(arg.times), s)
	x.settle()
	return x
}

// fold evaluates a node whose arguments are constants, and makes it a constant.
func (b *builder) fold(x *expr) *expr {
	if x.arg1.op == opNone && (x.arg2 == nil || x.arg2.op == opNone) {
		var arg2 *cell
		if x.arg2 != nil {
			arg2 = x.arg2.cell
		}
		compute(x.cell, x.arg1.cell, arg2)
		x.op, x.arg1, x.arg2 = opNone, nil, nil
	}
	return x
}

func (b *builder) rule(cond, act *expr) *expr {
	switch {
	case cond == nil:
		return act
	case act == nil:
		return cond
	}
	if cond.nvals != 1 {
		b.mistake("rule condition must have a single boolean value")
	}
	b.conditions++
	x := newExpr(opRule, cond, act, none, none, none, 1, semTruth)
	x.settle()
	return x
}

// other returns the actions of a ruleset for an unknown condition and for no true
// condition.
func (b *builder) other(unknown, otherwise *expr) *expr {
	rule := func(act *expr) *expr {
		if act == nil {
			return truth(isFalse)
		}
		return b.rule(truth(isTrue), act)
	}
	return newExpr(opOther, rule(unknown), rule(otherwise), none, none, none, 1, semTruth)
}

func (b *builder) action(o op, arg1, arg2 *expr) *expr {
	if arg1 == nil {
		return nil
	}
	switch o {
	case actSyslog:
		b.syslogArguments(arg1)
	case actStomp:
		b.stomps = true
	}
	x := newExpr(o, arg1, arg2, none, none, none, 1, semTruth)
	x.settle()
	return x
}

// send returns an action that names a receiver.
func (b *builder) send(o op, receiver string, arg1, arg2 *expr) *expr {
	x := b.action(o, arg1, arg2)
	if x != nil {
		x.text = receiver
	}
	return x
}

func (b *builder) arguments(list *expr) *expr {
	x := newExpr(actArgument, list, nil, none, 1, none, 1, semText)
	x.settle()
	return x
}

// argument returns a string of an action, linked before others.
func argument(text string, next *expr) *expr {
	x := str(text)
	if x.arg1 = next; next != nil {
		next.parent = x
	}
	return x
}

func (b *builder) compare(o op, arg1, arg2 *expr) *expr {
	if arg1 == nil || arg2 == nil {
		return nil
	}
	b.agree(arg1, arg2)
	if o == opEq || o == opNeq {
		switch text1, text2 := isText(arg1), isText(arg2); {
		case text1 != text2:
			b.mistake("operands have mixed string and arithmetic types")
		case text1 && o == opEq:
			o = opEqText
		case text1:
			o = opNeqText
		}
	}
	x := above(o, arg1, arg2, semTruth)
	for i := range min(len(x.samples), len(x.truths)) {
		x.truths[i] = isUnknown
	}
	return b.fold(x)
}

// arithmetic returns a node that needs both arguments.
func (b *builder) arithmetic(o op, arg1, arg2 *expr) *expr {
	if arg1 == nil || arg2 == nil {
		return nil
	}
	return b.binary(o, arg1, arg2)
}

// binary returns a node of one or two arguments.
func (b *builder) binary(o op, arg1, arg2 *expr) *expr {
	if arg1 == nil {
		return nil
	}
	if arg2 != nil {
		b.agree(arg1, arg2)
	}
	x := above(o, arg1, arg2, primary(arg1, arg2).sem)
	switch {
	case o == opRuleset:
		return x // the remains of a rule with a mistake may be a constant
	case (o == opAnd || o == opOr) && arg2 == nil:
		return x // the mistake was reported: there is nothing to combine with
	}
	return b.fold(x)
}

// match returns a node that looks at the names of instances.
func (b *builder) match(o op, pattern, cond *expr) *expr {
	if cond == nil {
		return nil
	}
	re, err := regexp.CompilePOSIX(pattern.text)
	if err != nil {
		b.printf("illegal regular expression \"%s\"\n", pattern.text)
		return nil
	}
	pattern.pattern = re
	pattern.sem = semPattern
	x := newExpr(o, cond, pattern, cond.hosts, cond.insts, cond.times, abs(cond.times), cond.sem)
	x.settle()
	return b.fold(x)
}

func (b *builder) unary(o op, arg *expr) *expr {
	if arg == nil {
		return nil
	}
	return b.fold(above(o, arg, nil, arg.sem))
}

// over returns an aggregate or a quantifier.
func (b *builder) over(o op, d domain, arg *expr) *expr {
	if arg == nil {
		return nil
	}
	hosts, insts, times := arg.hosts, arg.insts, arg.times
	switch d {
	case overHosts:
		if hosts == none {
			b.mistake("no host domain")
			return nil
		}
		hosts, insts = none, none
	case overInstances:
		insts = none
	case overSamples:
		if times == none {
			b.mistake("no time domain")
			return nil
		}
		times = none
	}
	if o == opSum || o == opAvg {
		if arg.metrics == nil {
			b.mistake("metric required in the operand of %v", o+op(d))
			return nil
		}
		switch t := arg.metrics.first().desc.Type; t {
		case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
		default:
			b.mistake("arithmetic (not %v) operand required for aggregate operator", t)
			return nil
		}
	}
	s := arg.sem
	if o == opCount {
		s = semInstant
	}
	x := newExpr(o+op(d), arg, nil, hosts, insts, times, abs(times), s)
	x.units = x.units || o == opCount
	x.settle()
	return x
}

func (b *builder) percent(n float64, d domain, arg *expr) *expr {
	x := b.over(opPercent, d, arg)
	if x != nil {
		x.arg2 = number(n/100, pcp.Units{})
	}
	return x
}

// merge returns a node that compares the last two samples of its argument.
func merge(o op, arg *expr) *expr {
	if arg.op == opVar { // rules share it, and it has no history
		arg = above(opInstant, arg, nil, arg.sem)
	}
	if len(arg.samples) < 2 {
		arg.keep(2)
	}
	return above(o, arg, nil, arg.sem)
}

func (b *builder) rate(arg *expr) *expr {
	if arg == nil {
		return nil
	}
	if arg.sem == semTruth || arg.sem == semText {
		b.mistake("operator \"%v\" requires numeric valued argument", opRate)
		return nil
	}
	return merge(opRate, arg)
}

func (b *builder) instant(arg *expr) *expr {
	if arg == nil {
		return nil
	}
	arg.sem = semInstant
	return b.unary(opInstant, arg)
}

func (b *builder) edge(o op, arg *expr) *expr {
	if arg == nil {
		return nil
	}
	if arg.sem != semTruth {
		b.mistake("operator \"%v\" requires boolean valued argument", o)
		return nil
	}
	return merge(o, arg)
}

// fetch returns a node for the values of a metric, of some hosts and instances, from one
// sample in the past to another.
func (b *builder) fetch(name string, hosts, insts []string, from, to int) *expr {
	ms := &metrics{list: b.source.metrics(name, hosts, insts)}
	count := 0
	for _, m := range ms.list {
		if b.errs == 0 {
			if !b.source.describe(m) {
				b.errs++
			}
			count += max(m.count, 0)
		}
	}
	if count == 0 {
		count = none
	}
	if to >= maxSamples {
		b.mistake("sample number(s) must be less than %d", maxSamples)
	}
	if b.errs > 0 {
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
	x := newExpr(opFetch, nil, nil, len(ms.list), count, keep, keep, semUnknown)
	x.metrics = ms
	x.room()
	x.settle()
	x.instances()
	for _, m := range ms.list {
		m.x = x
	}
	if delay > 0 {
		x = newExpr(opDelay, x, nil, x.hosts, x.insts, delay, delay, x.sem)
		x.settle()
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
func number(n float64, u pcp.Units) *expr {
	x := newExpr(opNone, nil, nil, none, none, none, 1, semNumber)
	x.nums[0] = canonical(u) * n
	x.unit = inCanonical(u)
	x.valid = 1
	return x
}

// str returns a constant string.
func str(s string) *expr {
	x := newExpr(opNone, nil, nil, none, none, none, 1, semText)
	x.text = s
	x.valid = 1
	x.span = len(s) + 1
	x.nvals = 1
	return x
}

// truth returns a constant truth value.
func truth(v int8) *expr {
	x := newExpr(opNone, nil, nil, none, none, none, 1, semTruth)
	x.truths[0] = v
	x.valid = 1
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
