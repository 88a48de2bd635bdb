package pmcc

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/pcpjson"
)

// A Value is a value of a metric, or no value.
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
	return pytext.Float(f)
}

// AddTo adds the value to the columns of a row in JSON, null if there is none.
func (v Value) AddTo(c *pcpjson.Columns, name string) {
	switch {
	case !v.ok:
		c.Unknown(name)
	case v.v.Type() == pcp.TypeString:
		c.Text(name, v.String())
	default:
		c.Value(name, v.v)
	}
}

// Number returns the value as a number, and whether it is a number.
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

// Minus returns the difference of two numbers, exact even where a float is not, and whether
// both have a value.
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
	return pytext.Float(f.F)
}

// AddTo adds the number to the columns of a row in JSON, null if there is none.
func (f Figure) AddTo(c *pcpjson.Columns, name string) {
	if !f.OK {
		c.Unknown(name)
		return
	}
	c.Number(name, f.F)
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

// Center returns s with fill on both sides of it, n characters wide, as Python's str.center does.
func Center(s string, n int, fill byte) string {
	pad := n - utf8.RuneCountInString(s)
	if pad <= 0 {
		return s
	}
	left := pad/2 + pad&n&1
	return strings.Repeat(string(fill), left) + s + strings.Repeat(string(fill), pad-left)
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
