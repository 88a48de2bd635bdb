package pmie

// run evaluates all steps with the values just fetched.
func (p *plan) run(e *Engine) {
	p.runs++
	for i := range p.steps {
		s := &p.steps[i]
		if s.keeps {
			p.nodes[s.node].x.rotate()
		}
		written := p.step(e, s)
		if s.keeps && written {
			if x := p.nodes[s.node].x; x.nums != nil {
				copy(x.numbers(0), p.nums[s.at:])
			} else {
				copy(x.truth(0), p.truths[s.at:])
			}
		}
	}
}

// step evaluates one step, like the function that choose sets for its node. It reports whether it
// has written values, which need not be valid.
func (p *plan) step(e *Engine, s *step) (written bool) {
	valid := &p.valid[s.node]
	switch s.op {
	case opFetch:
		return p.fetch(e, s, valid)
	case opVar:
		p.nums[s.at] = p.nodes[s.node].x.nums[0]
		return true
	case opAnd, opOr:
		return p.logic(s, valid)
	case opMatch, opNoMatch:
		p.match(s)
		*valid++
		return true
	}
	if p.valid[s.a] == 0 || s.b >= 0 && p.valid[s.b] == 0 {
		*valid = 0
		return false
	}
	switch s.op {
	case opAdd, opSub, opMul, opDiv:
		p.arithmetic(s)
	case opEq, opNeq, opLt, opLte, opGt, opGte:
		p.compare(s)
	case opNeg, opInstant, opNot:
		p.unary(s)
	case opRise, opFall:
		if p.valid[s.a] < 2 {
			*valid = 0
			return false
		}
		p.edge(s)
	case opDelay:
		arg := s.rare.arg
		if int(p.valid[s.a]) < arg.times {
			*valid = 0
			return false
		}
		copy(p.nums[s.at:s.at+s.n], p.samples(s, arg.times-1))
	default:
		if d, _ := s.op.domain(); d == overSamples && int(p.valid[s.a]) < s.rare.of {
			*valid = 0
			return false
		}
		p.over(s)
	}
	*valid++
	return true
}

// samples returns the numbers of a sample of the step's argument, the newest being 0.
func (p *plan) samples(s *step, sample int) []float64 {
	if sample == 0 {
		return p.nums[s.in1:][:s.rare.arg.span]
	}
	return s.rare.arg.numbers(sample)
}

func (p *plan) fetch(e *Engine, s *step, valid *int32) (written bool) {
	f := s.rare.fetch
	set := f.from.set
	out := p.nums[s.at:][:s.n]
	if set == nil || len(out) == 1 && f.pick == nil && len(set.Values) != 1 {
		*valid, f.before = 0, 0
		return false
	}
	*valid++
	in := f.from.numbers()
	switch {
	case f.pick != nil:
		for i, k := range f.pick {
			out[i] = in[k]
		}
	case len(out) == 1:
		out[0] = in[0]
	default:
		copy(out, in)
	}
	if f.rates {
		if !rates(out, f.last, f.from.time-f.before, f.m.wraps(e)) || f.before == 0 {
			*valid = 0
		}
		f.before = f.from.time
	}
	return true
}

func (p *plan) arithmetic(s *step) {
	a, b, out := p.nums[s.in1:], p.nums[s.in2:], p.nums[s.at:][:s.n]
	i, j := 0, 0
	for k := range out {
		switch v, w := a[i], b[j]; s.op {
		case opAdd:
			out[k] = v + w
		case opSub:
			out[k] = v - w
		case opMul:
			out[k] = v * w
		case opDiv:
			out[k] = v / w
		}
		i, j = i+int(s.next1), j+int(s.next2)
	}
}

func (p *plan) compare(s *step) {
	a, b, out := p.nums[s.in1:], p.nums[s.in2:], p.truths[s.at:][:s.n]
	i, j := 0, 0
	for k := range out {
		is := false
		switch v, w := a[i], b[j]; s.op {
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
		i, j = i+int(s.next1), j+int(s.next2)
	}
}

func (p *plan) unary(s *step) {
	if s.op == opNot {
		in, out := p.truths[s.in1:], p.truths[s.at:][:s.n]
		for i := range out {
			out[i] = negated(in[i*int(s.next1)])
		}
		return
	}
	in, out := p.nums[s.in1:], p.nums[s.at:][:s.n]
	for i := range out {
		if out[i] = in[i*int(s.next1)]; s.op == opNeg {
			out[i] = -out[i]
		}
	}
}

func (p *plan) edge(s *step) {
	now, out := p.truths[s.in1:], p.truths[s.at:][:s.n]
	before := s.rare.arg.truth(1)
	for i := range out {
		j := i * int(s.next1)
		if s.op == opRise {
			out[i] = truthOf(now[j] > before[j])
		} else {
			out[i] = truthOf(now[j] < before[j])
		}
	}
}

func (p *plan) logic(s *step, valid *int32) (written bool) {
	c := and
	if s.op == opOr {
		c = or
	}
	a, b, out := p.truths[s.in1:], p.truths[s.in2:], p.truths[s.at:][:s.n]
	ok1, ok2 := p.valid[s.a] > 0, p.valid[s.b] > 0
	one1, one2 := s.next1 == 0, s.next2 == 0
	switch {
	case ok1 && ok2:
		if len(out) == 1 {
			out[0] = c.both(a[0], b[0])
			break
		}
		for i := range out {
			out[i] = c.both(at(a, one1, i), at(b, one2, i))
		}
	case ok1:
		c.alone(out, a, one1, one1 && one2)
	case ok2:
		c.alone(out, b, one2, one1 && one2)
	default:
		*valid = 0
		return false
	}
	*valid++
	return true
}

func (p *plan) match(s *step) {
	in, out := p.truths[s.in1:], p.truths[s.at:][:s.n]
	known := p.valid[s.a] > 0
	for i := range out {
		if !known {
			out[i] = isUnknown
			continue
		}
		out[i] = truthOf(s.rare.hits[i] && in[i] != isFalse)
	}
}

// over evaluates an aggregate or a quantifier.
func (p *plan) over(s *step) {
	d, _ := s.op.domain()
	if s.op >= opSum && s.op < opSum+12 {
		in, out := p.nums[s.in1:], p.nums[s.at:][:s.n]
		if d != overSamples {
			out[0] = aggregated(s.op, in, 1, s.rare.of)
			return
		}
		if s.rare.arg.nums != nil && len(s.rare.arg.samples) > 1 {
			in = s.rare.arg.nums
		}
		for i := range out {
			out[i] = aggregated(s.op, in[i:], len(out), s.rare.of)
		}
		return
	}
	in := p.truths[s.in1:]
	if d != overSamples {
		p.quantify(s, in, 0, 1)
		return
	}
	if len(s.rare.arg.samples) > 1 {
		in = s.rare.arg.truths
	}
	for i := range int(s.n) {
		p.quantify(s, in[i:], i, int(s.n))
	}
}

// quantify makes the ith value of a quantifier or a count.
func (p *plan) quantify(s *step, in []int8, i, each int) {
	at := int(s.at) + i
	switch n := s.rare.of; {
	case s.op >= opCount:
		p.nums[at] = counted(in, each, n)
	case s.op >= opPercent:
		p.truths[at] = shareOf(s.rare.share, in, each, n)
	case s.op >= opSome:
		p.truths[at] = someOf(in, each, n)
	default:
		p.truths[at] = allOf(in, each, n)
	}
}
