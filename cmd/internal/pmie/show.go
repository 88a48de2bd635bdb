package pmie

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcptime"
)

// show prints the values of a task's rules, if Verbose selects them.
func (e *Engine) show(t *task) {
	if e.cfg.Verbose == Silent {
		return
	}
	b := e.out
	for _, r := range t.rules {
		if e.cfg.Verbose == Applet {
			b = append(appendValue(b, r.x), ' ')
			continue
		}
		b = append(b, r.name...)
		if e.archives != nil || e.cfg.Timestamps {
			b = fmt.Appendf(b, " (%s)", e.date(e.now))
		}
		b = append(b, ": "...)
		switch e.cfg.Verbose {
		case Annotated:
			b = e.appendAnnotated(b, r.x)
		case Satisfying:
			b = e.appendSatisfying(b, r.x)
		default:
			b = appendValue(b, r.x)
		}
		b = append(b, '\n')
	}
	e.out = append(b, '\n')
}

// date returns a time in the format of ctime(3), without its newline.
func (e *Engine) date(f float64) string {
	return strings.TrimSuffix(pcptime.Ctime(pcp.Timestamp{Sec: int64(f)}, e.cfg.Zone), "\n")
}

// appendValue appends all values of the samples of x.
func appendValue(b []byte, x *expr) []byte {
	n := x.span
	if x.nvals == 0 || n == 0 {
		return append(b, '?')
	}
	if x.sem == semText || x.sem == semPattern {
		n = 1
	}
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendSamples(b, x, i)
	}
	return b
}

// appendSamples appends the ith value of each sample.
func appendSamples(b []byte, x *expr, i int) []byte {
	switch {
	case x.sem == semTruth:
		return appendTruth(b, x, i)
	case x.sem == semPattern:
		return append(b, "/<regex>/"...)
	case x.sem == semText:
		if i > 0 {
			return b
		}
		return append(append(append(b, '"'), x.text...), '"')
	case (x.sem == semInstant || x.sem == semDiscrete) && x.op == opFetch && x.texts != nil:
		for s := range x.samples {
			if s > 0 {
				b = append(b, ' ')
			}
			b = append(append(append(b, '"'), x.strs(s)[i]...), '"')
		}
		return b
	}
	return appendNumber(b, x, i)
}

func appendTruth(b []byte, x *expr, i int) []byte {
	for s := range x.samples {
		if s > 0 {
			b = append(b, ' ')
		}
		v := isUnknown
		if x.valid > 0 {
			v = x.truth(s)[i]
		}
		b = append(b, [...]string{"false", "true", "unknown"}[v]...)
	}
	return b
}

// numberWidth limits how much of a number is shown.
const numberWidth = 23

func appendNumber(b []byte, x *expr, i int) []byte {
	for s := range x.samples {
		if s > 0 {
			b = append(b, ' ')
		}
		if x.valid <= s || x.nums == nil || math.IsNaN(x.numbers(s)[i]) {
			b = append(b, '?')
			continue
		}
		start := len(b)
		switch v := x.numbers(s)[i]; {
		case v >= math.MinInt32 && v <= math.MaxInt32 && v == math.Trunc(v):
			b = fmt.Appendf(b, "%d", int64(v))
		case math.Abs(v) < 0.5:
			b = ctext.AppendFloat(b, v, 'g', 6)
		case math.Abs(v) < 5:
			b = ctext.AppendFloat(b, v, 'f', 2)
		case math.Abs(v) < 50:
			b = ctext.AppendFloat(b, v, 'f', 1)
		default:
			b = ctext.AppendFloat(b, v, 'f', 0)
		}
		b = b[:min(len(b), start+numberWidth)]
	}
	return b
}

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

func (e *Engine) appendAnnotated(b []byte, x *expr) []byte {
	if x.insts <= 0 && x.hosts <= 0 || x.sem == semText || x.metrics == nil || x.valid == 0 {
		return appendValue(b, x)
	}
	for i := range x.span {
		b = appendBound(b, x, x, i)
	}
	return b
}

// appendBound appends a line with the ith value of x, and the host and the instance of
// that of where.
func appendBound(b []byte, where, x *expr, i int) []byte {
	bind := bindingOf(where, i)
	b = append(b, "\n    "...)
	b = append(b, bind.host...)
	b = append(b, ": "...)
	if bind.hasInst {
		b = fmt.Appendf(b, "[%s] ", bind.inst)
	}
	switch {
	case i >= x.span:
		return append(b, '?')
	case x.sem == semTruth:
		return appendTruth(b, x, i)
	case x.texts != nil && x.valid > 0:
		return append(append(append(b, '"'), x.strs(0)[i]...), '"')
	}
	return appendNumber(b, x, i)
}

func (e *Engine) appendSatisfying(b []byte, x *expr) []byte {
	switch {
	case x.metrics == nil || x.valid == 0:
		return appendValue(b, x)
	case x.sem != semTruth:
		return e.appendAnnotated(b, x)
	}
	where := findBindings(x)
	what := findValues(where)
	if where.valid == 0 {
		return append(b, " <no bindings available>"...)
	}
	for i := range where.span {
		if satisfies(where, i) {
			b = appendBound(b, where, what, i)
		}
	}
	return b
}

// expand appends an argument of an action, once for each host and instance that makes
// the rule true if it has %h, %i, %v or %c in it. Put appends a value.
func (e *Engine) expand(b []byte, format string, put func(b []byte, value string) []byte) []byte {
	if !strings.ContainsRune(format, '%') || findFormat(format) < 0 || e.current == nil {
		return append(b, format...)
	}
	where := findBindings(e.current)
	what := findValues(where)
	if where.valid == 0 {
		return append(b, format...)
	}
	for i := range where.span {
		if !satisfies(where, i) {
			continue
		}
		b = fill(b, format, bindingOf(where, i), what, i, put)
	}
	return b
}

// fill appends an argument with the ith value of the expression what, whose hosts and
// instances are in bind. What may be nil.
func fill(b []byte, format string, bind binding, what *expr, i int, put func(b []byte, value string) []byte) []byte {
	for {
		at := findFormat(format)
		if at < 0 {
			return append(b, format...)
		}
		b = append(b, format[:at]...)
		switch c := format[at+1]; {
		case c == 'v' && what != nil && i < what.span:
			b = put(b, string(appendSamples(nil, what, i)))
		case c == 'h' && bind.hasHost:
			b = put(b, bind.host)
		case c == 'c' && bind.hasHost:
			b = put(b, bind.conn)
		case c == 'i' && bind.hasInst:
			b = put(b, bind.inst)
		default:
			b = fmt.Appendf(b, "<%%%c undefined>", c)
		}
		format = format[at+2:]
	}
}

// findFormat returns where the first %h, %i, %v or %c is, or -1.
func findFormat(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '%' && strings.IndexByte("hivc", s[i+1]) >= 0 {
			return i
		}
	}
	return -1
}

// Print writes a rule as it was parsed, all rules if the name is "". It reports whether
// there is such a rule.
func (e *Engine) Print(w io.Writer, name string) bool {
	return e.each(name, func(r *named) {
		fmt.Fprintf(w, "%s =\n%s;\n\n", r.name, appendSyntax(nil, r.x, false))
	})
}

// PrintBindings writes the part of a rule that %h, %i and %v refer to, as Print does the
// rule.
func (e *Engine) PrintBindings(w io.Writer, name string) bool {
	return e.each(name, func(r *named) {
		fmt.Fprintf(w, "%s (subexpression for %%h, %%i and %%v bindings) =\n%s\n\n", r.name, appendSyntax(nil, findValues(findBindings(r.x)), false))
	})
}

func (e *Engine) each(name string, f func(*named)) bool {
	if name != "" {
		x := e.b.rules[name]
		if x != nil {
			f(&named{name: name, x: x})
		}
		return x != nil
	}
	for _, t := range e.tasks {
		for _, r := range t.rules {
			f(r)
		}
	}
	return true
}

// simple reports whether an argument of an operator is written without parentheses.
func simple(x *expr) bool {
	switch x.op {
	case opNone, opVar, opDelay, opFetch, opRate, opInstant:
		return true
	}
	return x.op.aggregate()
}

// appendSyntax appends an expression as it was parsed. A brief one has only the hosts and
// instances that were named.
func appendSyntax(b []byte, x *expr, brief bool) []byte {
	part := func(b []byte, x *expr, bare bool) []byte {
		if bare {
			return appendSyntax(b, x, brief)
		}
		return append(appendSyntax(append(b, '('), x, brief), ')')
	}
	switch o := x.op; {
	case o == opNone:
		if x.nvals == 0 || x.span == 0 {
			return b
		}
		return append(b, strings.TrimLeft(string(appendValue(nil, x)), ctext.Space)...)
	case o == opFetch || o == opDelay:
		return appendFetch(b, x, brief)
	case o.delivers():
		b = append(append(b, o.String()...), ' ')
		if x.arg2 != nil {
			b = append(appendSyntax(b, x.arg2, brief), ' ')
		}
		return appendSyntax(fmt.Appendf(b, "%s ", appendName(nil, x.text)), x.arg1, brief)
	case o == opVar:
		return append(b, x.text...)
	case x.arg1 == nil:
		return append(b, o.String()...)
	case o == actArgument:
		if s := x.syslog; s != nil {
			b = fmt.Appendf(b, "[level=%d tag=%q] ", s.priority, s.tag)
		}
		for y := x.arg1; y != nil; y = y.arg1 {
			if y != x.arg1 {
				b = append(b, ' ')
			}
			b = appendSyntax(b, y, brief)
		}
		return b
	case x.arg2 == nil:
		b = append(append(b, o.String()...), ' ')
		return part(b, x.arg1, x.arg1.op == actSeq || x.arg1.op == actAlt || o.acts())
	case o.acts() && o != actSyslog:
		b = append(append(b, o.String()...), ' ')
		return appendSyntax(append(appendSyntax(b, x.arg2, brief), ' '), x.arg1, brief)
	case o >= opPercent && o < opPercent+3:
		b = fmt.Appendf(b, "%v %d%% ", o, int(x.arg2.nums[0]*100+0.5))
		return part(b, x.arg1, x.arg1.op == opNone || x.arg1.op == opDelay || x.arg1.op == opFetch)
	case o == opMatch || o == opNoMatch:
		b = append(append(b, o.String()...), ' ')
		return part(append(appendSyntax(b, x.arg2, brief), ' '), x.arg1, false)
	default:
		b = part(b, x.arg1, simple(x.arg1) || o == opRule)
		b = fmt.Appendf(b, " %v ", o)
		return part(b, x.arg2, simple(x.arg2) || o == opRule)
	}
}

func appendFetch(b []byte, x *expr, brief bool) []byte {
	m := x.metrics.first()
	b = append(b, m.name...)
	if !brief {
		for _, m := range x.metrics.list[:max(x.hosts, 0)] {
			b = fmt.Appendf(b, " :%s", m.host)
		}
	} else if m.given {
		for _, m := range x.metrics.list {
			b = fmt.Appendf(b, " :%s", m.conn)
		}
	}
	names := min(max(m.count, 0), len(m.names))
	if brief {
		names = min(m.named, len(m.names))
	}
	for i := range names {
		b = fmt.Appendf(b, " #%s", m.names[i])
	}
	switch {
	case x.op == opFetch:
		if x.times > 1 {
			b = fmt.Appendf(b, " @0..%d", x.times-1)
		}
	case x.times == x.arg1.times-1:
		b = fmt.Appendf(b, " @%d", x.times)
	default:
		b = fmt.Appendf(b, " @%d..%d", x.times, x.times+x.arg1.times-1)
	}
	return b
}
