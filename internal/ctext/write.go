package ctext

import (
	"bytes"
	"math"
	"strconv"
)

// AppendFloat appends f as printf(3) does with the conversion verb, one of e, E, f
// and g, and the precision prec. Go's digits and exponents are the same, but its
// names for infinity and NaN are not.
func AppendFloat(b []byte, f float64, verb byte, prec int) []byte {
	name := ""
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		name = "-nan"
	case math.IsNaN(f):
		name = "nan"
	case math.IsInf(f, 1):
		name = "inf"
	case math.IsInf(f, -1):
		name = "-inf"
	default:
		return strconv.AppendFloat(b, f, verb, prec, 64)
	}
	if verb == 'E' {
		return append(b, bytes.ToUpper([]byte(name))...)
	}
	return append(b, name...)
}

// AppendDigits appends the last digits of n, in the number digits, with leading
// zeros.
func AppendDigits(b []byte, n uint32, digits int) []byte {
	start := len(b)
	b = append(b, "0000000000"[:digits]...)
	for i := len(b) - 1; i >= start; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// AlignRight pads the text that starts at b[start] on the left with spaces, so that
// it is at least width bytes wide.
func AlignRight(b []byte, start, width int) []byte {
	n := len(b) - start
	if n >= width {
		return b
	}
	b = AppendSpaces(b, width-n)
	copy(b[start+width-n:], b[start:start+n])
	for i := range width - n {
		b[start+i] = ' '
	}
	return b
}

// AppendSpaces appends n spaces, or none if n is negative.
func AppendSpaces(b []byte, n int) []byte {
	const spaces = "                                "
	for n > len(spaces) {
		b = append(b, spaces...)
		n -= len(spaces)
	}
	if n > 0 {
		b = append(b, spaces[:n]...)
	}
	return b
}
