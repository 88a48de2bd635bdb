package pmcc

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
)

// A Value is one of a metric, or none.
type Value struct {
	v  pcp.Value
	ok bool
}

// OK reports whether there is a value.
func (v Value) OK() bool { return v.ok }

// String is the value as Python's str prints it, None if there is none.
func (v Value) String() string {
	if !v.ok {
		return "None"
	}
	switch v.v.Type() {
	case pcp.Type32, pcp.Type64:
		return strconv.FormatInt(v.v.Int64(), 10)
	case pcp.TypeU32, pcp.TypeU64, pcp.TypeUnknown:
		return strconv.FormatUint(v.v.Uint64(), 10)
	case pcp.TypeString:
		s, _ := v.v.Text()
		return strings.ToValidUTF8(s, "\ufffd")
	}
	f, _ := v.v.Float64()
	return Float(f)
}

// Number returns the number that the value is, and whether it is one.
func (v Value) Number() (float64, bool) {
	if !v.ok {
		return 0, false
	}
	return v.v.Float64()
}

// Int returns the value as an integer: 0 if there is none.
func (v Value) Int() int64 {
	if !v.ok {
		return 0
	}
	return v.v.Int64()
}

// Minus returns the difference of two numbers, without losing what a float cannot hold, and
// whether both are there.
func (v Value) Minus(w Value) (diff Value, ok bool) {
	a, okA := v.Number()
	b, okB := w.Number()
	if !okA || !okB {
		return Value{}, false
	}
	if isFloat(v.v) || isFloat(w.v) {
		return Value{pcp.DoubleValue(a - b), true}, true
	}
	return Value{pcp.Int64Value(v.v.Int64() - w.v.Int64()), true}, true
}

func isFloat(v pcp.Value) bool { return v.Type() == pcp.TypeFloat || v.Type() == pcp.TypeDouble }

// A Figure is a number that was computed, or none.
type Figure struct {
	F  float64
	OK bool
}

// Round returns f with two digits after the point. It returns no Figure if f is infinite or NaN.
func Round(f float64) Figure {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Figure{}
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', 2, 64), 64)
	return Figure{f, true}
}

// String is the number as Python prints it, None if there is none.
func (f Figure) String() string {
	if !f.OK {
		return "None"
	}
	return Float(f.F)
}

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

// Cut returns the first n characters of s, and blanks behind it if it has fewer.
func Cut(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i]
		}
		count++
	}
	return s + strings.Repeat(" ", n-count)
}

// Indents returns the blanks between "Timestamp" and the first column of a report, and those
// behind the times below it.
func Indents(stamp string) (header, value string) {
	n, blanks := utf8.RuneCountInString(stamp), 8
	if n >= 9 {
		blanks = n - 7
	}
	return strings.Repeat(" ", blanks), strings.Repeat(" ", max(blanks+9-n, 0))
}

// Marked returns a line with a question mark for each None.
func Marked(line string) string { return strings.ReplaceAll(line, "None", "?") }
