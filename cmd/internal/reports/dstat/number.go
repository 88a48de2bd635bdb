package dstat

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// whole returns the number as an integer, rounded as Python's round does.
func whole(f float64) string { return digits(math.RoundToEven(f)) }

// digits formats a number without a fraction.
func digits(f float64) string {
	if f == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// rounded returns the number rounded to a number of decimals (Python's round with two arguments) and
// then truncated.
func rounded(f float64, decimals int) string {
	if r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64); err == nil {
		f = r
	}
	return digits(math.Trunc(f))
}

// fitWhole formats a number as an integer that fits into width, and returns how often it was
// divided by base.
func fitWhole(f float64, width int, base float64) (string, int) {
	for c := 0; ; c++ {
		text := whole(f)
		if len(text) <= width || text == "0" {
			return text, c
		}
		f /= base
	}
}

// fitFloat is fitWhole with as many decimals as there is room for, except decimals that do not change
// the number.
func fitFloat(f float64, width int, base float64) (string, int) {
	for c := 0; ; c++ {
		if f == 0 {
			return "0", c
		}
		cut := rounded(f, width)
		if len(cut) > width && cut != "0" {
			f /= base
			continue
		}
		for i := width - len(cut) - 1; i > 0; i-- {
			if text := strconv.FormatFloat(f, 'f', i, 64); len(text) <= width && text != cut {
				return text, c
			}
		}
		return whole(f), c
	}
}

// fitTime formats a time in minutes as hours and minutes or, if these are too wide, in a larger unit.
func fitTime(minutes float64, width int) string {
	part := func(f float64) string {
		text := digits(math.Trunc(f))
		return strings.Repeat(" ", max(0, 2-len(text))) + text
	}
	rest := digits(math.Trunc(modulo(minutes, 60)))
	if len(rest) < 2 {
		rest = "0" + rest
	}
	text := part(minutes/60) + "h" + rest
	if len(text) > width {
		text = part(minutes/60) + "h"
	}
	if len(text) > width {
		text = part(minutes/60/24) + "d"
	}
	if len(text) > width {
		text = part(minutes/60/24/7) + "w"
	}
	return text
}

// modulo returns the remainder with the sign of the divisor, as in Python.
func modulo(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// cut returns the first n characters of s; a negative n removes that many at the end.
func cut(s string, n int) string {
	have := utf8.RuneCountInString(s)
	if n < 0 {
		n = max(0, have+n)
	}
	if n >= have {
		return s
	}
	return string([]rune(s)[:n])
}

// center puts blanks on both sides of s, with an odd blank on the same side as Python's center.
func center(s string, width int) string {
	room := width - utf8.RuneCountInString(s)
	if room <= 0 {
		return s
	}
	left := room/2 + room&width&1
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", room-left)
}

// appendLeft appends s and blanks up to a width.
func appendLeft(b []byte, s string, width int) []byte {
	b = append(b, s...)
	return appendBlanks(b, width-utf8.RuneCountInString(s))
}

// appendRight appends blanks and s.
func appendRight(b []byte, s string, width int) []byte {
	b = appendBlanks(b, width-utf8.RuneCountInString(s))
	return append(b, s...)
}

func appendBlanks(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}
