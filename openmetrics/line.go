package openmetrics

import (
	"bytes"
	"strconv"
	"strings"
)

// Kinds are the types in TYPE comments of metrics.
func Kinds() []string {
	return []string{"counter", "gauge", "histogram", "summary", "untyped", "unknown", "info", "stateset", "gaugehistogram"}
}

// Comment splits a line that begins with #: "# HELP name the rest". Missing parts are
// empty; the line "# EOF" has only a keyword.
func Comment(line []byte) (keyword, name, rest []byte) {
	line = bytes.TrimPrefix(trim(line), []byte("#"))
	keyword, line = Field(line)
	name, line = Field(line)
	return keyword, name, trim(line)
}

// Help returns the text of a HELP comment without escapes: \\, \n and \".
func Help(rest string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`).Replace(rest)
}

// Field returns the first word of b, and the rest.
func Field(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	b = b[i:]
	for i = 0; i < len(b) && !isSpace(b[i]); i++ {
	}
	return b[:i], b[i:]
}

// A Sample is the part of a line after the series.
type Sample struct {
	Value     []byte
	Timestamp []byte // "" if there is none; seconds in OpenMetrics, otherwise milliseconds
	Exemplar  []byte // the text after "# ", not checked
	Extra     []byte // further text, which no format allows
}

// ParseSample splits the part of a line after the series.
func ParseSample(b []byte) (s Sample) {
	s.Value, b = Field(b)
	word, rest := Field(b)
	if len(word) > 0 && word[0] != '#' {
		s.Timestamp, b = word, rest
		word, _ = Field(b)
	}
	if b = trim(b); len(word) > 0 && word[0] == '#' {
		s.Exemplar = trim(b[1:])
	} else {
		s.Extra = b
	}
	return s
}

// ParseFloat returns the number in b: decimal, or infinity or NaN in any usual
// spelling.
func ParseFloat(b []byte) (float64, bool) {
	// Most values are short integers or have a few decimals.
	var whole uint64
	point, i := -1, 0
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		i++
	}
	first := i
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9' && i-first < 16:
			whole = whole*10 + uint64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return parseFloat(b)
		}
	}
	digits := len(b) - first
	scale := 0
	if point >= 0 {
		digits--
		scale = len(b) - 1 - point
	}
	if digits == 0 || whole > 1<<53 {
		return parseFloat(b)
	}
	f := float64(whole) / powers(scale)
	if neg {
		f = -f
	}
	return f, true
}

// powers returns a power of ten that is exact as a float64; n is at most 16.
func powers(n int) float64 {
	switch n {
	case 0:
		return 1
	case 1:
		return 1e1
	case 2:
		return 1e2
	case 3:
		return 1e3
	case 4:
		return 1e4
	case 5:
		return 1e5
	case 6:
		return 1e6
	}
	f := 1e7
	for ; n > 7; n-- {
		f *= 10 // exact up to 10^22
	}
	return f
}

func parseFloat(b []byte) (float64, bool) {
	if len(b) > maxNumber {
		return 0, false
	}
	for _, c := range b {
		if c == 'x' || c == 'X' || c == 'p' || c == 'P' {
			return 0, false // strconv accepts hexadecimal numbers
		}
		if c == '_' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		if e, ok := err.(*strconv.NumError); !ok || e.Err != strconv.ErrRange {
			return 0, false
		}
	}
	return f, true
}

// maxNumber is the maximum number of characters of a number.
const maxNumber = 400
