package derive

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
)

// An expr is an expression in a binding, with its values of this fetch and,
// below a delta or rate, of the previous one.
type expr struct {
	op          op
	left, right *expr
	text        string
	desc        pcp.Desc

	id       pcp.PMID // of opName
	at       int      // index of its set in the last result
	operand  pcp.Type // computation type of an operator with two operands
	mul, div int      // convert the values to the scale of the other operand
	factor   float64  // of opRate: seconds in the unit of a time
	value    uint64   // of constants and defined()

	re     *regexp.Regexp
	invert bool
	seen   map[int32]*match // of opMatch, by instance
	rounds int
	inst   int32 // of opSelect, InNull until it has been found

	n    int // number of values, or a negative error
	vals []val
	last bool // keep the values of the previous fetch
	wasN int
	was  []val

	stamp, wasStamp pcp.Timestamp
}

// A val is a value of one instance: the bits of a number in the type of the
// descriptor, or otherwise the index of its contents in frame.data.
type val struct {
	inst int32
	bits uint64
}

// A match is the result of a pattern for an instance.
type match struct {
	ok   bool
	used int
}

// matchRounds is the number of fetches after which a pattern drops the instances
// that it saw in less than half of them.
const matchRounds = 100

// A frame is the state of one evaluation.
type frame struct {
	ctx    context.Context
	source Source
	res    *pcp.Result
	data   [][]byte
	seven  bool       // Set.Version7
	debug  *debug.Log // nil unless derived metrics are traced
	log    *debug.Log // and also nil unless their values are
}

// Operands returns the metrics to fetch for ids: these, and after them the operands
// of the derived metrics among them. If none is derived it returns ids. The caller
// must not change the result. It fails only if the source fails.
func (b *Binding) Operands(ctx context.Context, ids []pcp.PMID) ([]pcp.PMID, error) {
	derived := false
	for _, id := range ids {
		if isDerived(id) {
			derived = true
			break
		}
	}
	if !derived {
		return ids, nil
	}
	if b.operands != nil && slices.Equal(ids, b.asked) {
		b.traceOperands(len(ids))
		return b.operands, nil
	}
	if err := b.bindIDs(ctx, ids); err != nil {
		return nil, err
	}
	b.asked = append(b.asked[:0], ids...)
	b.operands = slices.Clone(ids) // the slice that was returned before may be in use
	for _, id := range ids {
		if !isDerived(id) {
			continue
		}
		if d := b.find(id); d != nil && d.state == good {
			b.operands = d.root.appendOperands(b.operands)
		}
	}
	b.traceOperands(len(ids))
	return b.operands, nil
}

// traceOperands traces the metrics fetched in addition to the n requested ones.
func (b *Binding) traceOperands(n int) {
	log := b.set.tracing(traceEval)
	more := b.operands[n:]
	if log == nil || len(more) == 0 {
		return
	}
	line := fmt.Appendf(nil, "derived metrics prefetch added %d metrics:", len(more))
	for _, id := range more {
		line = fmt.Appendf(line, " %s", id)
	}
	log.Write(append(line, '\n'))
}

// appendOperands appends the metrics of e that are not in ids.
func (e *expr) appendOperands(ids []pcp.PMID) []pcp.PMID {
	for ; e != nil; e = e.right {
		if e.op == opName && !slices.Contains(ids, e.id) {
			ids = append(ids, e.id)
		}
		ids = e.left.appendOperands(ids)
	}
	return ids
}

// Evaluate computes the derived metrics among the first n sets of res, the
// result of fetching the metrics that [Binding.Operands] returned for n metrics, and cuts
// res to those sets. A derived metric that could not be bound gets pcp.ErrPMID.
//
// Numbers are in res; strings and other values of variable length are those of
// the operands and are valid as long. A delta or a rate is relative to the last call with the metric among the n;
// there is none in the first call.
func (b *Binding) Evaluate(ctx context.Context, res *pcp.Result, n int) {
	n = min(n, len(res.Sets))
	b.frame = frame{ctx, b.source, res, b.frame.data[:0], b.set.Version7, b.set.tracing(), b.set.tracing(traceEval)}
	computed := false
	for i := range res.Sets[:n] {
		if !isDerived(res.Sets[i].PMID) {
			continue
		}
		if d := b.find(res.Sets[i].PMID); d != nil && d.state == good {
			b.evaluate(d, i)
			computed = true
		}
	}
	if computed {
		for i := range res.Sets[:n] {
			vs := &res.Sets[i]
			if d := b.findBad(vs.PMID); d != nil {
				*vs = pcp.ValueSet{PMID: vs.PMID, Err: pcp.ErrPMID}
			}
		}
	}
	res.Sets = res.Sets[:n]
	clear(b.frame.data)
	b.frame = frame{data: b.frame.data[:0]}
}

func (b *Binding) findBad(id pcp.PMID) *bound {
	if !isDerived(id) {
		return nil
	}
	if d := b.find(id); d != nil && d.state != good {
		return d
	}
	return nil
}

// evaluate computes set i of the result.
func (b *Binding) evaluate(d *bound, i int) {
	res, e := b.frame.res, d.root
	n := min(e.eval(&b.frame), len(e.vals))
	if b.frame.log != nil {
		e.traceValues(b.frame.log, &b.frame, i, n)
	}
	set := pcp.ValueSet{PMID: d.PMID}
	if n < 0 {
		set.Err = pcp.Error(n)
	}
	if n <= 0 {
		res.Sets[i] = set
		return
	}
	t := e.desc.Type
	if set.ValFmt = pcp.ValDPtr; t.InSitu() {
		set.ValFmt = pcp.ValInSitu
	}
	// The values are stored in the memory of the result, through a set at its end.
	last := len(res.Sets)
	res.AddSet(d.PMID)
	set.Values = res.AddValues(n)
	res.Sets = res.Sets[:last]
	for k := range n {
		v := &e.vals[k]
		if t.IsNumeric() {
			set.Values[k] = pcp.RawValue(t, v.bits).WithInst(v.inst)
		} else {
			set.Values[k] = pcp.BytesValue(t, b.frame.data[v.bits]).WithInst(v.inst)
		}
	}
	res.Sets[i] = set
}

// begin makes room for new values, and keeps the old ones if they are needed.
func (e *expr) begin() {
	if e.last {
		e.was, e.vals = e.vals, e.was
		e.wasN = e.n
	}
	e.vals = e.vals[:0]
}

// count sets the number of values, or the error in place of them.
func (e *expr) count(n int) int {
	e.n = n
	return n
}

func (e *expr) add(inst int32, bits uint64) {
	e.vals = append(e.vals, val{inst: inst, bits: bits})
}

// eval computes the values of e and returns their number, or a negative error.
// The operands of a node are computed first; an error there ends the computation,
// and the node keeps its values.
func (e *expr) eval(f *frame) int {
	if e.left != nil {
		if n := e.left.eval(f); n < 0 {
			if e.op != opCount {
				return n
			}
			e.vals = append(e.vals[:0], val{inst: pcp.InNull})
			return e.count(1)
		}
	}
	if e.right != nil {
		if n := e.right.eval(f); n < 0 {
			return n
		}
	}
	switch e.op {
	case opName:
		return e.evalName(f)
	case opInteger, opDouble:
		return e.evalConst(f)
	case opDefined:
		e.begin()
		e.add(pcp.InNull, e.value)
		return e.count(1)
	case opAnon, opColon, opNoValue:
		return 0
	case opDelta, opRate:
		return e.evalDelta(f)
	case opNot, opNeg:
		e.begin()
		for _, v := range e.left.values() {
			e.add(v.inst, e.negated(v.bits))
		}
		return e.count(e.left.n)
	case opQuest:
		return e.evalTernary()
	case opRescale:
		e.begin()
		from := e.left.desc
		for _, v := range e.left.values() {
			if to, err := pcp.ConvScale(pcp.RawValue(from.Type, v.bits), from.Units, e.desc.Units); err == nil {
				e.add(v.inst, to.Bits())
			}
		}
		return e.count(len(e.vals))
	case opInstant:
		e.begin()
		e.vals = append(e.vals, e.left.values()...)
		return e.count(e.left.n)
	case opScalar:
		e.begin()
		if e.left.n > 0 {
			e.vals = append(e.vals, e.left.vals[0])
			e.vals[0].inst = pcp.InNull
		}
		return e.count(min(e.left.n, 1))
	case opCount, opAvg, opSum, opMax, opMin:
		return e.evalAggregate()
	case opSelect:
		return e.evalSelect(f)
	case opMatch:
		return e.evalMatch(f)
	}
	return e.evalBinary(f)
}

func (e *expr) values() []val { return e.vals[:max(min(e.n, len(e.vals)), 0)] }

// evalName reads the values of an operand from the result.
func (e *expr) evalName(f *frame) int {
	sets := f.res.Sets
	if e.at >= len(sets) || sets[e.at].PMID != e.id {
		e.at = slices.IndexFunc(sets, func(vs pcp.ValueSet) bool { return vs.PMID == e.id })
		if e.at < 0 {
			e.at = 0
			if f.debug != nil {
				f.debug.Printf("eval_expr: botch: operand %s not in the extended pmResult\n", e.id)
			}
			return int(pcp.ErrPMID)
		}
	}
	vs := &sets[e.at]
	e.begin()
	if vs.Err < 0 || len(vs.Values) == 0 {
		return e.count(int(min(vs.Err, 0)))
	}
	t := e.desc.Type
	for i := range vs.Values {
		v := &vs.Values[i]
		switch {
		case t.InSitu() || t == pcp.TypeFloat:
			e.add(v.Inst, uint64(uint32(v.Bits())))
		case t < pcp.Type32 || t > pcp.TypeHighResEvent:
			return e.count(int(pcp.ErrType))
		case v.Type() == pcp.TypeUnknown:
			return e.count(int(pcp.ErrLogRec))
		case t.IsNumeric():
			e.add(v.Inst, v.Bits())
		default:
			e.add(v.Inst, uint64(len(f.data)))
			f.data = append(f.data, v.Bytes())
		}
	}
	return e.count(len(vs.Values))
}

// evalConst returns a constant: one value, or one for each instance of its domain.
func (e *expr) evalConst(f *frame) int {
	e.begin()
	if e.desc.InDom == pcp.InDomNull {
		e.add(pcp.InNull, e.value)
		return e.count(1)
	}
	insts, err := f.source.Instances(f.ctx, e.desc.InDom)
	if err != nil {
		return e.count(int(pcp.Code(err)))
	}
	for _, inst := range insts {
		e.add(inst, e.value)
	}
	return e.count(len(insts))
}

// evalDelta computes the change since the previous fetch, in total or per second.
func (e *expr) evalDelta(f *frame) int {
	e.wasStamp, e.stamp = e.stamp, f.res.Time
	e.begin()
	x := e.left
	if n := min(x.n, x.wasN); n <= 0 {
		return e.count(n)
	}
	interval := e.stamp.Sub(e.wasStamp)
	was := x.was[:min(x.wasN, len(x.was))]
	room := min(x.n, x.wasN)
	for i, v := range x.values() {
		// Mostly the instances are the same and in the same order.
		j := i
		if j >= len(was) {
			j = 0
		}
		if was[j].inst != v.inst {
			f.mismatch(e, "last", i, v, j, was[j])
			if j = slices.IndexFunc(was, func(w val) bool { return w.inst == v.inst }); j < 0 {
				continue // it is new
			}
			f.recovered(e, "last", j, v)
		}
		if len(e.vals) == room {
			break
		}
		if e.op == opDelta {
			e.add(v.inst, delta(x.desc.Type, v.bits, was[j].bits))
			continue
		}
		if f.seven && x.desc.Sem == pcp.SemCounter && x.desc.Type != pcp.Type32 && less(x.desc.Type, v.bits, was[j].bits) {
			continue
		}
		d := difference(x.desc.Type, v.bits, was[j].bits) / interval
		e.add(v.inst, math.Float64bits(d*e.factor))
	}
	return e.count(len(e.vals))
}

// negated applies the prefix operator.
func (e *expr) negated(bits uint64) uint64 {
	t := e.left.desc.Type
	if e.op == opNot {
		if isZero(t, bits) {
			return numberBits(e.desc.Type, 1)
		}
		return 0
	}
	switch t {
	case pcp.Type32, pcp.TypeU32:
		return uint64(-uint32(bits))
	case pcp.TypeFloat:
		return floatBits(-float(bits))
	case pcp.TypeDouble:
		return math.Float64bits(-math.Float64frombits(bits))
	}
	return -bits
}

// evalTernary picks values of the arms by those of the guard. Values are
// matched by their place, not by their instance, as in C.
func (e *expr) evalTernary() int {
	e.begin()
	guard, yes, no := e.left, e.right.left, e.right.right
	if guard.n <= 0 {
		return e.count(guard.n)
	}
	for _, arm := range [...]*expr{yes, no} {
		if arm != nil && arm.op != opNoValue && arm.n <= 0 {
			return e.count(arm.n)
		}
	}
	if e.desc.Type > pcp.TypeString {
		return e.count(int(pcp.ErrType))
	}
	insts, other := yes, no
	if yes == nil || no != nil && yes.desc.InDom == pcp.InDomNull && no.desc.InDom != pcp.InDomNull {
		insts, other = no, yes
	}
	n := len(insts.values())
	if other != nil {
		n = max(n, len(other.values()))
	}
	if insts.op == opNoValue && other != nil {
		insts, other = other, insts
	}
	pick := insts
	for i := range n {
		if i < guard.n && yes != nil && no != nil {
			if pick = yes; isZero(guard.desc.Type, guard.vals[i].bits) {
				pick = no
			}
		}
		if pick.op == opNoValue {
			continue
		}
		from := pick.values()
		v := from[0]
		if i < len(from) {
			v = from[i]
		}
		switch {
		case i < len(insts.values()):
			v.inst = insts.vals[i].inst
		case other != nil && i < len(other.values()):
			v.inst = other.vals[i].inst
		}
		e.vals = append(e.vals, v)
	}
	return e.count(len(e.vals))
}

// evalAggregate combines all values into one.
func (e *expr) evalAggregate() int {
	stale := uint64(0)
	if len(e.vals) > 0 {
		stale = e.vals[0].bits
	}
	e.begin()
	vals, t := e.left.values(), e.left.desc.Type
	var bits uint64
	switch e.op {
	case opCount:
		bits = uint64(uint32(e.left.n))
	case opAvg:
		var sum float32
		for _, v := range vals {
			sum += floating[float32](t, v.bits) / float32(len(vals))
		}
		bits = floatBits(sum)
	case opSum:
		for _, v := range vals {
			bits = arithmetic(opAdd, t, bits, v.bits)
		}
	default:
		bits = stale // C's value if there is none
		for i, v := range vals {
			if i == 0 || e.op == opMax && less(t, bits, v.bits) || e.op == opMin && less(t, v.bits, bits) {
				bits = v.bits
			}
		}
	}
	e.add(pcp.InNull, bits)
	return e.count(1)
}

// evalSelect picks the value of one instance.
func (e *expr) evalSelect(f *frame) int {
	e.begin()
	from := e.left.values()
	if len(from) == 0 {
		return e.count(0)
	}
	if e.inst == pcp.InNull {
		inst, err := f.source.LookupInstance(f.ctx, e.desc.InDom, e.text)
		if err != nil {
			if f.log != nil {
				f.log.Printf("eval_expr: expr node %p type=FILTERINST pmLookupInDom_ctx(...,%s,%s) failed: %v\n",
					e, e.desc.InDom, e.text, pcp.Code(err))
			}
			return e.count(0) // it does not exist now
		}
		e.inst = inst
	}
	for _, v := range from {
		if v.inst == e.inst {
			e.vals = append(e.vals, v)
			break
		}
	}
	return e.count(len(e.vals))
}

// evalMatch picks the values of the instances whose name, up to the first
// space, matches the pattern or does not.
func (e *expr) evalMatch(f *frame) int {
	e.begin()
	for _, v := range e.left.values() {
		m := e.seen[v.inst]
		if m == nil {
			m = new(match)
			name, err := f.source.InstanceName(f.ctx, e.left.desc.InDom, v.inst, f.res.Time)
			if err == nil {
				name, _, _ = strings.Cut(name, " ")
				m.ok = e.re.MatchString(name) != e.invert
			} else if f.log != nil {
				f.log.Printf("eval_expr: expr node %p type=FILTERINST pmNameInDom(%s, %d, ...) failed: %v\n",
					e, e.left.desc.InDom, v.inst, pcp.Code(err))
			}
			if e.seen == nil {
				e.seen = make(map[int32]*match)
			}
			e.seen[v.inst] = m
		}
		m.used++
		if m.ok {
			e.vals = append(e.vals, v)
		}
	}
	if e.rounds++; e.rounds >= matchRounds {
		e.rounds = 0
		scanned := len(e.seen)
		for inst, m := range e.seen {
			if m.used < matchRounds/2 {
				delete(e.seen, inst)
			}
			m.used = 0
		}
		if f.log != nil {
			f.log.Printf("regex_inst_gc(%p) %d instances scanned, %d instances culled\n", &e.text, scanned, scanned-len(e.seen))
		}
	}
	return e.count(len(e.vals))
}

// evalBinary applies an operator to the values of the same instance, or to all
// of one operand and the single value of the other.
func (e *expr) evalBinary(f *frame) int {
	e.begin()
	x, y := e.left, e.right
	left, right := x.values(), y.values()
	if len(left) == 0 || len(right) == 0 {
		return e.count(0)
	}
	xs, ys := x.desc.InDom != pcp.InDomNull, y.desc.InDom != pcp.InDomNull
	n := len(right)
	switch {
	case xs && ys:
		n = min(len(left), len(right))
	case xs:
		n = len(left)
	}
	a, b := e.converter(x), e.converter(y)
	for i, j := 0, 0; len(e.vals) < n && i < len(left) && j < len(right); {
		if xs && ys && left[i].inst != right[j].inst {
			inst := left[i].inst
			f.mismatch(e, "right", i, left[i], j, right[j])
			if j = slices.IndexFunc(right, func(v val) bool { return v.inst == inst }); j < 0 {
				i, j = i+1, 0
				continue
			}
			f.recovered(e, "right", j, right[j])
		}
		inst := right[j].inst
		if xs {
			inst = left[i].inst
		}
		l, r := a.convert(left[i].bits), b.convert(right[j].bits)
		if e.op.isTruth() {
			e.add(inst, truth(e.op, e.operand, l, r))
		} else {
			e.add(inst, arithmetic(e.op, e.operand, l, r))
		}
		if xs {
			i++
		}
		if ys {
			if j++; xs && j == len(right) {
				j = 0
			}
		}
		if !xs && !ys {
			break
		}
	}
	return e.count(len(e.vals))
}
