package pcp

import (
	"math"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Sizes of the block of a value that is not in situ: a header of type and length,
// which counts itself, and the contents.
const (
	ValHeaderSize = 4         // PM_VAL_HDR_SIZE
	ValLenMax     = 1<<24 - 1 // PM_VAL_VLEN_MAX: the largest length in a header
)

// A Value is one value of one instance of a metric. It holds a number in place
// and points at anything longer, so that thousands of values need one allocation.
//
// The zero Value is the instance 0 with the Type32 number 0.
//
// A value received in situ from a PDU or an archive has no type: its Type is
// TypeUnknown and its bits are the low 32. Use [Value.As] with the type of the
// metric's descriptor to give it one.
type Value struct {
	Inst int32 // InNull for a metric with a single value
	typ  Type
	bits uint64
	data []byte // strings (without the closing NUL), aggregates, events
}

// Int32Value returns a value of Type32; see [Value.WithInst] to name its
// instance. Like all constructors it sets Inst to InNull.
func Int32Value(v int32) Value { return Value{InNull, Type32, uint64(uint32(v)), nil} }

// Uint32Value returns a value of TypeU32.
func Uint32Value(v uint32) Value { return Value{InNull, TypeU32, uint64(v), nil} }

// Int64Value returns a value of Type64.
func Int64Value(v int64) Value { return Value{InNull, Type64, uint64(v), nil} }

// Uint64Value returns a value of TypeU64.
func Uint64Value(v uint64) Value { return Value{InNull, TypeU64, v, nil} }

// FloatValue returns a value of TypeFloat.
func FloatValue(v float32) Value {
	return Value{InNull, TypeFloat, uint64(math.Float32bits(v)), nil}
}

// DoubleValue returns a value of TypeDouble.
func DoubleValue(v float64) Value { return Value{InNull, TypeDouble, math.Float64bits(v), nil} }

// StringValue returns a value of TypeString.
func StringValue(s string) Value { return Value{InNull, TypeString, 0, []byte(s)} }

// BytesValue returns a value of type t whose contents are b, which it does not
// copy: a string without its closing NUL, an aggregate, or packed event records.
func BytesValue(t Type, b []byte) Value { return Value{InNull, t, 0, b} }

// RawValue returns a value of type t with the bits given: the two's complement
// or IEEE 754 representation, in the low 32 bits for the types of that size.
// With TypeUnknown it is an in-situ value whose type the receiver must supply.
func RawValue(t Type, bits uint64) Value { return Value{InNull, t, bits, nil} }

// WithInst returns v as the value of instance inst.
func (v Value) WithInst(inst int32) Value { v.Inst = inst; return v }

// As returns v with the type of a descriptor if it has no type of its own.
func (v Value) As(t Type) Value {
	if v.typ == TypeUnknown {
		v.typ = t
	}
	return v
}

// Type returns the type of v, TypeUnknown for an in-situ value as received.
func (v Value) Type() Type { return v.typ }

// Bits returns the raw number, as RawValue takes it.
func (v Value) Bits() uint64 { return v.bits }

// Bytes returns the contents of a string (without the closing NUL), aggregate
// or event value. They belong to the maker of v; do not change them.
func (v Value) Bytes() []byte { return v.data }

// Int32, Uint32, Int64 and Uint64 return the number of a value of an integer
// type, or of TypeUnknown. They convert between integer types as Go does: a
// number that does not fit loses its high bits. They cut off the fraction of a
// TypeFloat or TypeDouble value; a value outside the range of 64 bits becomes the
// nearest integer in it, and NaN is 0. They return the bits of a value of
// TypeUnknown and 0 for a string, aggregate or event. No accessor panics, since
// values come from peers. Use [Value.Float64] to see whether a value is a number,
// and [Value.Extract] where a wrong type must be an error.
func (v Value) Int32() int32 { return int32(v.integer()) }

// Uint32 is as Int32.
func (v Value) Uint32() uint32 { return uint32(v.integer()) }

// Int64 is as Int32.
func (v Value) Int64() int64 { return int64(v.integer()) }

// Uint64 is as Int32.
func (v Value) Uint64() uint64 { return v.integer() }

func (v Value) integer() uint64 {
	if v.typ == TypeU64 || v.typ == Type64 || v.typ == TypeU32 {
		return v.bits
	}
	return v.otherInteger()
}

func (v Value) otherInteger() uint64 {
	switch v.typ {
	case Type32:
		return uint64(int64(int32(v.bits)))
	case TypeFloat, TypeDouble:
		// Go's conversion of a float that does not fit depends on the machine.
		switch f, _ := v.Float64(); {
		case math.IsNaN(f):
			return 0
		case f >= 1<<64:
			return math.MaxUint64
		case f < -1<<63:
			return 1 << 63 // which is math.MinInt64
		case f < 0:
			return uint64(int64(f))
		default:
			return uint64(f)
		}
	}
	return v.bits
}

// Float returns the number of a TypeFloat value. For another number it returns
// that of Float64, and for a value that is not a number NaN. It takes a value
// of TypeUnknown for a TypeFloat one.
func (v Value) Float() float32 {
	if v.typ == TypeFloat || v.typ == TypeUnknown {
		return math.Float32frombits(uint32(v.bits))
	}
	return float32(v.otherDouble())
}

// Double returns the number of a TypeDouble value. For another number it
// returns that of Float64, and for a value that is not a number NaN.
func (v Value) Double() float64 {
	if v.typ == TypeDouble {
		return math.Float64frombits(v.bits)
	}
	return v.otherDouble()
}

func (v Value) otherDouble() float64 {
	f, ok := v.Float64()
	if !ok {
		return math.NaN()
	}
	return f
}

// Float64 returns the number of a value of any numeric type, and whether v is
// one: a string is not, nor is a value whose type is not known.
func (v Value) Float64() (f float64, ok bool) {
	switch v.typ {
	case Type32:
		return float64(int32(v.bits)), true
	case TypeU32:
		return float64(uint32(v.bits)), true
	case Type64:
		return float64(int64(v.bits)), true
	case TypeU64:
		return float64(v.bits), true
	case TypeFloat:
		return float64(math.Float32frombits(uint32(v.bits))), true
	case TypeDouble:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// Text returns the contents of a string up to its first NUL, and whether v is
// a string.
func (v Value) Text() (s string, ok bool) {
	if v.typ != TypeString {
		return "", false
	}
	return string(ctext.Bytes(v.data)), true
}
