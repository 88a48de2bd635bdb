package eval

import (
	"math"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// A Plan is the order in which the parts of the conditions of rules are evaluated. Expressions that
// rules share are evaluated once. It holds as long as each metric has values for the instances that it
// had when the plan was made. Of equal nodes one has the values; store copies them to the others.
type Plan struct {
	rules  []*Expr
	Conds  []*Cell // for each rule the values of its condition, nil if it is evaluated alone
	steps  []step
	domain []domained
	Runs   int
	Less   bool // more rules may join later: they had no values, or not of all instances
}

// A step is the evaluation of a node.
type step struct{ x, a, b *Cell }

// A domained is a series whose instances must stay the same.
type domained struct {
	from *Series
	turn int
}

// A planner makes a plan.
type planner struct {
	Plan
	known map[nodeKey]*Expr
	nodes []*Expr // of the steps, and constants
	keys  []nodeKey
}

// A nodeKey identifies equal nodes.
type nodeKey struct {
	op                  Op
	sem                 Sem
	one1, one2, rates   bool
	hosts, insts, times int
	span, samples       int
	a, b                *Expr
	from                *Series
	bits                uint64
	text                string
}

// NewPlan returns a plan for rules, nil if there is nothing to plan.
func NewPlan(rules []*Expr) *Plan {
	b := &planner{Plan: Plan{rules: rules}, known: make(map[nodeKey]*Expr)}
	planned := false
	var roots []*Expr
	for _, r := range rules {
		var x *Expr
		if r.Op == OpRule && b.can(r.Arg1) {
			x = b.add(r.Arg1)
			planned = true
		}
		roots = append(roots, x)
	}
	if !planned {
		return nil
	}
	b.lay()
	b.Conds = make([]*Cell, len(roots))
	for i, x := range roots {
		if x != nil {
			b.Conds[i] = x.Cell
		}
	}
	return &b.Plan
}

// lay makes the steps, whose cells are contiguous.
func (b *planner) lay() {
	cells := make([]Cell, len(b.nodes))
	for i, x := range b.nodes {
		x.move(&cells[i])
		if x.Op == OpNone {
			continue
		}
		s := step{x: x.Cell}
		if a := b.keys[i].a; a != nil {
			s.a = a.Cell
		}
		if a := b.keys[i].b; a != nil {
			s.b = a.Cell
		}
		b.steps = append(b.steps, s)
	}
}

// can reports whether the instances of all metrics of an expression are known.
func (b *planner) can(x *Expr) bool {
	switch {
	case x.Op == OpFetch:
		return b.canFetch(x)
	case x.Op == OpNone || x.Op == OpVar:
		return true
	case x.Inert():
		return false
	}
	return b.can(x.Arg1) && (x.Arg2 == nil || b.can(x.Arg2))
}

func (b *planner) canFetch(x *Expr) bool {
	m := x.Metrics.First()
	switch {
	case len(x.Metrics.List) != 1 || !m.Ready || m.from == nil || rated(x.Cell) && len(m.Last) < x.Span:
		return false
	case x.kind == fetchOne:
		return m.Desc.InDom == pcp.InDomNull
	case m.from.Set == nil || m.Turn != m.from.turn || m.Count != x.Span:
		b.Less = true
		return false
	}
	return true
}

// relies makes the plan rely on the instances of a series.
func (b *planner) relies(s *Series) {
	if !slices.ContainsFunc(b.domain, func(d domained) bool { return d.from == s }) {
		b.domain = append(b.domain, domained{from: s, turn: s.turn})
	}
}

// add returns the node that has the values of x.
func (b *planner) add(x *Expr) *Expr {
	if x.Op == OpVar {
		return x // all rules share it
	}
	key := nodeKey{
		op: x.Op, sem: x.Sem, one1: x.one1, one2: x.one2, hosts: x.Hosts, insts: x.Insts, times: x.Times,
		span: x.Span, samples: len(x.Samples), text: x.Text,
	}
	switch {
	case x.Op == OpFetch:
		m := x.Metrics.First()
		key.from, key.rates = m.from, rated(x.Cell)
		if m.Named > 0 {
			key.text = strings.Join(m.Names, "\x00")
		}
		if x.kind != fetchOne {
			b.relies(m.from)
		}
	case x.Op == OpNone:
		if x.Nums != nil {
			key.bits = math.Float64bits(x.Nums[0])
		} else if x.Truths != nil {
			key.bits = uint64(x.Truths[0])
		}
	default:
		key.a = b.add(x.Arg1)
		if x.Arg2 != nil {
			key.b = b.add(x.Arg2)
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
func sameState(x, y *Expr) bool {
	if x == y {
		return true
	}
	known := func(x *Expr) int { return min(x.Valid, max(2, len(x.Samples))) }
	same := known(x) == known(y) && slices.Equal(x.Truths, y.Truths) && slices.Equal(x.Texts, y.Texts) &&
		slices.Equal(x.Samples, y.Samples) && slices.EqualFunc(x.Nums, y.Nums, sameBits)
	if !same || x.Op != OpFetch {
		return same
	}
	m, n := x.Metrics.First(), y.Metrics.First()
	if m.Count != n.Count || !slices.Equal(m.Insts, n.Insts) {
		return false
	}
	return !rated(x.Cell) || sameBits(m.Before, n.Before) && slices.EqualFunc(m.Last[:x.Span], n.Last[:x.Span], sameBits)
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// Run evaluates all steps with the values just fetched.
func (p *Plan) Run(ev *Evaluator) {
	p.Runs++
	for i := range p.steps {
		ev.step(p.steps[i])
	}
}

// Holds reports whether the values just fetched are of the instances that the plan relies on.
func (p *Plan) Holds() bool {
	for _, d := range p.domain {
		if d.from.Set == nil || d.from.turn != d.turn {
			return false
		}
	}
	return true
}

// Store gives x and the nodes below it the values of the nodes that a plan evaluated in their place.
func (x *Expr) Store() {
	if x.Op == OpNone || x.Op == OpVar {
		return
	}
	if x.Arg1 != nil {
		x.Arg1.Store()
	}
	if x.Arg2 != nil {
		x.Arg2.Store()
	}
	if x.same == x {
		return
	}
	x.Valid = x.same.Valid
	copy(x.Samples, x.same.Samples)
	copy(x.Nums, x.same.Nums)
	copy(x.Truths, x.same.Truths)
	copy(x.Texts, x.same.Texts)
	if x.Op == OpFetch {
		m, n := x.Metrics.First(), x.same.Metrics.First()
		m.time, m.Before = n.time, n.Before
		copy(m.Last, n.Last)
	}
}

// Store gives all planned rules their values.
func (p *Plan) Store() {
	for i, r := range p.rules {
		if c := p.Conds[i]; c != nil {
			r.Arg1.Store()
			r.Conclude(c)
		}
	}
}

// Conclude gives a rule the value of its condition.
func (x *Expr) Conclude(c *Cell) {
	if x.Valid = c.Valid; x.Valid > 0 {
		x.Truths[0] = c.Verdict()
	}
}
