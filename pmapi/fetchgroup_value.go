package pmapi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
)

// numberText prints a number as the C library's fetch groups do, with all
// digits that the type has.
func numberText(v pcp.Value) string {
	switch v.Type() {
	case pcp.Type32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case pcp.TypeU32:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case pcp.Type64:
		return strconv.FormatInt(v.Int64(), 10)
	case pcp.TypeU64:
		return strconv.FormatUint(v.Uint64(), 10)
	case pcp.TypeFloat:
		return fmt.Sprintf("%.9e", v.Float())
	}
	return fmt.Sprintf("%.17e", v.Double())
}

// parseValue reads a number from a string value: decimal, or after 0x
// hexadecimal for integers. What is no number is pcp.ErrType, what does not
// fit -ERANGE, a minus for an unsigned type pcp.ErrSign, where the C library
// would wrap around.
func parseValue(s string, t pcp.Type) (pcp.Value, error) {
	s = strings.TrimLeft(s, spaces)
	if t == pcp.TypeFloat || t == pcp.TypeDouble {
		if strings.ContainsAny(s, "_xX") {
			return pcp.Value{}, pcp.ErrType
		}
		d, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return pcp.Value{}, numError(err)
		}
		return pcp.DoubleValue(d).Extract(pcp.TypeDouble, t)
	}
	digits, base := s, 10
	if rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimPrefix(s, "-")), "0x"); ok {
		digits, base = rest, 16
		if strings.HasPrefix(s, "-") {
			digits = "-" + rest
		}
	}
	bits := 64
	if t == pcp.Type32 || t == pcp.TypeU32 {
		bits = 32
	}
	if t == pcp.Type32 || t == pcp.Type64 {
		n, err := strconv.ParseInt(digits, base, bits)
		if err != nil {
			return pcp.Value{}, numError(err)
		}
		if bits == 32 {
			return pcp.Int32Value(int32(n)), nil
		}
		return pcp.Int64Value(n), nil
	}
	if strings.HasPrefix(digits, "-") {
		return pcp.Value{}, pcp.ErrSign
	}
	n, err := strconv.ParseUint(digits, base, bits)
	if err != nil {
		return pcp.Value{}, numError(err)
	}
	if bits == 32 {
		return pcp.Uint32Value(uint32(n)), nil
	}
	return pcp.Uint64Value(n), nil
}

func numError(err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return -pcp.Error(syscall.ERANGE)
	}
	return pcp.ErrType
}
