package pmie

import (
	"math"

	"github.com/go-pcp/pcp"
)

func nan() float64 { return math.NaN() }

// run evaluates a node that is not a constant.
func (e *Engine) run(x *expr) {
	if x.eval != nil {
		x.eval(e, x)
	}
}

// single reports whether an argument always has one value.
func single(x *expr) bool {
	switch {
	case x.op.aggregate() && !x.op.ofSamples() && x.span <= 1:
		return true
	case x.span == 1:
		if x.metrics == nil {
			return true
		}
		m := x.metrics.first()
		return m.desc.InDom == pcp.InDomNull && m.ready || m.named > 0
	}
	return x.sem == semText
}

// choose sets how a node is evaluated.
func (x *expr) choose() {
	x.one1 = x.arg1 != nil && single(x.arg1)
	x.one2 = x.arg2 != nil && single(x.arg2)
	one1, one2 := x.one1, x.one2
	x.rates = ratesUnknown
	switch x.op {
	case opRule:
		x.eval = evalRule
	case opRuleset:
		x.eval = evalRuleset
	case opFetch:
		switch m := x.metrics.first(); {
		case m.desc.InDom == pcp.InDomNull || m.conv == 0:
			x.eval = fetchOne
		case m.named == 0:
			x.eval = fetchAll
		default:
			x.eval = fetchNamed
		}
	case opDelay:
		x.eval = evalDelay(one1)
	case opRate:
		x.eval = evalMerge(one1, func(now, before, delta float64) float64 { return (now - before) / delta })
	case opRise:
		x.eval = evalEdge(one1, func(now, before int8) bool { return now > before })
	case opFall:
		x.eval = evalEdge(one1, func(now, before int8) bool { return now < before })
	case opInstant:
		x.eval = evalUnary(one1, func(v float64) float64 { return v })
	case opNeg:
		x.eval = evalUnary(one1, func(v float64) float64 { return -v })
	case opNot:
		x.eval = evalNot(one1)
	case opAdd, opSub, opMul, opDiv:
		x.eval = evalArithmetic
	case opEq, opNeq, opLt, opLte, opGt, opGte:
		x.eval = evalCompare
	case opEqText:
		x.eval = evalText(one1, one2, true)
	case opNeqText:
		x.eval = evalText(one1, one2, false)
	case opAnd:
		x.eval = evalAnd
	case opOr:
		x.eval = evalOr
	case opMatch, opNoMatch:
		x.eval = evalMatch
	case opOther:
		x.eval = nil // evalRuleset evaluates it
	case actSeq:
		x.eval = evalSeq
	case actAlt:
		x.eval = evalAlt
	case actShell, actAlarm, actSyslog, actPrint, actStomp, actExec:
		x.eval = evalAction
	case actWebhook, actAlertmanager, actMail:
		x.eval = evalDeliver
	case actArgument:
		x.eval = evalArgument
	default:
		x.eval = evalOver(x.op)
	}
}

// newer returns the later of two times.
func newer(x, y *expr) float64 { return max(x.samples[0].time, y.samples[0].time) }

// have records that x has one more sample, of a time.
func (x *expr) have(time float64) {
	x.samples[0].time = time
	x.valid++
}

// fits reports whether an argument has the values that a node needs.
func fits(x, arg *expr, one bool) bool {
	if one {
		return arg.span > 0
	}
	return x.span == arg.span
}

// at returns the ith value of a list, or the only one.
func at[T any](list []T, one bool, i int) T {
	if one {
		return list[0]
	}
	return list[i]
}

// operand returns the numbers of an argument. A truth value counts as 0, 1 or 2, a string as slightly more than
// 0: pmie reads the bits of its address as a number, and there are rules with "name > 0".
func operand(x *expr) []float64 {
	if x.nums != nil {
		return x.numbers(0)
	}
	list := make([]float64, x.span)
	if x.truths != nil {
		for i, v := range x.truth(0) {
			list[i] = float64(v)
		}
	} else if x.texts != nil {
		for i := range list {
			list[i] = math.SmallestNonzeroFloat64
		}
	}
	return list
}

func evalUnary(one bool, f func(float64) float64) func(*Engine, *expr) {
	return func(e *Engine, x *expr) {
		e.run(x.arg1)
		x.rotate()
		if x.arg1.valid == 0 || x.span == 0 || !fits(x, x.arg1, one) {
			x.valid = 0
			return
		}
		in := operand(x.arg1)
		for i := range x.numbers(0) {
			x.numbers(0)[i] = f(at(in, one, i))
		}
		x.have(x.arg1.samples[0].time)
	}
}

func evalArithmetic(e *Engine, x *expr) {
	if !e.operands(x) {
		return
	}
	a, b, out := operand(x.arg1), operand(x.arg2), x.numbers(0)
	a, b = a[:needed(x.one1, out)], b[:needed(x.one2, out)]
	next1, next2 := stride(x.one1), stride(x.one2)
	i, j := 0, 0
	for k := range out {
		switch v, w := a[i], b[j]; x.op {
		case opAdd:
			out[k] = v + w
		case opSub:
			out[k] = v - w
		case opMul:
			out[k] = v * w
		case opDiv:
			out[k] = v / w
		}
		i, j = i+next1, j+next2
	}
	x.have(newer(x.arg1, x.arg2))
}

// stride is the distance between the values of an argument, and needed the number of
// values that it must have.
func stride(one bool) int {
	if one {
		return 0
	}
	return 1
}

func needed[T any](one bool, out []T) int {
	if one {
		return 1
	}
	return len(out)
}

// operands evaluates the arguments of a node, and reports whether the node can be
// evaluated.
func (e *Engine) operands(x *expr) bool {
	e.run(x.arg1)
	e.run(x.arg2)
	x.rotate()
	if x.arg1.valid > 0 && x.arg2.valid > 0 && x.span > 0 && fits(x, x.arg1, x.one1) && fits(x, x.arg2, x.one2) {
		return true
	}
	x.valid = 0
	return false
}

func evalCompare(e *Engine, x *expr) {
	if !e.operands(x) {
		return
	}
	a, b, out := operand(x.arg1), operand(x.arg2), x.truth(0)
	a, b = a[:needed(x.one1, out)], b[:needed(x.one2, out)]
	next1, next2 := stride(x.one1), stride(x.one2)
	i, j := 0, 0
	for k := range out {
		is := false
		switch v, w := a[i], b[j]; x.op {
		case opEq:
			is = v == w
		case opNeq:
			is = v != w
		case opLt:
			is = v < w
		case opLte:
			is = v <= w
		case opGt:
			is = v > w
		case opGte:
			is = v >= w
		}
		out[k] = truthOf(is)
		i, j = i+next1, j+next2
	}
	x.have(newer(x.arg1, x.arg2))
}

func truthOf(b bool) int8 {
	if b {
		return isTrue
	}
	return isFalse
}

func evalText(one1, one2, equal bool) func(*Engine, *expr) {
	span := func(x *expr) int {
		if x.sem == semText {
			return 1
		}
		return x.span
	}
	str := func(x *expr, one bool, i int) (string, bool) {
		switch {
		case x.sem == semText:
			return x.text, one || i == 0
		case x.texts != nil:
			return at(x.strs(0), one, i), true
		}
		return "", false
	}
	return func(e *Engine, x *expr) {
		e.run(x.arg1)
		e.run(x.arg2)
		x.rotate()
		ok := x.arg1.valid > 0 && x.arg2.valid > 0
		switch {
		case one1 && one2:
			ok = ok && x.span == span(x.arg1) && x.span == span(x.arg2)
		case one1:
			ok = ok && x.span == span(x.arg2)
		case one2:
			ok = ok && x.span == span(x.arg1)
		default:
			ok = ok && x.span == x.arg1.span && x.span == x.arg2.span
		}
		if !ok {
			x.valid = 0
			return
		}
		out := x.truth(0)
		for i := range out {
			a, ok1 := str(x.arg1, one1, i)
			b, ok2 := str(x.arg2, one2, i)
			out[i] = truthOf(ok1 && ok2 && (a == b) == equal)
		}
		x.have(newer(x.arg1, x.arg2))
	}
}

func evalMerge(one bool, f func(now, before, delta float64) float64) func(*Engine, *expr) {
	return func(e *Engine, x *expr) {
		arg := x.arg1
		e.run(arg)
		x.rotate()
		if arg.valid < 2 || x.span == 0 || !fits(x, arg, one) {
			x.valid = 0
			return
		}
		now, before, out := arg.numbers(0), arg.numbers(1), x.numbers(0)
		delta := arg.samples[0].time - arg.samples[1].time
		for i := range out {
			out[i] = f(at(now, one, i), at(before, one, i), delta)
		}
		x.have(arg.samples[0].time)
	}
}

func evalEdge(one bool, f func(now, before int8) bool) func(*Engine, *expr) {
	return func(e *Engine, x *expr) {
		arg := x.arg1
		e.run(arg)
		x.rotate()
		if arg.valid < 2 || x.span == 0 || !fits(x, arg, one) {
			x.valid = 0
			return
		}
		now, before, out := arg.truth(0), arg.truth(1), x.truth(0)
		for i := range out {
			out[i] = truthOf(f(at(now, one, i), at(before, one, i)))
		}
		x.have(arg.samples[0].time)
	}
}

func evalNot(one bool) func(*Engine, *expr) {
	return func(e *Engine, x *expr) {
		e.run(x.arg1)
		x.rotate()
		if x.arg1.valid == 0 || x.span == 0 || !fits(x, x.arg1, one) {
			x.valid = 0
			return
		}
		in, out := x.arg1.truth(0), x.truth(0)
		for i := range out {
			out[i] = negated(at(in, one, i))
		}
		x.have(x.arg1.samples[0].time)
	}
}

func negated(v int8) int8 {
	if v == isUnknown {
		return v
	}
	return 1 - v
}

// A connective combines two truth values. If one of them is decisive, its result is
// known.
type connective struct{ decisive int8 }

var (
	and = connective{decisive: isFalse}
	or  = connective{decisive: isTrue}
)

func (c connective) both(a, b int8) int8 {
	switch {
	case a == c.decisive || b == c.decisive:
		return c.decisive
	case a == isUnknown || b == isUnknown:
		return isUnknown
	}
	return 1 - c.decisive
}

func (c connective) one(a int8) int8 {
	if a == c.decisive {
		return a
	}
	return isUnknown
}

func evalAnd(e *Engine, x *expr) { evalLogic(e, x, and) }
func evalOr(e *Engine, x *expr)  { evalLogic(e, x, or) }

func evalLogic(e *Engine, x *expr, c connective) {
	arg1, arg2 := x.arg1, x.arg2
	e.run(arg1)
	e.run(arg2)
	x.rotate()
	if x.span == 0 {
		x.valid = 0
		return
	}
	out := x.truth(0)
	ok1 := arg1.valid > 0 && arg1.truths != nil && fits(x, arg1, x.one1)
	ok2 := arg2.valid > 0 && arg2.truths != nil && fits(x, arg2, x.one2)
	switch {
	case ok1 && ok2:
		a, b := arg1.truth(0), arg2.truth(0)
		for i := range out {
			out[i] = c.both(at(a, x.one1, i), at(b, x.one2, i))
		}
		x.have(newer(arg1, arg2))
	case ok1:
		c.alone(out, arg1.truth(0), x.one1, x.one1 && x.one2)
		x.have(arg1.samples[0].time)
	case ok2:
		c.alone(out, arg2.truth(0), x.one2, x.one1 && x.one2)
		x.have(arg2.samples[0].time)
	default:
		x.valid = 0
	}
}

// alone combines an argument with an argument that has no values. If the latter can have
// one value, and the other has more, only the first result is made.
func (c connective) alone(out, in []int8, one, both bool) {
	for i := range out {
		if i > 0 && one && !both {
			break
		}
		out[i] = c.one(at(in, one, i))
	}
}

func evalMatch(e *Engine, x *expr) {
	arg := x.arg1
	e.run(arg)
	x.rotate()
	x.samples[0].time = arg.samples[0].time
	if arg.span == 0 || x.span < arg.span {
		x.valid = 0
		return
	}
	out := x.truth(0)
	in := arg.truth(0)
	list := []*metric(nil)
	if arg.metrics != nil {
		list = arg.metrics.list
	}
	inst := 0
	for i := range in {
		switch {
		case arg.valid == 0:
			out[i] = isUnknown
			continue
		case x.insts <= 0:
			out[i] = isFalse
			continue
		}
		for len(list) > 0 && inst >= list[0].count {
			list, inst = list[1:], 0
		}
		if len(list) == 0 || list[0].names == nil {
			out[i] = isFalse
		} else {
			hit := x.arg2.pattern.MatchString(list[0].names[inst]) == (x.op == opMatch)
			out[i] = truthOf(hit && in[i] != isFalse)
		}
		inst++
	}
	x.valid++
}

func evalDelay(one bool) func(*Engine, *expr) {
	return func(e *Engine, x *expr) {
		arg := x.arg1
		n := arg.times
		e.run(arg)
		x.rotate()
		if arg.valid < n || x.span == 0 || !fits(x, arg, one) {
			x.valid = 0
			return
		}
		if arg.texts != nil {
			copy(x.strs(0), arg.strs(n-1))
		} else {
			copy(x.numbers(0), arg.numbers(n-1))
		}
		x.have(arg.samples[n-1].time)
	}
}

// evalOver returns the function that evaluates an aggregate or a quantifier.
func evalOver(o op) func(*Engine, *expr) {
	switch {
	case o >= opSum && o < opSum+12:
		d := domain((o - opSum) % 3)
		return func(e *Engine, x *expr) {
			over(e, x, d, func(x *expr) []float64 { return x.nums }, func(x *expr) []float64 { return x.nums }, nil, func(list []float64, each, n int) float64 {
				return aggregated(o, list, each, n)
			})
		}
	case o >= opCount && o < opCount+3:
		return func(e *Engine, x *expr) {
			over(e, x, domain(o-opCount), func(x *expr) []int8 { return x.truths }, func(x *expr) []float64 { return x.nums }, nil, counted)
		}
	}
	first, quantify := opAll, allOf
	switch {
	case o >= opSome && o < opSome+3:
		first, quantify = opSome, someOf
	case o >= opPercent && o < opPercent+3:
		first, quantify = opPercent, nil
	}
	unknown := isUnknown
	return func(e *Engine, x *expr) {
		f := quantify
		if f == nil {
			f = func(list []int8, each, n int) int8 { return shareOf(x.arg2.nums[0], list, each, n) }
		}
		over(e, x, domain(o-first), func(x *expr) []int8 { return x.truths }, func(x *expr) []int8 { return x.truths }, &unknown, f)
	}
}

// aggregated returns the sum, the average or an extreme of n numbers, depending on the
// operator.
func aggregated(o op, list []float64, each, n int) float64 {
	a := list[0]
	kind := o - (o-opSum)%3
	for i := 1; i < n; i++ {
		switch v := list[i*each]; kind {
		case opSum, opAvg:
			a += v
		case opMax:
			if v > a {
				a = v
			}
		case opMin:
			if v < a {
				a = v
			}
		}
	}
	if kind == opAvg {
		a /= float64(n)
	}
	return a
}

// counted returns how many of n values are true.
func counted(list []int8, each, n int) float64 {
	a := 0.0
	for i := range n {
		if list[i*each] == isTrue {
			a++
		}
	}
	return a
}

// shareOf reports whether a share of n values is true.
func shareOf(share float64, list []int8, each, n int) int8 {
	a := 0
	for i := range n {
		a += int(list[i*each])
	}
	return truthOf(a >= int(0.5+share*float64(n)))
}

func allOf(list []int8, each, n int) int8 {
	a := list[0]
	for i := 1; i < n; i++ {
		if v := list[i*each]; v == isFalse {
			a = isFalse
		} else if v == isUnknown && a != isUnknown {
			a = isUnknown
		}
	}
	return a
}

func someOf(list []int8, each, n int) int8 {
	a := list[0]
	for i := 1; i < n; i++ {
		if v := list[i*each]; v == isTrue {
			a = isTrue
		} else if v == isUnknown && a != isUnknown {
			a = isUnknown
		}
	}
	return a
}

// over evaluates a node that reduces the values of a domain to one. Without instances its
// value is *none, or not valid if none is nil.
func over[I, O any](e *Engine, x *expr, d domain, in func(*expr) []I, out func(*expr) []O, none *O, f func(list []I, each, n int) O) {
	arg := x.arg1
	e.run(arg)
	x.rotate()
	time := arg.samples[0].time
	to := out(x)[x.samples[0].at:]
	all := in(arg)
	if arg.valid == 0 || all == nil {
		x.valid = 0
		return
	}
	list := all[min(arg.samples[0].at, len(all)):]
	switch d {
	case overHosts:
		if arg.hosts <= 0 || len(list) < arg.hosts {
			x.valid = 0
			return
		}
		to[0] = f(list, 1, arg.hosts)
	case overSamples:
		// All samples, in their stored order.
		n := arg.times
		if n <= 0 || arg.valid < n || x.span == 0 {
			x.valid = 0
			return
		}
		for i := range x.span {
			to[i] = f(all[i:], x.span, n)
		}
	case overInstances:
		if x.hosts == 0 {
			x.valid = 0
			return
		}
		hosts := 1
		if abs(x.hosts) != 1 {
			hosts = len(x.metrics.list)
		}
		for i := range hosts {
			n := arg.insts
			if abs(x.hosts) != 1 {
				n = x.metrics.list[i].count
			}
			if n < 1 || len(list) < n {
				if none == nil {
					x.valid = 0
					return
				}
				to[i] = *none
				x.have(time)
				return
			}
			to[i] = f(list, 1, n)
			list = list[n:]
		}
	}
	x.have(time)
}

func evalRule(e *Engine, x *expr) {
	e.run(x.arg1)
	x.valid = x.arg1.valid
	x.pass = e.pass
	if x.valid == 0 {
		e.stats.Unknown++
		return
	}
	x.truths[0] = isFalse // if strings were compared and there were no values
	if x.arg1.span > 0 {
		x.truths[0] = x.arg1.truth(0)[0]
	}
	switch x.truths[0] {
	case isFalse:
		e.stats.False++
	case isTrue:
		e.stats.True++
		e.fired = x
		e.run(x.arg2)
	default:
		e.stats.Unknown++
	}
}

// as evaluates a rule of a ruleset: the output of its actions is about that rule.
func (e *Engine) as(rule *expr) {
	outer := e.current
	e.current = rule
	evalRule(e, rule)
	e.current = outer
}

func evalRuleset(e *Engine, x *expr) {
	defer func(fired *expr) {
		// The other actions do not fire the ruleset.
		if e.fired != nil && (x.arg2 != nil && (e.fired == x.arg2.arg1 || e.fired == x.arg2.arg2)) {
			e.fired = fired
		}
	}(e.fired)
	take := func(rule *expr) {
		x.valid = rule.valid
		x.truths[0] = rule.truths[0]
	}
	x.valid = 0
	allUnknown := true
	for o := x.arg1; o != nil; o = o.arg2 {
		rule := o
		if o.op != opRule {
			rule = o.arg1
		}
		if rule == nil || rule.op != opRule {
			return // the mistake was reported
		}
		e.as(rule)
		if rule.valid > 0 {
			take(rule)
			switch x.truths[0] {
			case isTrue:
				return
			case isFalse:
				allUnknown = false
			}
		}
		if o.op == opRule {
			break
		}
	}
	if x.arg2 == nil {
		return
	}
	unknown, otherwise := x.arg2.arg1, x.arg2.arg2
	switch {
	case allUnknown && unknown.op == opRule:
		e.as(unknown)
	case otherwise.op == opRule:
		e.as(otherwise)
		take(otherwise)
	}
}
