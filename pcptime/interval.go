package pcptime

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A SyntaxError is a mistake in the text of an interval, a date or a window. Its
// message is that of PCP: the text, and on the line below a caret under the mistake.
type SyntaxError struct {
	Spec string // the text
	Off  int    // byte offset of the mistake
	What string
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	b.WriteString(e.Spec)
	b.WriteByte('\n')
	for i := range e.Off {
		if c := e.Spec[i]; c > ' ' && c < 0x7f {
			b.WriteByte(' ')
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteString("^ -- " + e.What + "\n")
	return b.String()
}

// intervalUnits are in the order in which they are tried. A trailing s is
// ignored first, which makes "ms" a minute, as in PCP.
var intervalUnits = [...]struct {
	name  string
	scale float64 // seconds, or if negative the number of units in a second
}{
	{"nanosecond", -1e9},
	{"microsecond", -1e6},
	{"millisecond", -1e3},
	{"second", 1},
	{"minute", 60},
	{"hour", 3600},
	{"day", 86400},
	{"msec", -1e3},
	{"usec", -1e6},
	{"nsec", -1e9},
	{"sec", 1},
	{"min", 60},
	{"hr", 3600},
	{"s", 1},
	{"m", 60},
	{"h", 3600},
	{"d", 86400},
}

// ParseInterval parses a time interval in the grammar of pmParseInterval(3):
// numbers with optional units, "1.5", "10 msec", "4day6hour30min". A mistake is
// a *SyntaxError.
func ParseInterval(spec string) (time.Duration, error) {
	sec, nsec, err := parseSpan(spec)
	if err != nil {
		return 0, err
	}
	if sec >= math.MaxInt64/1_000_000_000 {
		return 0, fmt.Errorf("interval %q: more than %d years", spec, math.MaxInt64/int64(365*24*time.Hour))
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), nil
}

// parseSpan is ParseInterval for spans of any length, in seconds and
// nanoseconds.
func parseSpan(spec string) (int64, int32, error) {
	if spec == "" {
		return 0, 0, &SyntaxError{What: "Null or empty specification"}
	}
	sec := 0.0
	i := 0
	for i < len(spec) {
		start := ctext.SkipSpace(spec, i)
		d, end, ok := parseFloat(spec, start)
		if !ok || d > math.MaxInt64 {
			i = start
			break
		}
		i = ctext.SkipSpace(spec, end)
		j := i
		for j < len(spec) && ctext.IsAlpha(spec[j]) {
			j++
		}
		scale, ok := intervalUnit(spec[i:j])
		if !ok {
			break
		}
		if scale < 0 {
			sec += d / -scale
		} else {
			sec += d * scale
		}
		if j == i && j == len(spec) {
			break
		}
		i = j
	}
	if i < len(spec) {
		return 0, 0, &SyntaxError{Spec: spec, Off: i, What: "unexpected value"}
	}
	if sec >= math.MaxInt64 {
		return math.MaxInt64, 0, nil
	}
	whole, frac := math.Modf(sec)
	// Rounded to the nearest, as if computed exactly.
	nsec := int32(frac*1e9 + 0.5)
	if math.FMA(frac, 1e9, 0.5-float64(nsec)) < 0 {
		nsec--
	}
	if nsec == 1e9 {
		whole, nsec = whole+1, 0
	}
	return int64(whole), nsec, nil
}

func intervalUnit(word string) (scale float64, ok bool) {
	if word == "" {
		return 1, true // seconds
	}
	if n := len(word); n > 1 && (word[n-1] == 's' || word[n-1] == 'S') {
		word = word[:n-1]
	}
	for _, u := range intervalUnits {
		if strings.EqualFold(word, u.name) {
			return u.scale, true
		}
	}
	return 0, false
}

// parseFloat reads a non-negative decimal number at s[i:], which may be -0, and
// returns its end.
func parseFloat(s string, i int) (f float64, end int, ok bool) {
	j := i
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	end = ctext.Decimal(s, j)
	if end == 0 {
		return 0, i, false
	}
	f, err := strconv.ParseFloat(s[i:end], 64)
	if err != nil || f < 0 {
		return 0, i, false
	}
	return math.Abs(f), end, true
}
