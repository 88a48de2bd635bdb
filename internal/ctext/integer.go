package ctext

import (
	"bytes"
	"math"
)

// HexDigit returns the value of a hexadecimal digit; ok is false if c is not one.
func HexDigit(c byte) (v byte, ok bool) {
	switch {
	case IsDigit(c):
		return c - '0', true
	case IsHexDigit(c):
		return (c | 0x20) - 'a' + 10, true
	}
	return 0, false
}

// Strtoull reads the integer that b starts with, as strtoull(3) does: after white space, with a
// sign or without. Base is at most 16; with base 0 a number after 0x is hexadecimal, and after 0
// octal. A number that is too large becomes the largest. Without a digit ok is false and rest
// is b.
func Strtoull(b []byte, base uint64) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	negative := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	if base == 0 {
		base = 10
		if i < len(b) && b[i] == '0' {
			base = 8
			if i+2 < len(b) && b[i+1]|0x20 == 'x' && IsHexDigit(b[i+2]) {
				base = 16
				i += 2
			}
		}
	}
	start, over := i, false
	for ; i < len(b); i++ {
		digit, isDigit := HexDigit(b[i])
		d := uint64(digit)
		if !isDigit || d >= base {
			break
		}
		if over = over || v > (math.MaxUint64-d)/base; !over {
			v = v*base + d
		}
	}
	switch {
	case i == start:
		return 0, b, false
	case over:
		v = math.MaxUint64
	case negative:
		v = -v
	}
	return v, b[i:], true
}

// CutLine returns the next line as fgets(3) reads it into a buffer with room for size bytes and a
// NUL: up to and with the end of the line, or the part that fits. The text is only that before a NUL.
func CutLine(b []byte, size int) (text, rest []byte) {
	n := min(len(b), size)
	if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
		n = i + 1
	}
	return Bytes(b[:n]), b[n:]
}
