package pmie

import (
	"math"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// A plan is the order in which the parts of the conditions of rules are evaluated. Expressions that
// rules share are evaluated once. It holds as long as each metric has values for the instances that it
// had when the plan was made. Of equal nodes one has the values; store copies them to the others.
type plan struct {
	rules  []*expr
	conds  []*cell // for each rule the values of its condition, nil if it is evaluated alone
	steps  []step
	domain []domained
	runs   int
	less   bool // more rules may join later: they had no values, or not of all instances
}

// A step is the evaluation of a node.
type step struct{ x, a, b *cell }

// A domained is a series whose instances must stay the same.
type domained struct {
	from *series
	turn int
}

// A planner makes a plan.
type planner struct {
	plan
	known map[nodeKey]*expr
	nodes []*expr // of the steps, and constants
	keys  []nodeKey
}

// A nodeKey identifies equal nodes.
type nodeKey struct {
	op                  op
	sem                 sem
	one1, one2, rates   bool
	hosts, insts, times int
	span, samples       int
	a, b                *expr
	from                *series
	bits                uint64
	text                string
}

// newPlan returns a plan for rules, nil if there is nothing to plan.
func newPlan(rules []*expr) *plan {
	b := &planner{plan: plan{rules: rules}, known: make(map[nodeKey]*expr)}
	planned := false
	var roots []*expr
	for _, r := range rules {
		var x *expr
		if r.op == opRule && b.can(r.arg1) {
			x = b.add(r.arg1)
			planned = true
		}
		roots = append(roots, x)
	}
	if !planned {
		return nil
	}
	b.lay()
	b.conds = make([]*cell, len(roots))
	for i, x := range roots {
		if x != nil {
			b.conds[i] = x.cell
		}
	}
	return &b.plan
}

// lay makes the steps, whose cells are contiguous.
func (b *planner) lay() {
	cells := make([]cell, len(b.nodes))
	for i, x := range b.nodes {
		x.move(&cells[i])
		if x.op == opNone {
			continue
		}
		s := step{x: x.cell}
		if a := b.keys[i].a; a != nil {
			s.a = a.cell
		}
		if a := b.keys[i].b; a != nil {
			s.b = a.cell
		}
		b.steps = append(b.steps, s)
	}
}

// can reports whether the instances of all metrics of an expression are known.
func (b *planner) can(x *expr) bool {
	switch {
	case x.op == opFetch:
		return b.canFetch(x)
	case x.op == opNone || x.op == opVar:
		return true
	case x.inert():
		return false
	}
	return b.can(x.arg1) && (x.arg2 == nil || b.can(x.arg2))
}

func (b *planner) canFetch(x *expr) bool {
	m := x.metrics.first()
	switch {
	case len(x.metrics.list) != 1 || !m.ready || m.from == nil || rated(x.cell) && len(m.last) < x.span:
		return false
	case x.kind == fetchOne:
		return m.desc.InDom == pcp.InDomNull
	case m.from.set == nil || m.turn != m.from.turn || m.count != x.span:
		b.less = true
		return false
	}
	return true
}

// relies makes the plan rely on the instances of a series.
func (b *planner) relies(s *series) {
	if !slices.ContainsFunc(b.domain, func(d domained) bool { return d.from == s }) {
		b.domain = append(b.domain, domained{from: s, turn: s.turn})
	}
}

// add returns the node that has the values of x.
func (b *planner) add(x *expr) *expr {
	if x.op == opVar {
		return x // all rules share it
	}
	key := nodeKey{
		op: x.op, sem: x.sem, one1: x.one1, one2: x.one2, hosts: x.hosts, insts: x.insts, times: x.times,
		span: x.span, samples: len(x.samples), text: x.text,
	}
	switch {
	case x.op == opFetch:
		m := x.metrics.first()
		key.from, key.rates = m.from, rated(x.cell)
		if m.named > 0 {
			key.text = strings.Join(m.names, "\x00")
		}
		if x.kind != fetchOne {
			b.relies(m.from)
		}
	case x.op == opNone:
		if x.nums != nil {
			key.bits = math.Float64bits(x.nums[0])
		} else if x.truths != nil {
			key.bits = uint64(x.truths[0])
		}
	default:
		key.a = b.add(x.arg1)
		if x.arg2 != nil {
			key.b = b.add(x.arg2)
		}
	}
	same, ok := b.known[key]
	if !ok {
		b.known[key] = x
	}
	if !ok || !sameState(same, x) {
		same = x
		b.nodes, b.keys = append(b.nodes, x), append(b.keys, key)
	}
	x.same = same
	return same
}

// sameState reports whether two nodes with equal operations will have equal values from
// now on.
func sameState(x, y *expr) bool {
	if x == y {
		return true
	}
	known := func(x *expr) int { return min(x.valid, max(2, len(x.samples))) }
	same := known(x) == known(y) && slices.Equal(x.truths, y.truths) && slices.Equal(x.texts, y.texts) &&
		slices.Equal(x.samples, y.samples) && slices.EqualFunc(x.nums, y.nums, sameBits)
	if !same || x.op != opFetch {
		return same
	}
	m, n := x.metrics.first(), y.metrics.first()
	if m.count != n.count || !slices.Equal(m.insts, n.insts) {
		return false
	}
	return !rated(x.cell) || sameBits(m.before, n.before) && slices.EqualFunc(m.last[:x.span], n.last[:x.span], sameBits)
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// run evaluates all steps with the values just fetched.
func (p *plan) run(ev *evaluator) {
	p.runs++
	for i := range p.steps {
		ev.step(p.steps[i])
	}
}

// holds reports whether the values just fetched are of the instances that the plan relies on.
func (p *plan) holds() bool {
	for _, d := range p.domain {
		if d.from.set == nil || d.from.turn != d.turn {
			return false
		}
	}
	return true
}

// store gives x and the nodes below it the values of the nodes that a plan evaluated in their place.
func (x *expr) store() {
	if x.op == opNone || x.op == opVar {
		return
	}
	if x.arg1 != nil {
		x.arg1.store()
	}
	if x.arg2 != nil {
		x.arg2.store()
	}
	if x.same == x {
		return
	}
	x.valid = x.same.valid
	copy(x.samples, x.same.samples)
	copy(x.nums, x.same.nums)
	copy(x.truths, x.same.truths)
	copy(x.texts, x.same.texts)
	if x.op == opFetch {
		m, n := x.metrics.first(), x.same.metrics.first()
		m.time, m.before = n.time, n.before
		copy(m.last, n.last)
	}
}

// store gives all planned rules their values.
func (p *plan) store() {
	for i, r := range p.rules {
		if c := p.conds[i]; c != nil {
			r.arg1.store()
			r.conclude(c)
		}
	}
}

// conclude gives a rule the value of its condition.
func (x *expr) conclude(c *cell) {
	if x.valid = c.valid; x.valid > 0 {
		x.truths[0] = c.verdict()
	}
}
