package pcp

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/internal/ctext"
)

// errRange is returned for a number that does not fit its type.
const errRange = Error(-int32(syscall.ERANGE))

// ParseValue makes a value of type t from a user's input, as __pmStringValue
// does. The error is ErrType for a text that is not a number, and syscall.ERANGE
// for a number that does not fit the type.
//
// As with C's strtoul a minus sign before an unsigned number is taken modulo
// 2^64. The empty string is 0.
func ParseValue(s string, t Type) (Value, error) {
	var v Value
	var err error
	switch t {
	case Type32, Type64:
		var n int64
		n, err = parseInt(s)
		if t == Type64 {
			v = Int64Value(n)
			break
		}
		if err == nil && int64(int32(n)) != n {
			err = errRange
		}
		v = Int32Value(int32(n))
	case TypeU32, TypeU64:
		var n uint64
		n, err = parseUint(s)
		if t == TypeU64 {
			v = Uint64Value(n)
			break
		}
		if err == nil && uint64(uint32(n)) != n {
			err = errRange
		}
		v = Uint32Value(uint32(n))
	case TypeFloat, TypeDouble:
		var f float64
		f, err = parseReal(s, t)
		if t == TypeDouble {
			v = DoubleValue(f)
		} else {
			v = FloatValue(float32(f))
		}
	case TypeString:
		return StringValue(s), nil
	default:
		err = ErrType
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

func parseInt(s string) (int64, error) {
	neg, mag, err := magnitude(s)
	switch {
	case err != nil:
		return 0, err
	case neg && mag <= 1<<63:
		return -int64(mag), nil
	case neg || mag > math.MaxInt64:
		return 0, errRange
	}
	return int64(mag), nil
}

func parseUint(s string) (uint64, error) {
	neg, mag, err := magnitude(s)
	if neg {
		mag = -mag
	}
	return mag, err
}

// magnitude reads a sign and a number, decimal or after 0x hexadecimal.
func magnitude(s string) (neg bool, mag uint64, err error) {
	t := ctext.TrimSpace(s)
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	base := 10
	if len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x' {
		base, t = 16, t[2:]
	}
	if s == "" {
		return false, 0, nil
	}
	mag, err = strconv.ParseUint(t, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return neg, 0, errRange
	} else if err != nil || strings.ContainsRune(t, '_') {
		return neg, 0, ErrType
	}
	return neg, mag, nil
}

// parseReal reads a number that is not hexadecimal.
func parseReal(s string, t Type) (float64, error) {
	if strings.ContainsAny(s, "xX") {
		return 0, ErrType
	}
	f, end, err := ctext.Strtod(s)
	switch {
	case end < len(s):
		return 0, ErrType
	case err == strconv.ErrRange: // and not the syntax of the empty string
		return 0, errRange
	}
	const smallest = 0x1p-126 // of the normal ones
	if a := math.Abs(f); t == TypeFloat && (a > math.MaxFloat32 || f != 0 && a < smallest) {
		return 0, errRange
	}
	return f, nil
}
