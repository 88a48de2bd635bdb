package eval

import (
	"math"
)

func nan() float64 { return math.NaN() }

// An Evaluator computes the values of expressions.
type Evaluator struct {
	Wrap  bool                             // a counter that went back has overflowed
	Names func(m *Metric) map[int32]string // requests the names of all instances of a metric
}

// Run evaluates an expression with the values just fetched: first its arguments, then itself.
func (ev *Evaluator) Run(x *Expr) {
	if x.Inert() {
		return
	}
	if x.Arg1 != nil {
		ev.Run(x.Arg1)
	}
	if x.Arg2 != nil {
		ev.Run(x.Arg2)
	}
	s := step{x: x.Cell}
	if x.Arg1 != nil {
		s.a = x.Arg1.Cell
	}
	if x.Arg2 != nil {
		s.b = x.Arg2.Cell
	}
	ev.step(s)
}

// Inert reports whether x is not evaluated: it is a constant, a variable, or a mistake that was reported.
func (x *Expr) Inert() bool {
	return x.Op == OpNone || x.Op == OpVar || (x.Op == OpAnd || x.Op == OpOr) && x.Arg2 == nil
}

// step evaluates a node whose arguments have their values.
func (ev *Evaluator) step(s step) {
	if s.x.Op == OpFetch {
		ev.fetch(s.x)
		return
	}
	Compute(s.x, s.a, s.b)
}

// Compute sets the newest values of x to those of its operator, given its arguments.
func Compute(x, a, b *Cell) {
	x.rotate()
	switch x.Op {
	case OpAdd, OpSub, OpMul, OpDiv:
		if x.numeric() && x.ready(a, 1, x.one1) && x.ready(b, 1, x.one2) {
			arithmetic(x.Op, x.Numbers(0), operand(a), operand(b), x.one1, x.one2)
			x.have(newer(a, b))
		}
	case OpEq, OpNeq, OpLt, OpLte, OpGt, OpGte:
		if x.ready(a, 1, x.one1) && x.ready(b, 1, x.one2) {
			compare(x.Op, x.Truth(0), operand(a), operand(b), x.one1, x.one2)
			x.have(newer(a, b))
		}
	case OpNeg, OpInstant:
		if x.numeric() && x.ready(a, 1, x.one1) {
			unary(x.Op, x.Numbers(0), operand(a), x.one1)
			x.have(a.Samples[0].time)
		}
	case OpNot:
		if x.ready(a, 1, x.one1) {
			not(x.Truth(0), a.Truth(0), x.one1)
			x.have(a.Samples[0].time)
		}
	case OpAnd:
		and.combine(x, a, b)
	case OpOr:
		or.combine(x, a, b)
	case OpRise, OpFall:
		if x.ready(a, 2, x.one1) {
			edge(x.Op, x.Truth(0), a.Truth(0), a.Truth(1), x.one1)
			x.have(a.Samples[0].time)
		}
	case OpRate:
		if x.ready(a, 2, x.one1) {
			change(x.Numbers(0), a.Numbers(0), a.Numbers(1), a.Samples[0].time-a.Samples[1].time, x.one1)
			x.have(a.Samples[0].time)
		}
	case OpDelay:
		delay(x.node, a.node)
	case OpMatch, OpNoMatch:
		match(x.node, a.node, b.node)
	case OpEqText, OpNeqText:
		compareText(x.node, a.node, b.node)
	default:
		over(x, a, b)
	}
}

// newer returns the later of two times.
func newer(x, y *Cell) float64 { return max(x.Samples[0].time, y.Samples[0].time) }

// Verdict returns the value of a condition. It is unknown if there is none, and false if strings were compared
// and there were no values.
func (x *Cell) Verdict() int8 {
	switch {
	case x.Valid == 0:
		return Unknown
	case x.Span == 0:
		return False
	}
	return x.Truth(0)[0]
}

// have records that x has one more sample, of a time.
func (x *Cell) have(time float64) {
	x.Samples[0].time = time
	x.Valid++
}

// ready reports whether an argument has a number of samples, with the values that x needs. If not, x is
// unknown.
func (x *Cell) ready(arg *Cell, samples int, one bool) bool {
	if arg.Valid >= samples && x.Span > 0 && fits(x, arg, one) {
		return true
	}
	x.Valid = 0
	return false
}

// numeric reports whether x has numbers. The operators of numbers have no value for the constants true and false, which a
// macro can bring where only a number makes sense.
func (x *Cell) numeric() bool { return x.Nums != nil }

// fits reports whether an argument has the values that a node needs.
func fits(x, arg *Cell, one bool) bool {
	if one {
		return arg.Span > 0
	}
	return x.Span == arg.Span
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
func operand(x *Cell) []float64 {
	if x.Nums != nil {
		return x.Numbers(0)
	}
	list := make([]float64, x.Span)
	if x.Truths != nil {
		for i, v := range x.Truth(0) {
			list[i] = float64(v)
		}
	} else if x.node.Texts != nil {
		for i := range list {
			list[i] = math.SmallestNonzeroFloat64
		}
	}
	return list
}

func arithmetic(o Op, out, a, b []float64, one1, one2 bool) {
	next1, next2 := stride(one1), stride(one2)
	i, j := 0, 0
	for k := range out {
		switch v, w := a[i], b[j]; o {
		case OpAdd:
			out[k] = v + w
		case OpSub:
			out[k] = v - w
		case OpMul:
			out[k] = v * w
		case OpDiv:
			out[k] = v / w
		}
		i, j = i+next1, j+next2
	}
}

func compare(o Op, out []int8, a, b []float64, one1, one2 bool) {
	next1, next2 := stride(one1), stride(one2)
	i, j := 0, 0
	for k := range out {
		is := false
		switch v, w := a[i], b[j]; o {
		case OpEq:
			is = v == w
		case OpNeq:
			is = v != w
		case OpLt:
			is = v < w
		case OpLte:
			is = v <= w
		case OpGt:
			is = v > w
		case OpGte:
			is = v >= w
		}
		out[k] = TruthOf(is)
		i, j = i+next1, j+next2
	}
}

func unary(o Op, out, in []float64, one bool) {
	for i := range out {
		if out[i] = at(in, one, i); o == OpNeg {
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
	if v == Unknown {
		return v
	}
	return 1 - v
}

// TruthOf returns True or False.
func TruthOf(b bool) int8 {
	if b {
		return True
	}
	return False
}

// edge compares truth values with those of the sample before.
func edge(o Op, out, now, before []int8, one bool) {
	for i := range out {
		v, w := at(now, one, i), at(before, one, i)
		out[i] = TruthOf(o == OpRise && v > w || o == OpFall && v < w)
	}
}

// change returns the change of values in a second, given those of the sample before.
func change(out, now, before []float64, seconds float64, one bool) {
	for i := range out {
		out[i] = (at(now, one, i) - at(before, one, i)) / seconds
	}
}

// delay takes the values of an earlier sample.
func delay(x, a *Expr) {
	n := a.Times
	if !x.ready(a.Cell, n, x.one1) {
		return
	}
	if a.Texts != nil {
		copy(x.Strs(0), a.Strs(n-1))
	} else {
		copy(x.Numbers(0), a.Numbers(n-1))
	}
	x.have(a.Samples[n-1].time)
}

func compareText(x, a, b *Expr) {
	span := func(x *Expr) int {
		if x.Sem == SemText {
			return 1
		}
		return x.Span
	}
	str := func(x *Expr, one bool, i int) (string, bool) {
		switch {
		case x.Sem == SemText:
			return x.Text, one || i == 0
		case x.Texts != nil:
			return at(x.Strs(0), one, i), true
		}
		return "", false
	}
	ok := a.Valid > 0 && b.Valid > 0
	switch {
	case x.one1 && x.one2:
		ok = ok && x.Span == span(a) && x.Span == span(b)
	case x.one1:
		ok = ok && x.Span == span(b)
	case x.one2:
		ok = ok && x.Span == span(a)
	default:
		ok = ok && x.Span == a.Span && x.Span == b.Span
	}
	if !ok {
		x.Valid = 0
		return
	}
	out := x.Truth(0)
	for i := range out {
		v, ok1 := str(a, x.one1, i)
		w, ok2 := str(b, x.one2, i)
		out[i] = TruthOf(ok1 && ok2 && (v == w) == (x.Op == OpEqText))
	}
	x.have(newer(a.Cell, b.Cell))
}

// A connective combines two truth values. If one of them is decisive, its result is
// known.
type connective struct{ decisive int8 }

var (
	and = connective{decisive: False}
	or  = connective{decisive: True}
)

func (c connective) both(a, b int8) int8 {
	switch {
	case a == c.decisive || b == c.decisive:
		return c.decisive
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return 1 - c.decisive
}

func (c connective) one(a int8) int8 {
	if a == c.decisive {
		return a
	}
	return Unknown
}

// combine evaluates x, of whose arguments one may be unknown.
func (c connective) combine(x, a, b *Cell) {
	if x.Span == 0 {
		x.Valid = 0
		return
	}
	out := x.Truth(0)
	ok1 := a.Valid > 0 && a.Truths != nil && fits(x, a, x.one1)
	ok2 := b.Valid > 0 && b.Truths != nil && fits(x, b, x.one2)
	switch {
	case ok1 && ok2:
		v, w := a.Truth(0), b.Truth(0)
		for i := range out {
			out[i] = c.both(at(v, x.one1, i), at(w, x.one2, i))
		}
		x.have(newer(a, b))
	case ok1:
		c.alone(out, a.Truth(0), x.one1, x.one1 && x.one2)
		x.have(a.Samples[0].time)
	case ok2:
		c.alone(out, b.Truth(0), x.one2, x.one1 && x.one2)
		x.have(b.Samples[0].time)
	default:
		x.Valid = 0
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
func match(x, a, pattern *Expr) {
	x.Samples[0].time = a.Samples[0].time
	if a.Span == 0 || x.Span < a.Span {
		x.Valid = 0
		return
	}
	in, out := a.Truth(0), x.Truth(0)
	hits := x.matching(a, pattern)
	for i := range in {
		if a.Valid == 0 {
			out[i] = Unknown
			continue
		}
		out[i] = TruthOf(i < len(hits) && hits[i] && in[i] != False)
	}
	x.Valid++
}

// matching returns for which instances of its argument x is true, if they match.
func (x *Expr) matching(a, pattern *Expr) []bool {
	if a.Metrics == nil || x.Insts <= 0 {
		return nil
	}
	changes := 1
	for _, m := range a.Metrics.List {
		changes += m.Changes
	}
	if x.hitsOf == changes {
		return x.hits
	}
	x.hits, x.hitsOf = x.hits[:0], changes
	for _, m := range a.Metrics.List {
		for i := range max(m.Count, 0) {
			hit := m.Names != nil && pattern.Pattern.MatchString(m.Names[i]) == (x.Op == OpMatch)
			x.hits = append(x.hits, hit)
		}
	}
	return x.hits
}

// over evaluates a node that reduces the values of a domain to one. Without instances a
// quantifier is unknown, and an aggregate has no value.
func over(x, a, b *Cell) {
	time := a.Samples[0].time
	first := x.Samples[0].at
	known, all := a.Truths != nil, len(a.Truths)
	if x.Op.numeric() {
		known, all = a.Nums != nil, len(a.Nums)
	}
	if a.Valid == 0 || !known {
		x.Valid = 0
		return
	}
	from := min(a.Samples[0].at, all)
	d, _ := x.Op.domain()
	switch d {
	case OverHosts:
		if a.Hosts <= 0 || all-from < a.Hosts {
			x.Valid = 0
			return
		}
		reduce(x, a, b, first, from, 1, a.Hosts)
	case OverSamples:
		// All samples, in their stored order.
		n := a.Times
		if n <= 0 || a.Valid < n || x.Span == 0 {
			x.Valid = 0
			return
		}
		for i := range x.Span {
			reduce(x, a, b, first+i, i, x.Span, n)
		}
	case OverInstances:
		if x.Hosts == 0 {
			x.Valid = 0
			return
		}
		hosts := 1
		if Abs(x.Hosts) != 1 {
			hosts = len(x.Metrics.List)
		}
		for i := range hosts {
			n := a.Insts
			if Abs(x.Hosts) != 1 {
				n = x.Metrics.List[i].Count
			}
			if n < 1 || all-from < n {
				if x.Truths == nil {
					x.Valid = 0
					return
				}
				x.Truths[first+i] = Unknown
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
func reduce(x, a, b *Cell, at, from, each, n int) {
	switch o := x.Op; {
	case o.numeric():
		x.Nums[at] = aggregated(o, a.Nums[from:], each, n)
	case o >= OpCount:
		x.Nums[at] = counted(a.Truths[from:], each, n)
	case o >= OpPercent:
		x.Truths[at] = shareOf(b.Nums[0], a.Truths[from:], each, n)
	case o >= OpSome:
		x.Truths[at] = someOf(a.Truths[from:], each, n)
	default:
		x.Truths[at] = allOf(a.Truths[from:], each, n)
	}
}

// aggregated returns the sum, the average or an extreme of n numbers, depending on the
// operator.
func aggregated(o Op, list []float64, each, n int) float64 {
	a := list[0]
	kind := o - (o-OpSum)%3
	for i := 1; i < n; i++ {
		switch v := list[i*each]; kind {
		case OpSum, OpAvg:
			a += v
		case OpMax:
			if v > a {
				a = v
			}
		case OpMin:
			if v < a {
				a = v
			}
		}
	}
	if kind == OpAvg {
		a /= float64(n)
	}
	return a
}

// counted returns how many of n values are true.
func counted(list []int8, each, n int) float64 {
	a := 0.0
	for i := range n {
		if list[i*each] == True {
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
	return TruthOf(a >= int(0.5+share*float64(n)))
}

func allOf(list []int8, each, n int) int8 {
	a := list[0]
	for i := 1; i < n; i++ {
		if v := list[i*each]; v == False {
			a = False
		} else if v == Unknown && a != Unknown {
			a = Unknown
		}
	}
	return a
}

func someOf(list []int8, each, n int) int8 {
	a := list[0]
	for i := 1; i < n; i++ {
		if v := list[i*each]; v == True {
			a = True
		} else if v == Unknown && a != Unknown {
			a = Unknown
		}
	}
	return a
}
