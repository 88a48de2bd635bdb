package query

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

func sameDim(a, b pcp.Units) bool {
	return a.DimSpace == b.DimSpace && a.DimTime == b.DimTime && a.DimCount == b.DimCount && a.Extra.Unit() == b.Extra.Unit()
}

// largest returns a with the larger of each scale.
func largest(a, b pcp.Units) pcp.Units {
	a.ScaleSpace = max(a.ScaleSpace, b.ScaleSpace)
	a.ScaleTime = max(a.ScaleTime, b.ScaleTime)
	a.ScaleCount = max(a.ScaleCount, b.ScaleCount)
	return a
}

// pairs applies an operator to two operands. Each operand is one series, or the
// series of several hosts; if both have several, series of the same host are
// paired.
func pairs(op Op, left, right []*made) ([]*made, error) {
	if len(left) == 0 || len(right) == 0 {
		return nil, nil
	}
	if len(left) == 1 && len(right) == 1 {
		return left, left[0].binary(op, right[0])
	}
	for _, l := range left {
		var with *made
		for _, r := range right {
			if r.source != l.source {
				continue
			}
			if with != nil {
				return nil, operandErrorf("The operands of %q are several series of one host, %s is one: say which are meant", op.String(), r.name())
			}
			with = r
		}
		if with == nil {
			return nil, operandErrorf("The operands of %q are series of several hosts, and there is none for series %s", op.String(), l.id)
		}
		if err := l.binary(op, with); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// binary replaces the values of l by the results of an operator applied to l and
// r.
func (l *made) binary(op Op, r *made) error {
	if l.desc.InDom != r.desc.InDom {
		return operandErrorf("Operands should have the same instance domain for all of the binary operators.")
	}
	if (op == OpAdd || op == OpSub) && !sameDim(l.desc.Units, r.desc.Units) {
		return operandErrorf("Dimensions of two operands mismatch")
	}
	if len(l.samples) != len(r.samples) {
		return operandErrorf("Number of samples of two metrics are not identical, %s has %d but %s has %d",
			l.id, len(l.samples), r.id, len(r.samples))
	}
	sem, err := semantics(op, l.desc.Sem, r.desc.Sem)
	if err != nil {
		return err
	}
	if !isNumber(l.desc.Type) || !isNumber(r.desc.Type) {
		return operandErrorf("Series values' Type extract fail, unsupported type")
	}
	if l.desc.Units.Extra.Unit() != 0 && r.desc.Units.Extra.Unit() != 0 {
		same := l.desc.Units.Extra == r.desc.Units.Extra
		switch {
		case op == OpMul:
			return operandErrorf("Extra units not allowed with multiplication.")
		case op == OpDiv && !same:
			return operandErrorf("Different extra units not allowed with division.")
		case !same:
			return operandErrorf("Extra units of %s and %s are not the same", l.id, r.id)
		}
	}
	c := combine{op: op, kind: resultType(op, l.desc, r.desc), left: l.desc.Units, right: r.desc.Units}
	c.leftTo, c.rightTo = largest(c.left, c.right), largest(c.right, c.left)
	units, ok := resultUnits(op, c.leftTo, c.rightTo)
	if !ok {
		return operandErrorf("The units of the result of %q cannot be written", op.String())
	}
	for j := range l.samples {
		cells, err := c.sample(l.samples[j], r.samples[j])
		if err != nil {
			return err
		}
		l.samples[j] = cells
	}
	l.desc.Units, l.desc.Sem, l.desc.Type = units, sem, c.kind
	l.names = slices.Concat(l.names, r.names)
	return nil
}

// semantics returns the semantics of the result, or an error if there is no result.
func semantics(op Op, l, r pcp.Sem) (pcp.Sem, error) {
	counters := l == pcp.SemCounter && r == pcp.SemCounter
	switch {
	case counters && op != OpAdd && op != OpSub:
		return 0, operandErrorf("Both operands have the semantics of counter, only addition or subtraction is allowed.")
	case counters:
		return pcp.SemCounter, nil
	case l == pcp.SemCounter && op != OpMul && op != OpDiv:
		return 0, operandErrorf("Left operand is a counter and the right one is not, only multiplication or division is allowed.")
	case r == pcp.SemCounter && op != OpMul:
		return 0, operandErrorf("Left operand is not a counter and the right one is, only multiplication is allowed.")
	case l == pcp.SemDiscrete && r == pcp.SemDiscrete:
		return pcp.SemDiscrete, nil
	}
	return pcp.SemInstant, nil
}

// resultType returns the type used for the calculation. If units must be
// converted it is double.
func resultType(op Op, l, r pcp.Desc) pcp.Type {
	a, b := l.Units, r.Units
	if op == OpDiv || a.ScaleSpace != b.ScaleSpace || a.ScaleTime != b.ScaleTime || a.ScaleCount != b.ScaleCount {
		return pcp.TypeDouble
	}
	for _, t := range [...]pcp.Type{pcp.TypeDouble, pcp.TypeFloat, pcp.TypeU64, pcp.Type64, pcp.TypeU32} {
		if l.Type == t || r.Type == t {
			return t
		}
	}
	return pcp.Type32
}

// resultUnits returns the units of the result and whether it has units.
func resultUnits(op Op, l, r pcp.Units) (pcp.Units, bool) {
	u := l
	sum := func(a, b int8) (int8, bool) {
		n := int(a) + int(b)
		if op == OpDiv {
			n = int(a) - int(b)
		}
		return int8(n), n >= -8 && n <= 7
	}
	if op != OpMul && op != OpDiv {
		return u, true
	}
	var ok [3]bool
	u.DimSpace, ok[0] = sum(l.DimSpace, r.DimSpace)
	u.DimTime, ok[1] = sum(l.DimTime, r.DimTime)
	u.DimCount, ok[2] = sum(l.DimCount, r.DimCount)
	switch {
	case r.Extra.Unit() == 0:
	case l.Extra.Unit() != 0:
		u.Extra = 0 // the two are the same, divided
	case op == OpMul:
		u.Extra = r.Extra
	default:
		u.Extra = r.Extra.Inverse()
	}
	if u.Extra.Unit() == 0 {
		u.Extra = 0
	}
	if u.DimSpace == 0 {
		u.ScaleSpace = 0
	}
	if u.DimTime == 0 {
		u.ScaleTime = 0
	}
	if u.DimCount == 0 {
		u.ScaleCount = 0
	}
	return u, ok[0] && ok[1] && ok[2]
}

// combine calculates with two values.
type combine struct {
	op              Op
	kind            pcp.Type
	left, right     pcp.Units
	leftTo, rightTo pcp.Units
}

// sample calculates with the instances in both samples. If there are none in
// common, because the series are from two hosts, it pairs the instances by
// position.
func (c *combine) sample(l, r []cell) ([]cell, error) {
	out := make([]cell, 0, len(l))
	for k := range l {
		if i := find(r, l[k].inst, k); i >= 0 {
			out = append(out, cell{l[k].at, l[k].inst, c.value(l[k].text, r[i].text)})
		}
	}
	if len(out) > 0 || len(l) == 0 && len(r) == 0 {
		return out, nil
	}
	if len(l) != len(r) {
		return nil, operandErrorf("Number of instances of two metrics are inconsistent.")
	}
	for k := range l {
		out = append(out, cell{l[k].at, l[k].inst, c.value(l[k].text, r[k].text)})
	}
	return out, nil
}

// noValue is the text of integer results that do not exist: an overflow, a division
// by zero, an unsigned number below zero. Floating-point results can be infinities
// and NaN.
const noValue = "no value"

func (c *combine) value(l, r string) string {
	a, ok := c.read(l, c.left, c.leftTo)
	b, ok2 := c.read(r, c.right, c.rightTo)
	if !ok || !ok2 {
		return noValue
	}
	var text []byte
	switch c.kind {
	case pcp.TypeDouble:
		return scientific(calculate(c.op, a.Double(), b.Double()))
	case pcp.TypeFloat:
		return scientific(float64(calculate(c.op, a.Float(), b.Float())))
	case pcp.TypeU64, pcp.TypeU32:
		n, ok := unsigned(c.op, a.Uint64(), b.Uint64())
		if c.kind == pcp.TypeU32 {
			n, ok = unsigned(c.op, uint64(a.Uint32()), uint64(b.Uint32()))
			ok = ok && n <= math.MaxUint32
		}
		if !ok {
			return noValue
		}
		text = strconv.AppendUint(nil, n, 10)
	default:
		n, ok := signed(c.op, a.Int64(), b.Int64())
		if c.kind == pcp.Type32 {
			n, ok = signed(c.op, int64(a.Int32()), int64(b.Int32()))
			ok = ok && n >= math.MinInt32 && n <= math.MaxInt32
		}
		if !ok {
			return noValue
		}
		text = strconv.AppendInt(nil, n, 10)
	}
	return string(text)
}

// read parses a value in the type of the result and converts its units.
func (c *combine) read(text string, from, to pcp.Units) (pcp.Value, bool) {
	if text == noValue {
		return pcp.Value{}, false
	}
	var v pcp.Value
	switch c.kind {
	case pcp.TypeDouble:
		v = pcp.DoubleValue(number(text))
	case pcp.TypeFloat:
		v = pcp.FloatValue(float32(number(text)))
	case pcp.TypeU64, pcp.TypeU32:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			s, err := strconv.ParseInt(text, 10, 64)
			if err != nil || !strings.HasPrefix(text, "-") {
				return v, false
			}
			n = uint64(s)
		}
		if v = pcp.Uint64Value(n); c.kind == pcp.TypeU32 {
			v = pcp.Uint32Value(uint32(n))
		}
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return v, false
		}
		if v = pcp.Int64Value(n); c.kind == pcp.Type32 {
			v = pcp.Int32Value(int32(n))
		}
	}
	if from == to {
		return v, true
	}
	v, err := pcp.ConvScale(v, from, to)
	return v, err == nil
}

func calculate[F float32 | float64](op Op, a, b F) F {
	switch op {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpMul:
		return a * b
	}
	return a / b
}

// unsigned calculates and reports whether the result fits.
func unsigned(op Op, a, b uint64) (uint64, bool) {
	switch op {
	case OpAdd:
		return a + b, a+b >= a
	case OpSub:
		return a - b, a >= b
	}
	return a * b, b == 0 || a <= math.MaxUint64/b
}

func signed(op Op, a, b int64) (int64, bool) {
	switch op {
	case OpAdd:
		n := a + b
		return n, (n > a) == (b > 0)
	case OpSub:
		n := a - b
		return n, (n < a) == (b > 0)
	}
	if a == 0 || b == 0 {
		return 0, true
	}
	n := a * b
	return n, n/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}
