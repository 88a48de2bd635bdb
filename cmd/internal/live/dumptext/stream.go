package dumptext

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A stream is text with fields, as the C program's (QTextStream): text written while a width is set
// is padded on its left.
type stream struct {
	w         io.Writer
	b         []byte
	width     int
	precision int
	fixed     bool // numbers have precision digits behind the point, and are not rounded to as many digits
}

// text writes a field.
func (s *stream) text(t string) {
	for n := s.width - utf8.RuneCountInString(t); n > 0; n-- {
		s.b = append(s.b, ' ')
	}
	s.b = append(s.b, t...)
}

// in writes a field that is width wide, after which there is no width.
func (s *stream) in(width int, t string) {
	s.width = width
	s.text(t)
	s.width = 0
}

// end ends a line. A width that is still set applies to the end, too.
func (s *stream) end() {
	s.text("\n")
	s.w.Write(s.b)
	s.b = s.b[:0]
}

// number formats one.
func (s *stream) number(f float64) string {
	if s.fixed {
		return strconv.FormatFloat(f, 'f', s.precision, 64)
	}
	return general(f, s.precision)
}

// general formats a number with so many digits, as %g does.
func general(f float64, precision int) string {
	precision = max(precision, 1)
	e := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exp, ok := strings.Cut(e, "e")
	n, err := strconv.Atoi(exp)
	if !ok || err != nil { // not a number
		return strings.ToLower(strings.TrimPrefix(e, "+"))
	}
	chop := func(t string) string {
		if strings.Contains(t, ".") {
			t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
		}
		return t
	}
	if n < -4 || n >= precision {
		return chop(mantissa) + "e" + exp
	}
	return chop(strconv.FormatFloat(f, 'f', precision-1-n, 64))
}

// steps are the numbers above which the next larger unit is needed, of numbers without a sign and with one.
var steps = [2][5]float64{
	{99.95, 99950, 99950000, 99950000000, 99950000000000},
	{9.995, 9995, 9995000, 9995000000, 9995000000000},
}

// format is a number in six characters, as the C library has it (QmcMetric::formatNumber).
func format(f float64) string {
	width, step, size := 5, &steps[0], f
	if !(f >= 0) {
		width, step, size = 0, &steps[1], -f
	}
	n := 0
	for n < len(step) && size > step[n] {
		n++
	}
	switch {
	case n == len(step) && f >= 0:
		return "  inf?"
	case n == len(step):
		return " -inf?"
	case n == 0 && !(size > 0.005) && f >= 0:
		return " 0.00 "
	case n == 0 && !(size > 0.005):
		return " 0.00  "
	}
	text := fmt.Sprintf("%*.2f%c", width, f/[...]float64{1, 1e3, 1e6, 1e9, 1e12}[n], " KMGT"[n])
	return text[:min(len(text), 7)]
}
