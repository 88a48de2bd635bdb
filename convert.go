package pcp

import "math"

// Extract converts v, a value of a metric whose descriptor has the type from,
// to the type to (pmExtractValue(3)). Numbers convert to numbers of any type:
// fractions are cut and precision may be lost. A magnitude that does not fit
// gives ErrTrunc, and a negative number for an unsigned type ErrSign. Strings
// convert to strings only, and aggregates to aggregates only; everything else
// gives ErrConv, and so does a v that was received in a block of another type
// than from. With an error, Extract returns the zero value of type to.
//
// A value in situ always has the type from. The result of a long value may
// share its bytes with v.
func (v Value) Extract(from, to Type) (Value, error) {
	var bits uint64
	err := error(ErrConv)
	if v.inSitu() {
		switch from {
		case Type32, TypeUnknown:
			bits, err = convertInt(int64(int32(v.bits)), to)
		case TypeU32:
			bits, err = convertUint(uint64(uint32(v.bits)), to)
		case TypeFloat: // as old agents send it
			bits, err = convertFloat(math.Float32frombits(uint32(v.bits)), to)
		}
		return Value{Inst: v.Inst, typ: to, bits: bits}, err
	}
	if v.typ != from {
		return Value{Inst: v.Inst, typ: to}, err
	}
	switch from {
	case Type64:
		bits, err = convertInt(int64(v.bits), to)
	case TypeU64:
		bits, err = convertUint(v.bits, to)
	case TypeFloat:
		bits, err = convertFloat(v.Float(), to)
	case TypeDouble:
		bits, err = convertDouble(v.Double(), to)
	case TypeString, TypeAggregate:
		if to == from {
			return v, nil
		}
	}
	return Value{Inst: v.Inst, typ: to, bits: bits}, err
}

// inSitu reports whether v's number is in the value set, where C cannot see
// its type.
func (v Value) inSitu() bool { return v.typ.InSitu() || v.typ == TypeUnknown }

func convertInt(n int64, to Type) (bits uint64, err error) {
	switch to {
	case Type32:
		// A number below the range loses its high bits without an error, as
		// in libpcp/src/units.c.
		if n > math.MaxInt32 {
			return 0, ErrTrunc
		}
		bits = uint64(uint32(n))
	case TypeU32:
		if n > math.MaxUint32 {
			return 0, ErrTrunc
		}
		if n < 0 {
			return 0, ErrSign
		}
		bits = uint64(n)
	case Type64:
		bits = uint64(n)
	case TypeU64:
		if n < 0 {
			return 0, ErrSign
		}
		bits = uint64(n)
	case TypeFloat:
		bits = uint64(math.Float32bits(float32(n)))
	case TypeDouble:
		bits = math.Float64bits(float64(n))
	default:
		return 0, ErrConv
	}
	return bits, nil
}

func convertUint(n uint64, to Type) (bits uint64, err error) {
	switch to {
	case Type32:
		if n > math.MaxInt32 {
			return 0, ErrTrunc
		}
		bits = n
	case TypeU32:
		if n > math.MaxUint32 {
			return 0, ErrTrunc
		}
		bits = n
	case Type64:
		if n > math.MaxInt64 {
			return 0, ErrTrunc
		}
		bits = n
	case TypeU64:
		bits = n
	case TypeFloat:
		bits = uint64(math.Float32bits(float32(n)))
	case TypeDouble:
		bits = math.Float64bits(float64(n))
	default:
		return 0, ErrConv
	}
	return bits, nil
}

// convertFloat converts a number of single precision. Its bounds are the
// integers' rounded to single precision, where many integers are one float.
func convertFloat(f float32, to Type) (bits uint64, err error) {
	switch to {
	case TypeFloat:
		bits = uint64(math.Float32bits(f)) // a NaN keeps its bits
		return bits, nil
	case Type32:
		if f >= 1<<31 || f <= -1<<31 {
			return 0, ErrTrunc
		}
	case TypeU32:
		if f >= 1<<32 {
			return 0, ErrTrunc
		}
	}
	return convertDouble(float64(f), to)
}

func convertDouble(d float64, to Type) (bits uint64, err error) {
	switch to {
	case Type32:
		if d >= math.MaxInt32 || d <= -math.MaxInt32 {
			return 0, ErrTrunc
		}
		if d != d {
			bits = 1 << 31
			break
		}
		bits = uint64(uint32(int32(d)))
	case TypeU32:
		switch {
		case d >= math.MaxUint32:
			return 0, ErrTrunc
		case d < 0:
			return 0, ErrSign
		case d == d:
			bits = uint64(d)
		}
	case Type64:
		switch {
		case d >= 1<<63:
			return 0, ErrTrunc
		case d < -1<<63, d != d:
			// C leaves this cast undefined. Old and current processors do this;
			// libpcp/src/units.c does not treat it as an error.
			bits = 1 << 63
		default:
			bits = uint64(int64(d))
		}
	case TypeU64:
		switch {
		case d >= 1<<64:
			return 0, ErrTrunc
		case d < 0:
			return 0, ErrSign
		case d != d:
			bits = 1 << 63
		default:
			bits = uint64(d)
		}
	case TypeFloat:
		bits = uint64(math.Float32bits(float32(d)))
	case TypeDouble:
		bits = math.Float64bits(d)
	default:
		return 0, ErrConv
	}
	return bits, nil
}
