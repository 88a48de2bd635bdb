package importer

import (
	"math"

	"github.com/go-pcp/pcp/internal/ctext"
)

// The functions of this file read numbers as C does and check that they end with
// the string. An empty string is 0.

// parseInt reads a number as strtol(3) does: a number that is too large becomes
// the largest.
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
	s = ctext.TrimSpace(s)
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

// parseFloat reads a number as strtod(3) does: a number that is too large is infinite.
func parseFloat(s string) (float64, bool) {
	f, end, _ := ctext.Strtod(s)
	return f, end == len(s)
}

// parseFloat32 reads a number as strtof(3) does.
func parseFloat32(s string) (float32, bool) {
	f, end, _ := ctext.Strtof(s)
	return f, end == len(s)
}
