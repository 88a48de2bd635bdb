package pytext

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Float returns a number as Python's repr prints it: with a point or an exponent, and the fewest
// digits that identify it.
func Float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	if a := math.Abs(f); f != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Repr is a string as Python's repr prints it.
func Repr(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	var b strings.Builder
	b.WriteString(quote)
	for _, r := range s {
		switch {
		case r == '\\' || string(r) == quote:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\x` + strconv.FormatInt(0x100+int64(r), 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + quote
}

// Int reads a whole number as Python's int does: with blanks around it, a sign, and underscores
// between digits.
func Int(s string) (int64, bool) {
	s = strings.TrimFunc(s, unicode.IsSpace)
	digits := strings.TrimPrefix(s, "-")
	if digits == s {
		digits = strings.TrimPrefix(s, "+")
	}
	last := '_'
	for _, r := range digits {
		if (r < '0' || r > '9') && (r != '_' || last == '_') {
			return 0, false
		}
		last = r
	}
	if last == '_' {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil { // more than the number of any process: it matches none
		return math.MinInt64, true
	}
	return n, true
}

// CutOff is Python's message about a character whose last bytes are missing.
const CutOff = "unexpected end of data"

// BadUTF8 returns how many bytes at the beginning of s, which is not valid UTF-8 there, Python reports as
// undecodable, and the reason.
func BadUTF8(s string) (n int, why string) {
	first := s[0]
	size, low, high := 0, byte(0x80), byte(0xbf) // of the second byte
	switch {
	case first >= 0xc2 && first <= 0xdf:
		size = 2
	case first >= 0xe0 && first <= 0xef:
		size = 3
	case first >= 0xf0 && first <= 0xf4:
		size = 4
	default:
		return 1, "invalid start byte"
	}
	switch first {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	for n = 1; n < size; n++ {
		switch {
		case n == len(s):
			return n, CutOff
		case s[n] < low || s[n] > high:
			return n, "invalid continuation byte"
		}
		low, high = 0x80, 0xbf
	}
	return n, ""
}
