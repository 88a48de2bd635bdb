package procfs

import (
	"bytes"
	"iter"
	"math"
)

// Line splits b after its first line and returns the line without its end. A
// last line without an end is a line too. At the end of b, ok is false.
func Line(b []byte) (line, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, true
}

// Lines are all lines of b, without their ends.
func Lines(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			line, rest, ok := Line(b)
			if !ok || !yield(line) {
				return
			}
			b = rest
		}
	}
}

// Skip returns b without leading blanks (spaces and tabs).
func Skip(b []byte) []byte {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return b[i:]
}

// Field returns the first run of bytes other than blanks and line ends, and the
// rest after it. The field is empty if the line has no such bytes.
func Field(b []byte) (field, rest []byte) {
	b = Skip(b)
	i := 0
	for i < len(b) && b[i] != ' ' && b[i] != '\t' && b[i] != '\n' {
		i++
	}
	return b[:i], b[i:]
}

// Uint reads a decimal number after any blanks. A number too large is
// math.MaxUint64. Without a digit ok is false and rest is where it is missing.
func Uint(b []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	start := i
	for ; i < len(b); i++ {
		d := uint64(b[i] - '0')
		if d > 9 {
			break
		}
		if v >= math.MaxUint64/10 {
			if v > math.MaxUint64/10 || d > math.MaxUint64%10 {
				v = math.MaxUint64
				for i < len(b) && b[i]-'0' <= 9 {
					i++
				}
				return v, b[i:], true
			}
		}
		v = v*10 + d
	}
	return v, b[i:], i > start
}

// Int is Uint with an optional sign; it saturates at both ends.
func Int(b []byte) (v int64, rest []byte, ok bool) {
	b = Skip(b)
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
		if len(b) == 0 || b[0]-'0' > 9 {
			return 0, b, false
		}
	}
	u, rest, ok := Uint(b)
	switch {
	case neg && u > math.MaxInt64:
		v = math.MinInt64
	case neg:
		v = -int64(u)
	case u > math.MaxInt64:
		v = math.MaxInt64
	default:
		v = int64(u)
	}
	return v, rest, ok
}

// Hex reads a hexadecimal number, with or without 0x, after any blanks.
func Hex(b []byte) (v uint64, rest []byte, ok bool) {
	b = Skip(b)
	if len(b) > 2 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		b = b[2:]
	}
	i := 0
	for ; i < len(b); i++ {
		var d byte
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			d = c - 'A' + 10
		default:
			return v, b[i:], i > 0
		}
		if v > math.MaxUint64>>4 {
			v = math.MaxUint64
			continue
		}
		v = v<<4 | uint64(d)
	}
	return v, nil, i > 0
}

// Float reads a number with an optional fraction, as the kernel prints load
// averages: no exponent, no infinities.
func Float(b []byte) (v float64, rest []byte, ok bool) {
	b = Skip(b)
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	whole, rest, ok := Uint(b)
	if !ok {
		return 0, rest, false
	}
	v = float64(whole)
	if len(rest) > 1 && rest[0] == '.' && rest[1]-'0' <= 9 {
		frac, div := uint64(0), uint64(1)
		rest = rest[1:]
		for len(rest) > 0 && rest[0]-'0' <= 9 {
			if div < 1e18 {
				frac, div = frac*10+uint64(rest[0]-'0'), div*10
			}
			rest = rest[1:]
		}
		// One division of two exact numbers rounds as strtod does.
		if whole < 1<<53/div {
			v = float64(whole*div+frac) / float64(div)
		} else {
			v += float64(frac) / float64(div)
		}
	}
	if neg {
		v = -v
	}
	return v, rest, true
}

// Cut is bytes.Cut for a single byte, without blanks around the parts.
func Cut(b []byte, sep byte) (before, after []byte, ok bool) {
	i := bytes.IndexByte(b, sep)
	if i < 0 {
		return Trim(b), nil, false
	}
	return Trim(b[:i]), Trim(b[i+1:]), true
}

// Trim returns b without blanks and line ends on either side.
func Trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
