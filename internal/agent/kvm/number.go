package kvm

import (
	"math"

	"github.com/go-pcp/pcp/internal/ctext"
)

// maxLine is the number of bytes that the C agent reads of a file.
const maxLine = 255

// number reads the number at the start of the first line, as strtoull with base 0 does: 0x1f
// and 017 are 31 and 15, and anything else is 0.
func number(b []byte) uint64 {
	b = b[:min(len(b), maxLine)]
	i := 0
	for i < len(b) && ctext.IsSpace(b[i]) {
		if b[i] == '\n' {
			return 0
		}
		i++
	}
	negative := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	base := uint64(10)
	if i < len(b) && b[i] == '0' {
		base = 8
		if i+2 < len(b) && b[i+1]|0x20 == 'x' && ctext.IsHexDigit(b[i+2]) {
			base = 16
			i += 2
		}
	}
	v, over := uint64(0), false
	for ; i < len(b); i++ {
		d := digit(b[i])
		if d >= base {
			break
		}
		if over = over || v > (math.MaxUint64-d)/base; !over {
			v = v*base + d
		}
	}
	if over {
		return math.MaxUint64
	}
	if negative {
		return -v
	}
	return v
}

// digit returns the value of a hexadecimal digit, or a value that is too large for one.
func digit(c byte) uint64 {
	switch {
	case ctext.IsDigit(c):
		return uint64(c - '0')
	case ctext.IsHexDigit(c):
		return uint64(c|0x20-'a') + 10
	}
	return math.MaxUint64
}
