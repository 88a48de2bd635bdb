package pmie

import (
	"math"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// A plan evaluates the conditions of rules of a task in place of their trees, which takes a
// fraction of the time: it is a list of steps whose values are contiguous, and an expression that
// rules share is one step. It holds as long as each metric has values for the instances that it had
// when the plan was made. The nodes of the trees then have an outdated state; store updates it.
//
// No planned rule has a rate, the only operation that reads the time of a sample: the times of
// samples in their trees are not updated.
type plan struct {
	conds  []cond // one for each rule of the task
	steps  []step
	nums   []float64
	truths []int8
	valid  []int32 // of each node, as expr.valid
	nodes  []node
	domain []domained
	runs   int
	less   bool // more rules may join later: they had no values, or not of all instances
}

// A cond is where a rule finds its condition.
type cond struct {
	node int32 // none if the tree of the rule is evaluated
	at   int32 // in truths
}

// A node of a plan represents equal nodes of trees, of which x is one. It has the values of the newest
// sample; x has the earlier ones.
type node struct {
	x     *expr
	at    int32 // of nums, or of truths
	fetch *fetched
}

// A domained is a series whose instances must stay the same.
type domained struct {
	from  *series
	insts []int32
}

// A fetched is the state that a fetch step keeps of a counter, and the source of its values.
type fetched struct {
	m      *metric
	from   *series
	rates  bool
	before float64
	last   []float64
	pick   []int32 // which values of the series, nil for all
}

// A step computes the values of one node.
type step struct {
	op           op
	keeps        bool // several samples
	next1, next2 uint8
	node, a, b   int32 // b is less than 0 if there is no second argument
	n            int32 // how many values
	in1, in2, at int32 // the indexes of the arguments' values, and of its own
	rare         *rare
}

// rare are the fields that few steps use.
type rare struct {
	fetch *fetched
	arg   *expr   // the argument whose samples are read
	of    int     // the number of values that are reduced to one
	share float64 // of opPercent
	hits  []bool  // of opMatch and opNoMatch
}

// maxPlanned limits the values of a node in a plan.
const maxPlanned = 4096

// A planner makes a plan.
type planner struct {
	plan
	known map[nodeKey]int32
}

// A nodeKey identifies equal nodes.
type nodeKey struct {
	op            op
	one1, one2    bool
	rates         bool
	a, b          int32
	span, samples int
	from          *series
	x             *expr // a variable
	bits          uint64
	text          string
}

// newPlan returns a plan for the rules of a task, nil if trees are better.
func newPlan(t *task) *plan {
	b := &planner{known: make(map[nodeKey]int32)}
	planned := false
	for _, r := range t.rules {
		c := cond{node: none}
		if x := r.x; x.op == opRule && len(r.deliveries) == 0 && x.eval != nil && x.arg1.truths != nil && x.arg1.span > 0 && b.can(x.arg1) {
			c.node = b.add(x.arg1)
			c.at = b.nodes[c.node].at
			planned = true
		}
		b.conds = append(b.conds, c)
	}
	if !planned {
		return nil
	}
	return &b.plan
}

// can reports whether a plan can evaluate x and the nodes below it.
func (b *planner) can(x *expr) bool {
	if x.span < 1 {
		b.less = true
		return false
	}
	if x.span > maxPlanned || (x.nums == nil) == (x.truths == nil) || len(x.nums)+len(x.truths) != x.span*len(x.samples) {
		return false
	}
	if x.op == opNone || x.op == opVar {
		return x.span == 1 && len(x.samples) == 1
	}
	if x.eval == nil {
		return false
	}
	if x.op == opFetch {
		return b.canFetch(x)
	}
	arg := x.arg1
	if arg == nil || !b.can(arg) {
		return false
	}
	switch x.op {
	case opAdd, opSub, opMul, opDiv, opEq, opNeq, opLt, opLte, opGt, opGte:
		return b.can(x.arg2) && arg.nums != nil && x.arg2.nums != nil && (x.nums != nil) == (x.op <= opDiv) &&
			fits(x, arg, x.one1) && fits(x, x.arg2, x.one2)
	case opAnd, opOr:
		return b.can(x.arg2) && arg.truths != nil && x.arg2.truths != nil && x.truths != nil &&
			fits(x, arg, x.one1) && fits(x, x.arg2, x.one2)
	case opNeg, opInstant:
		return arg.nums != nil && x.nums != nil && fits(x, arg, x.one1)
	case opNot:
		return arg.truths != nil && x.truths != nil && fits(x, arg, x.one1)
	case opRise, opFall:
		return arg.truths != nil && x.truths != nil && len(arg.samples) >= 2 && fits(x, arg, x.one1)
	case opDelay:
		return arg.nums != nil && x.nums != nil && arg.times > 0 && arg.times <= len(arg.samples) && fits(x, arg, x.one1)
	case opMatch, opNoMatch:
		if arg.truths == nil || x.truths == nil || x.span != arg.span || x.insts < 1 || arg.metrics == nil || len(arg.metrics.list) != 1 {
			return false
		}
		m := arg.metrics.first()
		return m.count == x.span && len(m.names) >= x.span
	}
	d, ok := x.op.domain()
	if !ok || (arg.nums != nil) != (x.op >= opSum && x.op < opSum+12) || (x.nums != nil) != (x.op < opAll || x.op >= opCount) {
		return false
	}
	switch d {
	case overHosts:
		return arg.hosts > 0 && arg.hosts <= arg.span
	case overSamples:
		return arg.times > 0 && arg.times <= len(arg.samples) && x.span == arg.span
	}
	return (x.hosts == 1 || x.hosts == none) && arg.insts > 0 && arg.insts <= arg.span
}

func (b *planner) canFetch(x *expr) bool {
	m := x.metrics.first()
	if len(x.metrics.list) != 1 || !m.ready || m.conv == 0 || m.from == nil || x.nums == nil || rated(x) && len(m.last) < x.span {
		return false
	}
	if m.desc.InDom == pcp.InDomNull {
		return x.span == 1
	}
	if !b.complete(m, x.span) {
		b.less = true
		return false
	}
	return true
}

// complete reports whether the instances of a metric have values, and if all are wanted, no others
// do.
func (b *planner) complete(m *metric, span int) bool {
	if m.from.set == nil || m.count != span || len(m.insts) < m.count {
		return false
	}
	insts := b.instances(m.from)
	if m.named == 0 {
		return slices.Equal(m.insts[:m.count], insts)
	}
	for _, inst := range m.insts[:m.count] {
		if _, ok := slices.BinarySearch(insts, inst); !ok {
			return false
		}
	}
	return true
}

// instances returns the instances of a series, on which the plan relies from then on.
func (b *planner) instances(s *series) []int32 {
	for _, d := range b.domain {
		if d.from == s {
			return d.insts
		}
	}
	d := domained{from: s, insts: make([]int32, len(s.set.Values))}
	for i, v := range s.set.Values {
		d.insts[i] = v.Inst
	}
	b.domain = append(b.domain, d)
	return d.insts
}

// add returns the node of the plan for x.
func (b *planner) add(x *expr) int32 {
	key := nodeKey{op: x.op, one1: x.one1, one2: x.one2, a: none, b: none, span: x.span, samples: len(x.samples)}
	_, isOver := x.op.domain()
	switch x.op {
	case opNone:
		if x.nums != nil {
			key.bits = math.Float64bits(x.nums[0])
		} else {
			key.bits, key.text = uint64(x.truths[0]), "truth"
		}
	case opVar:
		key.x = x
	case opFetch:
		m := x.metrics.first()
		key.from, key.rates = m.from, rated(x)
		if m.named > 0 {
			key.text = strings.Join(m.names, "\x00")
		}
	case opMatch, opNoMatch:
		key.a, key.text = b.add(x.arg1), x.arg2.text
	default:
		key.a = b.add(x.arg1)
		if isOver {
			if x.arg2 != nil { // of opPercent
				key.bits = math.Float64bits(x.arg2.nums[0])
			}
		} else if x.arg2 != nil {
			key.b = b.add(x.arg2)
		}
	}
	i, ok := b.known[key]
	if !ok || !sameState(b.nodes[i].x, x) {
		i = b.make(x, key)
		if !ok {
			b.known[key] = i
		}
	}
	if x.op != opNone && x.op != opVar { // which rules share
		x.node = i
	}
	return i
}

// sameState reports whether two nodes with equal operations will have equal states from
// now on.
func sameState(x, y *expr) bool {
	if x == y {
		return true
	}
	known := func(x *expr) int { return min(x.valid, max(2, len(x.samples))) }
	same := known(x) == known(y) && slices.Equal(x.truths, y.truths) &&
		slices.EqualFunc(x.samples, y.samples, func(a, b sample) bool { return a.at == b.at }) &&
		slices.EqualFunc(x.nums, y.nums, sameBits)
	if !same || x.op != opFetch {
		return same
	}
	m, n := x.metrics.first(), y.metrics.first()
	if m.count != n.count || !slices.Equal(m.insts, n.insts) {
		return false
	}
	return !rated(x) || sameBits(m.before, n.before) && slices.EqualFunc(m.last[:x.span], n.last[:x.span], sameBits)
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// make adds a node in the state of x.
func (b *planner) make(x *expr, key nodeKey) int32 {
	i := int32(len(b.nodes))
	n := node{x: x}
	if x.nums != nil {
		n.at = int32(len(b.nums))
		b.nums = append(b.nums, x.numbers(0)...)
	} else {
		n.at = int32(len(b.truths))
		b.truths = append(b.truths, x.truth(0)...)
	}
	b.valid = append(b.valid, int32(min(x.valid, math.MaxInt32/2)))
	s := step{op: x.op, keeps: len(x.samples) > 1, node: i, a: key.a, b: key.b, n: int32(x.span), at: n.at, next1: uint8(stride(x.one1)), next2: uint8(stride(x.one2))}
	var more rare
	if key.a >= 0 {
		s.in1, more.arg = b.nodes[key.a].at, b.nodes[key.a].x
	}
	if key.b >= 0 {
		s.in2 = b.nodes[key.b].at
	}
	switch d, over := x.op.domain(); {
	case x.op == opFetch:
		n.fetch = newFetched(x, b.instancesOf(x))
		more.fetch = n.fetch
	case x.op == opMatch, x.op == opNoMatch:
		for _, name := range x.arg1.metrics.first().names[:x.span] {
			more.hits = append(more.hits, x.arg2.pattern.MatchString(name) == (x.op == opMatch))
		}
	case over:
		if x.arg2 != nil {
			more.share = x.arg2.nums[0]
		}
		switch d {
		case overHosts:
			more.of = x.arg1.hosts
		case overInstances:
			more.of = x.arg1.insts
		case overSamples:
			more.of = x.arg1.times
		}
	}
	s.rare = &more
	b.nodes = append(b.nodes, n)
	if x.op != opNone {
		b.steps = append(b.steps, s)
	}
	return i
}

func (b *planner) instancesOf(x *expr) []int32 {
	if m := x.metrics.first(); m.desc.InDom != pcp.InDomNull {
		return b.instances(m.from)
	}
	return nil
}

func newFetched(x *expr, insts []int32) *fetched {
	m := x.metrics.first()
	f := &fetched{m: m, from: m.from, rates: rated(x), before: m.before}
	if f.rates {
		f.last = slices.Clone(m.last[:x.span])
	}
	if m.named > 0 && insts != nil {
		for _, inst := range m.insts[:m.count] {
			k, _ := slices.BinarySearch(insts, inst)
			f.pick = append(f.pick, int32(k))
		}
	}
	return f
}

// holds reports whether the values just fetched are of the instances that the plan relies on.
func (p *plan) holds() bool {
	for i := range p.domain {
		d := &p.domain[i]
		if d.from.set == nil || len(d.from.set.Values) != len(d.insts) {
			return false
		}
		values := d.from.set.Values
		for k, inst := range d.insts {
			if values[k].Inst != inst {
				return false
			}
		}
	}
	return true
}

// store updates the state of the nodes of a rule's tree.
func (p *plan) store(x *expr) {
	if x.op == opNone || x.op == opVar {
		return
	}
	if x.arg1 != nil {
		p.store(x.arg1)
	}
	if x.arg2 != nil && x.op != opMatch && x.op != opNoMatch {
		p.store(x.arg2)
	}
	n := &p.nodes[x.node]
	x.valid = int(p.valid[x.node])
	switch {
	case len(x.samples) > 1 && n.x != x:
		copy(x.samples, n.x.samples)
		copy(x.nums, n.x.nums)
		copy(x.truths, n.x.truths)
	case len(x.samples) > 1:
	case x.nums != nil:
		copy(x.nums, p.nums[n.at:])
	default:
		copy(x.truths, p.truths[n.at:])
	}
	if f := n.fetch; f != nil {
		m := x.metrics.first()
		m.time, m.before = f.from.time, f.before
		copy(m.last, f.last)
	}
}

// storeAll updates the state of the trees of all planned rules.
func (p *plan) storeAll(rules []*named) {
	for i, r := range rules {
		if c := p.conds[i]; c.node >= 0 {
			p.store(r.x.arg1)
			p.conclude(r.x, c)
		}
	}
}

// conclude sets the condition of a rule.
func (p *plan) conclude(x *expr, c cond) {
	x.valid = int(p.valid[c.node])
	if x.valid > 0 {
		x.truths[0] = p.truths[c.at]
	}
}
