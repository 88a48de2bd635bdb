package pcp

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A UnitsError is the error of an input that ParseUnits refused. It is ErrConv.
type UnitsError struct {
	Input  string
	Reason string // in the words of pmParseUnitsStr(3)
}

// Error quotes the input and gives the reason.
func (e *UnitsError) Error() string { return "units " + strconv.Quote(e.Input) + ": " + e.Reason }

// Unwrap returns ErrConv.
func (e *UnitsError) Unwrap() error { return ErrConv }

// ParseUnits reads units as people write them: "Kbytes / second", "count x
// 10^3", "10 msec^2" (pmParseUnitsStr(3)). Each of space, time and count
// appears at most once on each side of the slash; case does not matter.
// ParseUnits accepts the output of Units.String, with extra units as PCP 7.2
// writes them: "power (mW)", "count / temperature (C)". There is one extra unit
// at most.
//
// Numbers, and scales that do not fit into Units, go into mult: a value in the
// units returned becomes one in the units of s when multiplied by mult.
func ParseUnits(s string) (u Units, mult float64, err error) {
	// C reads up to the first NUL.
	s = ctext.String(s)
	fail := func(reason string) (Units, float64, error) {
		return Units{}, 1, &UnitsError{s, reason}
	}
	over, under, divided := strings.Cut(s, "/")
	a, reason := parseUnitsPart(over, s)
	if reason != "" {
		return fail(reason)
	}
	b := unitsPart{mult: 1}
	if divided {
		if b, reason = parseUnitsPart(under, under); reason != "" {
			return fail(reason)
		}
	}
	for i, name := range dimNames {
		if dim := a.dim[i] - b.dim[i]; dim < -8 || dim > 7 {
			return fail(name + " dimension out of bounds")
		}
	}
	mult = b.mult / a.mult
	var scale [3]int
	for i := range scale {
		switch {
		case a.dim[i] == 0 && b.dim[i] != 0:
			scale[i] = b.scale[i]
		case b.dim[i] == 0 && a.dim[i] != 0:
			scale[i] = a.scale[i]
		default:
			// The two scales combine in the plain unit, or cancel out.
			if i == dimTime && max(a.scale[i], b.scale[i]) > TimeHour {
				return fail("time scale out of bounds")
			}
			if a.dim[i] != b.dim[i] {
				scale[i] = plainScale[i]
			}
		}
	}
	// In the order in which C multiplies, for the same rounding.
	for _, i := range [...]int{dimSpace, dimCount, dimTime} {
		if (a.dim[i] == 0) == (b.dim[i] == 0) {
			mult *= math.Pow(unitOf(i, a.scale[i]), -float64(a.dim[i]))
			mult *= math.Pow(unitOf(i, b.scale[i]), float64(b.dim[i]))
		}
	}
	if a.extra != 0 && b.extra != 0 {
		return fail("extra units cannot appear in both dividend and divisor")
	}
	u = NewUnits(a.dim[0]-b.dim[0], a.dim[1]-b.dim[1], a.dim[2]-b.dim[2], scale[0], scale[1], scale[2])
	u.Extra = a.extra
	if b.extra != 0 {
		u.Extra = b.extra.Inverse()
	}
	return u, mult, nil
}

// Indexes of the three dimensions.
const (
	dimSpace = iota
	dimTime
	dimCount
)

var (
	dimNames   = [...]string{"space", "time", "count"}
	plainScale = [...]int{SpaceByte, TimeSec, CountOne}
	timeUnits  = [...]float64{1e-9, 1e-6, 1e-3, 1, 60, 3600}
)

// unitOf returns the number of bytes, seconds or ones in a scale.
func unitOf(dim, scale int) float64 {
	switch dim {
	case dimSpace:
		return math.Pow(1024, float64(scale))
	case dimTime:
		return timeUnits[scale]
	}
	return math.Pow(10, float64(scale))
}

// A unitsPart is one side of the slash. Its dimensions may be wider than those
// of Units: "/ sec^8" is the dimension -8.
type unitsPart struct {
	dim, scale [3]int
	extra      Extra
	mult       float64
}

// parseUnitsPart reads one side of the slash. A number may reach into rest,
// which starts with s, and is invalid then.
func parseUnitsPart(s, rest string) (p unitsPart, reason string) {
	const unknown = "unrecognized or duplicate base unit"
	p.mult = 1
	for {
		n := len(s)
		s = strings.TrimLeft(s, ctext.Space)
		rest = rest[n-len(s):]
		if s == "" {
			return p, ""
		}
		if c := s[0]; c == '-' || c == '.' || ctext.IsDigit(c) {
			f, n, err := ctext.Strtod(rest)
			if err != nil || n > len(s) {
				return p, "invalid floating point literal"
			}
			p.mult *= f
			s, rest = s[n:], rest[n:]
			continue
		}
		if extra, n := extraUnit(s); n > 0 {
			if p.extra != 0 {
				return p, "multiple extra units not allowed"
			}
			p.extra = extra
			s, rest = s[n:], rest[n:]
			continue
		}
		dim, scale, n := baseUnit(s, &p)
		if n == 0 {
			return p, unknown
		}
		p.scale[dim] = scale
		s, rest = s[n:], rest[n:]
		if s == "" || ctext.IsSpace(s[0]) {
			p.dim[dim] = 1
			continue
		}
		// A '^' follows. If no power follows it, the next round reports that.
		if power, n := exponent(s, -8, 15); n > 0 {
			p.dim[dim] = power
			s, rest = s[n:], rest[n:]
		}
	}
}

// wordLen returns the length of the word that s starts with; a word ends at
// white space, a '^', or the end.
func wordLen(s string) int {
	if i := strings.IndexAny(s, ctext.Space+"^"); i >= 0 {
		return i
	}
	return len(s)
}

// baseUnit reads the name of a unit of a dimension that p does not have yet,
// and returns its length, or 0.
func baseUnit(s string, p *unitsPart) (dim, scale, n int) {
	n = wordLen(s)
	var room [16]byte
	if n > len(room) {
		return 0, 0, 0
	}
	word := room[:0]
	for i := range n {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		word = append(word, c)
	}
	if p.dim[dimTime] == 0 {
		if scale, ok := timeUnit(string(word)); ok {
			return dimTime, scale, n
		}
	}
	if p.dim[dimSpace] == 0 {
		if scale, ok := spaceUnit(string(word)); ok {
			return dimSpace, scale, n
		}
	}
	if p.dim[dimCount] == 0 {
		switch string(word) {
		case "counts":
			return dimCount, 0, n
		case "count":
			scale, more := countScale(s[n:])
			return dimCount, scale, n + more
		}
	}
	return 0, 0, 0
}

// extraUnit reads an extra unit, "power (W)" or "extra-N", and returns its
// length, or 0. As in C, nothing needs to separate it from what follows.
func extraUnit(s string) (e Extra, n int) {
	for unit := 1; unit < len(extraNames); unit++ {
		name := extraNames[unit]
		n := len(name.unit)
		if len(s) < n+2 || !strings.EqualFold(s[:n], name.unit) || s[n:n+2] != " (" {
			continue
		}
		text, _, closed := strings.Cut(s[n+2:], ")")
		if !closed {
			return 0, 0
		}
		n += 2 + len(text) + 1
		for scale := 1; scale < len(name.scales); scale++ {
			if strings.EqualFold(text, name.scales[scale]) {
				return Extra(unit<<3 | scale), n
			}
		}
		if scale, ok := numberedScale(strings.ToLower(text), "scale-"); ok && scale <= 7 {
			return Extra(unit<<3 | scale), n
		}
		return 0, 0
	}
	const prefix = "extra-"
	n = wordLen(s)
	if n <= len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return 0, 0
	}
	// 16 is printed below a slash only. It is its own negative in 5 bits.
	unit, ok := smallInt(s[len(prefix):n])
	if !ok || unit < len(extraNames) || unit > 16 {
		return 0, 0
	}
	return Extra(unit << 3), n
}

// countScale reads the " x 10^N" that may follow a count.
func countScale(s string) (scale, n int) {
	const ten = " x 10"
	if len(s) < len(ten) || !strings.EqualFold(s[:len(ten)], ten) || wordLen(s[len(ten):]) != 0 {
		return 0, 0
	}
	// 10^0 and 10^1 are never printed: with them the '^' belongs to the dimension.
	if scale, n := exponent(s[len(ten):], -8, 7); n > 0 && scale != 0 && scale != 1 {
		return scale, len(ten) + n
	}
	return 1, len(ten)
}

// exponent reads "^N", with N from lowest to highest in its shortest form, and
// returns its length, or 0.
func exponent(s string, lowest, highest int) (power, n int) {
	if s == "" || s[0] != '^' {
		return 0, 0
	}
	n = 1 + wordLen(s[1:])
	power, ok := smallInt(s[1:n])
	if !ok || power < lowest || power > highest {
		return 0, 0
	}
	return power, n
}

// smallInt reads -9..99 without leading zeros, the way it is printed.
func smallInt(s string) (int, bool) {
	if len(s) > 2 {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && strconv.Itoa(n) == s
}

func timeUnit(word string) (scale int, ok bool) {
	switch word {
	case "nanoseconds", "nanosecond", "nanosec", "ns":
		return TimeNsec, true
	case "microseconds", "microsecond", "microsec", "us":
		return TimeUsec, true
	case "milliseconds", "millisecond", "millisec", "ms":
		return TimeMsec, true
	case "seconds", "second", "sec", "s":
		return TimeSec, true
	case "minutes", "minute", "min":
		return TimeMin, true
	case "hours", "hour", "hr", "h":
		return TimeHour, true
	}
	return numberedScale(word, "time-")
}

func spaceUnit(word string) (scale int, ok bool) {
	if word == "byte" || word == "bytes" {
		return SpaceByte, true
	}
	if scale, ok := numberedScale(word, "space-"); ok {
		return scale, ok
	}
	if word == "" {
		return 0, false
	}
	// One letter, the name of a power of 1024, or the old name of a power of
	// 1000, which means 1024 as well.
	scale = 1 + strings.IndexByte("kmgtpezy", word[0])
	if scale == 0 {
		return 0, false
	}
	if len(word) <= 3 {
		return scale, word[1:] == "b" || word[1:] == "ib"
	}
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(word, "s"), "byte")
	if !ok {
		return 0, false
	}
	names := [...][2]string{
		{"kibi", "kilo"},
		{"mebi", "mega"},
		{"gibi", "giga"},
		{"tebi", "tera"},
		{"pebi", "peta"},
		{"exbi", "exa"},
		{"zebi", "zetta"},
		{"yobi", "yotta"},
	}[scale-1]
	return scale, len(prefix) == 1 || prefix == names[0] || prefix == names[1]
}

// numberedScale reads the names that String gives to scales without one.
func numberedScale(word, prefix string) (scale int, ok bool) {
	digits, ok := strings.CutPrefix(word, prefix)
	if !ok {
		return 0, false
	}
	scale, ok = smallInt(digits)
	return scale, ok && scale >= 0 && scale <= 15
}
