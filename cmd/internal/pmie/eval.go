package pmie

import (
	"math"
)

func nan() float64 { return math.NaN() }

// An evaluator computes the values of expressions.
type evaluator struct {
	wrap  bool                             // a counter that went back has overflowed
	names func(m *metric) map[int32]string // requests the names of all instances of a metric
}

// run evaluates an expression with the values just fetched: first its arguments, then itself.
func (ev *evaluator) run(x *expr) {
	if x.inert() {
		return
	}
	if x.arg1 != nil {
		ev.run(x.arg1)
	}
	if x.arg2 != nil {
		ev.run(x.arg2)
	}
	s := step{x: x.cell}
	if x.arg1 != nil {
		s.a = x.arg1.cell
	}
	if x.arg2 != nil {
		s.b = x.arg2.cell
	}
	ev.step(s)
}

// inert reports whether x is not evaluated: it is a constant, a variable, or a mistake that was reported.
func (x *expr) inert() bool {
	return x.op == opNone || x.op == opVar || (x.op == opAnd || x.op == opOr) && x.arg2 == nil
}

// step evaluates a node whose arguments have their values.
func (ev *evaluator) step(s step) {
	if s.x.op == opFetch {
		ev.fetch(s.x)
		return
	}
	compute(s.x, s.a, s.b)
}

// compute sets the newest values of x to those of its operator, given its arguments.
func compute(x, a, b *cell) {
	x.rotate()
	switch x.op {
	case opAdd, opSub, opMul, opDiv:
		if x.ready(a, 1, x.one1) && x.ready(b, 1, x.one2) {
			arithmetic(x.op, x.numbers(0), operand(a), operand(b), x.one1, x.one2)
			x.have(newer(a, b))
		}
	case opEq, opNeq, opLt, opLte, opGt, opGte:
		if x.ready(a, 1, x.one1) && x.ready(b, 1, x.one2) {
			compare(x.op, x.truth(0), operand(a), operand(b), x.one1, x.one2)
			x.have(newer(a, b))
		}
	case opNeg, opInstant:
		if x.ready(a, 1, x.one1) {
			unary(x.op, x.numbers(0), operand(a), x.one1)
			x.have(a.samples[0].time)
		}
	case opNot:
		if x.ready(a, 1, x.one1) {
			not(x.truth(0), a.truth(0), x.one1)
			x.have(a.samples[0].time)
		}
	case opAnd:
		and.combine(x, a, b)
	case opOr:
		or.combine(x, a, b)
	case opRise, opFall:
		if x.ready(a, 2, x.one1) {
			edge(x.op, x.truth(0), a.truth(0), a.truth(1), x.one1)
			x.have(a.samples[0].time)
		}
	case opRate:
		if x.ready(a, 2, x.one1) {
			change(x.numbers(0), a.numbers(0), a.numbers(1), a.samples[0].time-a.samples[1].time, x.one1)
			x.have(a.samples[0].time)
		}
	case opDelay:
		delay(x.node, a.node)
	case opMatch, opNoMatch:
		match(x.node, a.node, b.node)
	case opEqText, opNeqText:
		compareText(x.node, a.node, b.node)
	default:
		over(x, a, b)
	}
}

// newer returns the later of two times.
func newer(x, y *cell) float64 { return max(x.samples[0].time, y.samples[0].time) }

// verdict returns the value of a condition. It is unknown if there is none, and false if strings were compared
// and there were no values.
func (x *cell) verdict() int8 {
	switch {
	case x.valid == 0:
		return isUnknown
	case x.span == 0:
		return isFalse
	}
	return x.truth(0)[0]
}

// have records that x has one more sample, of a time.
func (x *cell) have(time float64) {
	x.samples[0].time = time
	x.valid++
}

// ready reports whether an argument has a number of samples, with the values that x needs. If not, x is
// unknown.
func (x *cell) ready(arg *cell, samples int, one bool) bool {
	if arg.valid >= samples && x.span > 0 && fits(x, arg, one) {
		return true
	}
	x.valid = 0
	return false
}

// fits reports whether an argument has the values that a node needs.
func fits(x, arg *cell, one bool) bool {
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

// stride is the distance between the values of an argument.
func stride(one bool) int {
	if one {
		return 0
	}
	return 1
}

// operand returns the numbers of an argument. A truth value counts as 0, 1 or 2, a string as slightly more than
// 0: pmie reads the bits of its address as a number, and there are rules with "name > 0".
func operand(x *cell) []float64 {
	if x.nums != nil {
		return x.numbers(0)
	}
	list := make([]float64, x.span)
	if x.truths != nil {
		for i, v := range x.truth(0) {
			list[i] = float64(v)
		}
	} else if x.node.texts != nil {
		for i := range list {
			list[i] = math.SmallestNonzeroFloat64
		}
	}
	return list
}

func arithmetic(o op, out, a, b []float64, one1, one2 bool) {
	next1, next2 := stride(one1), stride(one2)
	i, j := 0, 0
	for k := range out {
		switch v, w := a[i], b[j]; o {
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
}

func compare(o op, out []int8, a, b []float64, one1, one2 bool) {
	next1, next2 := stride(one1), stride(one2)
	i, j := 0, 0
	for k := range out {
		is := false
		switch v, w := a[i], b[j]; o {
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
}

func unary(o op, out, in []float64, one bool) {
	for i := range out {
		if out[i] = at(in, one, i); o == opNeg {
			out[i] = -out[i]
		}
	}
}

func not(out, in []int8, one bool) {
	for i := range out {
		out[i] = negated(at(in, one, i))
	}
}

func negated(v int8) int8 {
	if v == isUnknown {
		return v
	}
	return 1 - v
}

func truthOf(b bool) int8 {
	if b {
		return isTrue
	}
	return isFalse
}

// edge compares truth values with those of the sample before.
func edge(o op, out, now, before []int8, one bool) {
	for i := range out {
		v, w := at(now, one, i), at(before, one, i)
		out[i] = truthOf(o == opRise && v > w || o == opFall && v < w)
	}
}

// change returns the change of values in a second, given those of the sample before.
func change(out, now, before []float64, seconds float64, one bool) {
	for i := range out {
		out[i] = (at(now, one, i) - at(before, one, i)) / seconds
	}
}

// delay takes the values of an earlier sample.
func delay(x, a *expr) {
	n := a.times
	if !x.ready(a.cell, n, x.one1) {
		return
	}
	if a.texts != nil {
		copy(x.strs(0), a.strs(n-1))
	} else {
		copy(x.numbers(0), a.numbers(n-1))
	}
	x.have(a.samples[n-1].time)
}

func compareText(x, a, b *expr) {
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
	ok := a.valid > 0 && b.valid > 0
	switch {
	case x.one1 && x.one2:
		ok = ok && x.span == span(a) && x.span == span(b)
	case x.one1:
		ok = ok && x.span == span(b)
	case x.one2:
		ok = ok && x.span == span(a)
	default:
		ok = ok && x.span == a.span && x.span == b.span
	}
	if !ok {
		x.valid = 0
		return
	}
	out := x.truth(0)
	for i := range out {
		v, ok1 := str(a, x.one1, i)
		w, ok2 := str(b, x.one2, i)
		out[i] = truthOf(ok1 && ok2 && (v == w) == (x.op == opEqText))
	}
	x.have(newer(a.cell, b.cell))
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

// combine evaluates x, of whose arguments one may be unknown.
func (c connective) combine(x, a, b *cell) {
	if x.span == 0 {
		x.valid = 0
		return
	}
	out := x.truth(0)
	ok1 := a.valid > 0 && a.truths != nil && fits(x, a, x.one1)
	ok2 := b.valid > 0 && b.truths != nil && fits(x, b, x.one2)
	switch {
	case ok1 && ok2:
		v, w := a.truth(0), b.truth(0)
		for i := range out {
			out[i] = c.both(at(v, x.one1, i), at(w, x.one2, i))
		}
		x.have(newer(a, b))
	case ok1:
		c.alone(out, a.truth(0), x.one1, x.one1 && x.one2)
		x.have(a.samples[0].time)
	case ok2:
		c.alone(out, b.truth(0), x.one2, x.one1 && x.one2)
		x.have(b.samples[0].time)
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

// match evaluates a node that looks at the names of instances. Its values are unknown, not missing, if its
// argument has no values.
func match(x, a, pattern *expr) {
	x.samples[0].time = a.samples[0].time
	if a.span == 0 || x.span < a.span {
		x.valid = 0
		return
	}
	in, out := a.truth(0), x.truth(0)
	hits := x.matching(a, pattern)
	for i := range in {
		if a.valid == 0 {
			out[i] = isUnknown
			continue
		}
		out[i] = truthOf(i < len(hits) && hits[i] && in[i] != isFalse)
	}
	x.valid++
}

// matching returns for which instances of its argument x is true, if they match.
func (x *expr) matching(a, pattern *expr) []bool {
	if a.metrics == nil || x.insts <= 0 {
		return nil
	}
	changes := 1
	for _, m := range a.metrics.list {
		changes += m.changes
	}
	if x.hitsOf == changes {
		return x.hits
	}
	x.hits, x.hitsOf = x.hits[:0], changes
	for _, m := range a.metrics.list {
		for i := range max(m.count, 0) {
			hit := m.names != nil && pattern.pattern.MatchString(m.names[i]) == (x.op == opMatch)
			x.hits = append(x.hits, hit)
		}
	}
	return x.hits
}

// over evaluates a node that reduces the values of a domain to one. Without instances a
// quantifier is unknown, and an aggregate has no value.
func over(x, a, b *cell) {
	time := a.samples[0].time
	first := x.samples[0].at
	known, all := a.truths != nil, len(a.truths)
	if x.op.numeric() {
		known, all = a.nums != nil, len(a.nums)
	}
	if a.valid == 0 || !known {
		x.valid = 0
		return
	}
	from := min(a.samples[0].at, all)
	d, _ := x.op.domain()
	switch d {
	case overHosts:
		if a.hosts <= 0 || all-from < a.hosts {
			x.valid = 0
			return
		}
		reduce(x, a, b, first, from, 1, a.hosts)
	case overSamples:
		// All samples, in their stored order.
		n := a.times
		if n <= 0 || a.valid < n || x.span == 0 {
			x.valid = 0
			return
		}
		for i := range x.span {
			reduce(x, a, b, first+i, i, x.span, n)
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
			n := a.insts
			if abs(x.hosts) != 1 {
				n = x.metrics.list[i].count
			}
			if n < 1 || all-from < n {
				if x.truths == nil {
					x.valid = 0
					return
				}
				x.truths[first+i] = isUnknown
				break
			}
			reduce(x, a, b, first+i, from, 1, n)
			from += n
		}
	}
	x.have(time)
}

// reduce sets the value of x at an index to that of n values of its argument: those from an index on, each
// so far apart.
func reduce(x, a, b *cell, at, from, each, n int) {
	switch o := x.op; {
	case o.numeric():
		x.nums[at] = aggregated(o, a.nums[from:], each, n)
	case o >= opCount:
		x.nums[at] = counted(a.truths[from:], each, n)
	case o >= opPercent:
		x.truths[at] = shareOf(b.nums[0], a.truths[from:], each, n)
	case o >= opSome:
		x.truths[at] = someOf(a.truths[from:], each, n)
	default:
		x.truths[at] = allOf(a.truths[from:], each, n)
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
