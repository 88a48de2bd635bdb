package pytext

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Float is a number as Python's repr prints it: with a point or an exponent, and as few digits as
// tell it from others.
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
	if err != nil { // more than any process has: none is meant
		return math.MinInt64, true
	}
	return n, true
}
