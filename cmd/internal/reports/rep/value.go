package rep

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

func runes(s string) int { return utf8.RuneCountInString(s) }

// appendRight appends text right-aligned in a column, truncated to the width of the column.
func appendRight(b []byte, s string, width int) []byte {
	n := len(s)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			n = runes(s)
			break
		}
	}
	for ; n < width; n++ {
		b = append(b, ' ')
	}
	if n == width || len(s) == n && n <= width {
		return append(b, s...)
	}
	end := 0
	for i := range s {
		if end == width {
			return append(b, s[:i]...)
		}
		end++
	}
	return append(b, s...)
}

// appendLeft appends text left-aligned in a column, without truncation.
func appendLeft(b []byte, s string, width int) []byte {
	b = append(b, s...)
	for n := runes(s); n < width; n++ {
		b = append(b, ' ')
	}
	return b
}

// valid returns a text as Python reads it.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return bytesRepr(s)
}

// bytesRepr formats bytes that are not UTF-8 as Python's str does.
func bytesRepr(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := []byte{'b', quote}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || c == quote:
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c >= 0x7f:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, quote))
}

// appendNumber appends digits, or a mark if there are too many.
func appendNumber(b, digits []byte, width int) []byte {
	if len(digits) > width {
		return appendRight(b, pmrep.Truncated, width)
	}
	for n := len(digits); n < width; n++ {
		b = append(b, ' ')
	}
	return append(b, digits...)
}

// appendFloat appends a number with as many decimals as there is room for.
func appendFloat(b []byte, f float64, width, precision int) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return appendRight(b, notNumber(f, width), width)
	}
	var room [64]byte
	whole := wholeLen(f)
	switch {
	case whole > width:
		return appendRight(b, pmrep.Truncated, width)
	case whole+2 > width:
		return appendNumber(b, strconv.AppendFloat(room[:0], math.Trunc(f)+0, 'f', 0, 64), width)
	}
	for c := precision; ; c-- {
		text := strconv.AppendFloat(room[:0], f, 'f', c, 64)
		if len(text) <= width || c == 0 {
			return appendNumber(b, text, width)
		}
		if more := len(text) - width; more > 1 && c > more {
			c -= more - 1
		}
	}
}

// wholeLen returns the length of the integer part of f in characters, without the sign if its magnitude is
// less than one.
func wholeLen(f float64) int {
	n, t := 1, math.Abs(f)
	if t < 1e15 {
		for u := uint64(t); u >= 10; u /= 10 {
			n++
		}
	} else {
		n = len(strconv.FormatFloat(math.Trunc(t), 'f', 0, 64))
	}
	if f <= -1 {
		n++
	}
	return n
}

// notNumber returns the form of infinity and NaN in a column.
func notNumber(f float64, width int) string {
	switch {
	case math.IsNaN(f) && width >= 3:
		return "NaN"
	case math.IsInf(f, 1) && width >= 3:
		return "inf"
	case math.IsInf(f, -1) && width >= 4:
		return "-inf"
	}
	return pmrep.Truncated
}
