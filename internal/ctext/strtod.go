package ctext

import (
	"math"
	"strconv"
	"strings"
)

// Strtod reads the longest number that s starts with, after white space, as
// strtod(3) does, and returns where it ends. Where s starts with no number, the
// error is strconv.ErrSyntax and the end is 0. It is strconv.ErrRange where C sets
// ERANGE: the number is too large or too small, and f is the infinity or the number
// nearest to it.
func Strtod(s string) (f float64, end int, err error) {
	n := scan(s)
	if n.nan {
		return math.Float64frombits(0x7ff8<<48 | n.payload&(1<<51-1) | n.sign<<63), n.end, nil
	}
	f, err = n.parse(64, 0x1p-1022)
	return f, n.end, err
}

// Strtof is Strtod for float, as strtof(3).
func Strtof(s string) (f float32, end int, err error) {
	n := scan(s)
	if n.nan {
		return math.Float32frombits(0x7fc00000 | uint32(n.payload&(1<<22-1)) | uint32(n.sign)<<31), n.end, nil
	}
	d, err := n.parse(32, 0x1p-126)
	return float32(d), n.end, err
}

// A number is the text of one, as strconv.ParseFloat wants it.
type number struct {
	text    string
	end     int  // in the text that was scanned; 0 if there is no number
	hex     bool // it is hexadecimal
	zero    bool // all digits are 0
	nan     bool
	sign    uint64 // 1 for a negative nan
	payload uint64 // of a nan
}

// parse returns the number with the precision of bits. The smallest number that
// has it in full is normal.
func (n *number) parse(bits int, normal float64) (float64, error) {
	if n.end == 0 {
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(n.text, bits)
	switch {
	case err != nil: // the syntax was checked
		return f, strconv.ErrRange
	case n.zero || math.Abs(f) >= normal:
		return f, nil
	case f == 0 || !n.hex: // a decimal one is hardly ever exact
		return f, strconv.ErrRange
	}
	return f, nil
}

// scan finds the number that s starts with.
func scan(s string) (n number) {
	start := SkipSpace(s, 0)
	i := start
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		if s[i] == '-' {
			n.sign = 1
		}
		i++
	}
	sign := s[start:i]
	fold := func(word string) bool {
		return len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word)
	}
	switch {
	case fold("infinity"):
		return number{text: sign + "inf", end: i + len("infinity")}
	case fold("inf"):
		return number{text: sign + "inf", end: i + len("inf")}
	case fold("nan"):
		i += len("nan")
		length, payload := nanPayload(s[i:])
		return number{nan: true, sign: n.sign, payload: payload, end: i + length}
	}
	if fold("0x") {
		if end, zero := mantissa(s, i+2, IsHexDigit); end > 0 {
			n.hex, n.zero = true, zero
			if n.end = exponent(s, end, 'p'); n.end > end {
				n.text = s[start:n.end]
			} else {
				n.text = s[start:end] + "p0" // Go insists on it
			}
			return n
		}
	}
	if end, zero := mantissa(s, i, IsDigit); end > 0 {
		n.zero, n.end = zero, exponent(s, end, 'e')
		n.text = s[start:n.end]
	}
	return n
}

// Decimal returns where the decimal number ends that starts at s[i], 0 if there is
// none. It has no sign before it.
func Decimal(s string, i int) int {
	end, _ := mantissa(s, i, IsDigit)
	if end == 0 {
		return 0
	}
	return exponent(s, end, 'e')
}

// mantissa returns where digits with a point among them end, 0 if there are no
// digits, and whether all of them are 0.
func mantissa(s string, i int, digit func(byte) bool) (end int, zero bool) {
	point, digits, zero := false, false, true
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && !point:
			point = true
			continue
		case !digit(c):
			if !digits {
				return 0, false
			}
			return i, zero
		case c != '0':
			zero = false
		}
		digits = true
	}
	if !digits {
		return 0, false
	}
	return i, zero
}

// exponent returns where the exponent at s[i] ends: i if there is none.
func exponent(s string, i int, mark byte) int {
	j := i
	if j == len(s) || s[j]|0x20 != mark {
		return i
	}
	if j++; j < len(s) && (s[j] == '-' || s[j] == '+') {
		j++
	}
	if end := Digits(s, j); end > j {
		return end
	}
	return i
}

// nanPayload reads the (chars) that may follow a nan: letters, digits and
// underscores, which count if they are a number of C.
func nanPayload(s string) (length int, payload uint64) {
	if s == "" || s[0] != '(' {
		return 0, 0
	}
	end := 1
	for end < len(s) && (IsAlnum(s[end]) || s[end] == '_') {
		end++
	}
	if end == len(s) || s[end] != ')' {
		return 0, 0
	}
	digits, base := strings.ToLower(s[1:end]), 10
	switch {
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(digits, "0"):
		base = 8
	}
	// A number that is too large becomes the largest, as in strconv.
	payload, err := strconv.ParseUint(digits, base, 64)
	if err != nil && payload != math.MaxUint64 {
		payload = 0
	}
	return end + 1, payload
}
