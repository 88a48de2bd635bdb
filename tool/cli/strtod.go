package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// Strtod reads all of s as C's strtod(3) does, or strtof with 32 bits. It accepts
// hexadecimal numbers too; the empty string is 0. If s is not a number, the error
// is pcp.ErrType. If the number is too large or too small, the error is ErrRange,
// and Strtod returns the infinity or the number nearest to it.
func Strtod(s string, bits int) (float64, error) {
	if s == "" {
		return 0, nil
	}
	t := s[skipSpace(s, 0):]
	if strings.Contains(t, "_") { // Go's syntax, not C's
		return 0, pcp.ErrType
	}
	digits := strings.TrimLeft(t, "+-")
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' && !strings.ContainsAny(digits, "pP") {
		t += "p0"
	}
	f, err := strconv.ParseFloat(t, bits)
	smallest := 0x1p-1022
	if bits == 32 {
		smallest = 0x1p-126
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return f, ErrRange
	case err != nil:
		return 0, pcp.ErrType
	case f != 0 && math.Abs(f) < smallest, f == 0 && strings.ContainsAny(mantissa(t), "123456789abcdfABCDF"):
		return f, ErrRange
	}
	return f, nil
}

// mantissa returns the part of a number before its exponent.
func mantissa(s string) string {
	mark := "eE"
	if strings.ContainsAny(s, "xX") {
		mark = "pP"
	}
	if i := strings.IndexAny(s, mark); i >= 0 {
		s = s[:i]
	}
	return s
}
