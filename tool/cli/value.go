package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
)

// ErrRange says that a number does not fit its type.
const ErrRange = pcp.Error(-int32(syscall.ERANGE))

// ParseValue makes a value of type t from what a user typed, as __pmStringValue
// does. If s is not a number, the error is pcp.ErrType; if it is too large, the
// error is ErrRange.
//
// As with C's strtoul, a minus sign before an unsigned number is taken modulo
// 2^64, and a string without digits is 0.
func ParseValue(s string, t pcp.Type) (pcp.Value, error) {
	var v pcp.Value
	var err error
	switch t {
	case pcp.Type32, pcp.Type64:
		var n int64
		n, err = parseInt(s)
		if t == pcp.Type64 {
			v = pcp.Int64Value(n)
			break
		}
		if err == nil && int64(int32(n)) != n {
			err = ErrRange
		}
		v = pcp.Int32Value(int32(n))
	case pcp.TypeU32, pcp.TypeU64:
		var n uint64
		n, err = parseUint(s)
		if t == pcp.TypeU64 {
			v = pcp.Uint64Value(n)
			break
		}
		if err == nil && uint64(uint32(n)) != n {
			err = ErrRange
		}
		v = pcp.Uint32Value(uint32(n))
	case pcp.TypeFloat, pcp.TypeDouble:
		var f float64
		f, err = parseReal(s, t)
		if t == pcp.TypeDouble {
			v = pcp.DoubleValue(f)
		} else {
			v = pcp.FloatValue(float32(f))
		}
	case pcp.TypeString:
		return pcp.StringValue(s), nil
	default:
		err = pcp.ErrType
	}
	if err != nil {
		return pcp.Value{}, err
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
		return 0, ErrRange
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

// magnitude reads a sign and a number, which is decimal, or hexadecimal after 0x.
func magnitude(s string) (neg bool, mag uint64, err error) {
	t := s[skipSpace(s, 0):]
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
		return neg, 0, ErrRange
	} else if err != nil || strings.ContainsRune(t, '_') {
		return neg, 0, pcp.ErrType
	}
	return neg, mag, nil
}

// parseReal reads a number that is not hexadecimal.
func parseReal(s string, t pcp.Type) (float64, error) {
	if s == "" {
		return 0, nil
	}
	u := s[skipSpace(s, 0):]
	if strings.ContainsAny(u, "xX_pP") {
		return 0, pcp.ErrType
	}
	f, err := strconv.ParseFloat(u, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, ErrRange
	case err != nil:
		return 0, pcp.ErrType
	}
	smallest := 0x1p-1022
	if t == pcp.TypeFloat {
		smallest = 0x1p-126
		if math.Abs(f) > math.MaxFloat32 {
			return 0, ErrRange
		}
	}
	if f != 0 && math.Abs(f) < smallest {
		return 0, ErrRange
	}
	return f, nil
}
