package derive

import (
	"math"
	"strconv"

	"github.com/go-pcp/pcp"
)

// delta returns a-b in the type of delta() for the type t.
func delta(t pcp.Type, a, b uint64) uint64 {
	switch t {
	case pcp.Type32:
		return uint64(uint32(a) - uint32(b))
	case pcp.TypeU32:
		return uint64(int64(uint32(a)) - int64(uint32(b)))
	case pcp.Type64:
		return a - b
	case pcp.TypeU64:
		return math.Float64bits(float64(a) - float64(b))
	case pcp.TypeFloat:
		return floatBits(float(a) - float(b))
	}
	return math.Float64bits(math.Float64frombits(a) - math.Float64frombits(b))
}

// difference returns a-b of the type t as a number. An unsigned difference that
// has wrapped is taken modulo its size.
func difference(t pcp.Type, a, b uint64) float64 {
	switch t {
	case pcp.Type32:
		return float64(int32(uint32(a) - uint32(b)))
	case pcp.TypeU32:
		return float64(uint32(a) - uint32(b))
	case pcp.Type64:
		return float64(int64(a - b))
	case pcp.TypeU64:
		return float64(a - b)
	case pcp.TypeFloat:
		return float64(float(a) - float(b))
	}
	return math.Float64frombits(a) - math.Float64frombits(b)
}

func isZero(t pcp.Type, bits uint64) bool {
	switch t {
	case pcp.Type32, pcp.TypeU32:
		return uint32(bits) == 0
	case pcp.TypeFloat:
		return float(bits) == 0
	case pcp.TypeDouble:
		return math.Float64frombits(bits) == 0
	}
	return bits == 0
}

// A converter converts the values of an operand to the computation type of an operator.
type converter struct {
	from, to pcp.Type
	mul, div float64
}

func (e *expr) converter(x *expr) converter {
	return converter{x.desc.Type, e.operand, float64(x.mul), float64(x.div)}
}

func (c *converter) convert(bits uint64) uint64 {
	if c.to == pcp.TypeDouble {
		return math.Float64bits(floating[float64](c.from, bits) / c.div * c.mul)
	}
	if c.from == c.to {
		return bits
	}
	switch c.to {
	case pcp.TypeFloat:
		return floatBits(floating[float32](c.from, bits))
	case pcp.Type64, pcp.TypeU64:
		if c.from == pcp.Type32 {
			return uint64(int64(int32(bits)))
		}
	}
	return bits
}

// floating returns a value of type t as a floating point number, converted once.
func floating[T float32 | float64](t pcp.Type, bits uint64) T {
	switch t {
	case pcp.Type32:
		return T(int32(bits))
	case pcp.TypeU32:
		return T(uint32(bits))
	case pcp.Type64:
		return T(int64(bits))
	case pcp.TypeU64:
		return T(bits)
	case pcp.TypeFloat:
		return T(float(bits))
	}
	return T(math.Float64frombits(bits))
}

func float(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

func floatBits(v float32) uint64 { return uint64(math.Float32bits(v)) }

func word(t pcp.Type, n uint64) uint64 {
	if t.InSitu() {
		return uint64(uint32(n))
	}
	return n
}

// numberBits returns a small number in the type t.
func numberBits(t pcp.Type, n int) uint64 {
	switch t {
	case pcp.TypeFloat:
		return floatBits(float32(n))
	case pcp.TypeDouble:
		return math.Float64bits(float64(n))
	}
	return word(t, uint64(n))
}

// constValue returns the number for the digits of a constant in the type t.
func constValue(text string, t pcp.Type) uint64 {
	f, _ := strconv.ParseFloat(text, 64)
	switch t {
	case pcp.TypeFloat:
		return floatBits(float32(f))
	case pcp.TypeDouble:
		return math.Float64bits(f)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		n = uint64(f) // a fraction, but the type of its metric has no fractions
	}
	return word(t, n)
}

func arithmetic(o op, t pcp.Type, a, b uint64) uint64 {
	switch t {
	case pcp.TypeFloat:
		x, y := float(a), float(b)
		switch o {
		case opAdd:
			x += y
		case opSub:
			x -= y
		case opMul:
			x *= y
		}
		return floatBits(x)
	case pcp.TypeDouble:
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		switch o {
		case opAdd:
			x += y
		case opSub:
			x -= y
		case opMul:
			x *= y
		case opDiv:
			if x != 0 { // 0 is 0, for any divisor
				x /= y
			} else {
				x = 0
			}
		}
		return math.Float64bits(x)
	}
	switch o {
	case opAdd:
		a += b
	case opSub:
		a -= b
	case opMul:
		a *= b
	}
	return word(t, a)
}

// less reports whether a is less than b.
func less(t pcp.Type, a, b uint64) bool {
	switch t {
	case pcp.Type32:
		return int32(a) < int32(b)
	case pcp.TypeU32:
		return uint32(a) < uint32(b)
	case pcp.Type64:
		return int64(a) < int64(b)
	case pcp.TypeU64:
		return a < b
	case pcp.TypeFloat:
		return float(a) < float(b)
	}
	return math.Float64frombits(a) < math.Float64frombits(b)
}

func equal(t pcp.Type, a, b uint64) bool {
	switch t {
	case pcp.TypeFloat:
		return float(a) == float(b)
	case pcp.TypeDouble:
		return math.Float64frombits(a) == math.Float64frombits(b)
	}
	return word(t, a) == word(t, b)
}

// truth returns 1 for true, otherwise 0.
func truth(o op, t pcp.Type, a, b uint64) uint64 {
	var ok bool
	switch o {
	case opLess:
		ok = less(t, a, b)
	case opLessEq:
		ok = less(t, a, b) || equal(t, a, b)
	case opEq:
		ok = equal(t, a, b)
	case opGreaterEq:
		ok = less(t, b, a) || equal(t, a, b)
	case opGreater:
		ok = less(t, b, a)
	case opNotEq:
		ok = !equal(t, a, b)
	case opAnd:
		ok = !isZero(t, a) && !isZero(t, b)
	case opOr:
		ok = !isZero(t, a) || !isZero(t, b)
	}
	if ok {
		return 1
	}
	return 0
}
