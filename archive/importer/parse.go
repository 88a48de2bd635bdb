package importer

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// The functions of this file read numbers as C does when it wants the string to
// end with them. An empty string is 0: there the number ends where the string does.

// trim drops the blanks that s starts with.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] >= '\t' && s[0] <= '\r') {
		s = s[1:]
	}
	return s
}

// parseInt reads a number as strtol(3) does: what is too large becomes the
// largest.
func parseInt(s string) (int64, bool) {
	n, negative, large, ok := parseDigits(s)
	switch {
	case negative && (large || n > 1<<63):
		return math.MinInt64, ok
	case negative:
		return -int64(n), ok
	case large || n > math.MaxInt64:
		return math.MaxInt64, ok
	}
	return int64(n), ok
}

// parseUint reads a number as strtoul(3) does: -1 is the largest.
func parseUint(s string) (uint64, bool) {
	n, negative, large, ok := parseDigits(s)
	if negative && !large {
		n = -n
	}
	return n, ok
}

// parseDigits reads blanks, a sign and digits. A number that is too large
// becomes the largest.
func parseDigits(s string) (n uint64, negative, large, ok bool) {
	if s == "" {
		return 0, false, false, true
	}
	s = trim(s)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	for i := range len(s) {
		d := uint64(s[i] - '0')
		if s[i] < '0' || d > 9 {
			return 0, false, false, false
		}
		if large = large || n > (math.MaxUint64-d)/10; !large {
			n = n*10 + d
		}
	}
	if large {
		n = math.MaxUint64
	}
	return n, negative, large, s != ""
}

// parseFloat reads a number as strtod(3) does.
func parseFloat(s string) (float64, bool) {
	f, nan, ok := parseReal(s, 64)
	if nan != nil {
		return math.Float64frombits(0x7ff8<<48 | nan.payload&(1<<51-1) | nan.sign<<63), true
	}
	return f, ok
}

// parseFloat32 reads a number as strtof(3) does.
func parseFloat32(s string) (float32, bool) {
	f, nan, ok := parseReal(s, 32)
	if nan != nil {
		return math.Float32frombits(0x7fc00000 | uint32(nan.payload&(1<<22-1)) | uint32(nan.sign)<<31), true
	}
	return float32(f), ok
}

// A notNumber is what C keeps of nan(...).
type notNumber struct {
	sign, payload uint64
}

func parseReal(s string, bits int) (float64, *notNumber, bool) {
	if s == "" {
		return 0, nil, true
	}
	s = trim(s)
	rest, negative := s, uint64(0)
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		if rest[0] == '-' {
			negative = 1
		}
		rest = rest[1:]
	}
	switch lower := strings.ToLower(rest); {
	case strings.HasPrefix(lower, "nan"):
		payload, ok := nanPayload(lower[3:])
		if !ok {
			return 0, nil, false
		}
		return 0, &notNumber{negative, payload}, true
	case strings.IndexByte(lower, '_') >= 0:
		return 0, nil, false // Go takes it in places
	case strings.HasPrefix(lower, "0x") && !strings.Contains(lower, "p"):
		s += "p0" // Go insists on the exponent
	}
	f, err := strconv.ParseFloat(s, bits)
	return f, nil, err == nil || errors.Is(err, strconv.ErrRange)
}

// nanPayload reads what may follow nan: nothing, or letters, digits and
// underscores in brackets, which count if they are a number of C.
func nanPayload(s string) (uint64, bool) {
	if s == "" {
		return 0, true
	}
	if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
		return 0, false
	}
	s = s[1 : len(s)-1]
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return 0, false
		}
	}
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case strings.HasPrefix(s, "0"):
		base = 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		n = 0
	}
	return n, true
}
