package importcmd

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// A parseTime reads a time; loc is for times without a zone.
type parseTime func(s string, loc *time.Location) (time.Time, error)

var errTime = errors.New("not a time")

// timeParser returns the parser for times of a format.
func timeParser(format string) (parseTime, error) {
	units := map[string]int64{"epoch": 1, "epoch_ms": 1e3, "epoch_us": 1e6, "epoch_ns": 1e9}
	if perSecond, ok := units[format]; ok {
		return func(s string, _ *time.Location) (time.Time, error) { return parseEpoch(s, perSecond) }, nil
	}
	if !strings.Contains(format, "%") {
		return nil, fmt.Errorf("not epoch and no strftime format")
	}
	// A time in this format must be parsable.
	probe := strptime{format: format, loc: time.UTC}
	if err := probe.check(); err != nil {
		return nil, err
	}
	return func(s string, loc *time.Location) (time.Time, error) {
		p := strptime{format: format, loc: loc}
		return p.parse(s)
	}, nil
}

// layouts are the forms of dates that need no option: RFC 3339 and its
// relatives.
var layouts = []string{
	"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
	"2006/01/02 15:04:05", "2006/01/02 15:04", "20060102 15:04:05", "20060102150405",
}

var zones = []string{"", "Z07:00", "Z0700", " -0700", " -07:00", " MST"}

// parseAny reads a time in any form that is beyond doubt: a date with the year
// first, or seconds, milliseconds, microseconds or nanoseconds since 1970,
// which of them by their size.
func parseAny(s string, loc *time.Location) (time.Time, error) {
	s = strings.TrimSpace(s)
	if n := len(s); n > 10 && (s[10] == 'T' || s[10] == 't') && s[4] == '-' {
		s = s[:10] + " " + s[11:]
	}
	if len(s) >= 8 && strings.ContainsAny(s[:8], "-/") || strings.Contains(s, ":") || len(s) == 14 {
		for _, layout := range layouts {
			if len(layout) > len(s) {
				continue
			}
			for _, zone := range zones {
				if zone == " MST" && !strings.HasSuffix(s, " UTC") && !strings.HasSuffix(s, " GMT") {
					continue // other abbreviations may mean anything
				}
				if t, err := time.ParseInLocation(layout+zone, s, loc); err == nil {
					return t, nil
				}
			}
		}
		if len(s) != 14 {
			return time.Time{}, errTime
		}
	}
	whole, _, _ := strings.Cut(s, ".")
	perSecond := int64(1)
	switch n := len(strings.TrimLeft(whole, "-+")); {
	case n >= 18:
		perSecond = 1e9
	case n >= 15:
		perSecond = 1e6
	case n >= 12:
		perSecond = 1e3
	}
	return parseEpoch(s, perSecond)
}

// parseEpoch reads a decimal number that counts from 1970.
func parseEpoch(s string, perSecond int64) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 40 || strings.Trim(s, "+-.0123456789") != "" {
		return time.Time{}, errTime
	}
	if sec, err := strconv.ParseInt(s, 10, 64); err == nil && perSecond == 1 {
		return inRange(time.Unix(sec, 0))
	}
	// Not through a float64, which would lose nanoseconds.
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return time.Time{}, errTime
	}
	r.Mul(r, big.NewRat(1e9, perSecond))
	ns, sec := new(big.Int).Div(r.Num(), r.Denom()), new(big.Int)
	sec.DivMod(ns, big.NewInt(1e9), ns)
	if !sec.IsInt64() {
		return time.Time{}, errTime
	}
	return inRange(time.Unix(sec.Int64(), ns.Int64()))
}

// inRange refuses times that no archive of ours can be about.
func inRange(t time.Time) (time.Time, error) {
	if y := t.Year(); y < 1902 || y > 9999 {
		return t, errTime
	}
	return t, nil
}

// A strptime reads a time in a format of strftime(3).
type strptime struct {
	format string
	loc    *time.Location
	s      string // the rest of the text

	year, month, day, yday int
	hour, min, sec, nsec   int
	pm, hour12             bool
	epoch                  bool
	unix                   int64
}

const composite = "F:%Y-%m-%d T:%H:%M:%S D:%m/%d/%y R:%H:%M c:%a_%b_%e_%H:%M:%S_%Y r:%I:%M:%S_%p"

// check reports an error if the format has an unsupported conversion.
func (p *strptime) check() error {
	for i := 0; i < len(p.format); i++ {
		if p.format[i] != '%' {
			continue
		}
		i++
		if i == len(p.format) {
			return fmt.Errorf("a %% at the end")
		}
		if !strings.ContainsRune("YymdeHIMSpbBhajAfszZntFTDRcr%", rune(p.format[i])) {
			return fmt.Errorf("%%%c is not supported", p.format[i])
		}
	}
	return nil
}

func (p *strptime) parse(s string) (time.Time, error) {
	p.s = strings.TrimSpace(s)
	p.year, p.month, p.day = 1970, 1, 1
	if !p.read(p.format) || p.s != "" {
		return time.Time{}, errTime
	}
	if p.epoch {
		return inRange(time.Unix(p.unix, int64(p.nsec)))
	}
	if p.hour12 {
		if p.hour < 1 || p.hour > 12 {
			return time.Time{}, errTime
		}
		if p.hour %= 12; p.pm {
			p.hour += 12
		}
	}
	if p.yday > 0 {
		p.month, p.day = 1, p.yday
	} else if last := time.Date(p.year, time.Month(p.month)+1, 0, 0, 0, 0, 0, time.UTC).Day(); p.month > 12 || p.day > last {
		return time.Time{}, errTime
	}
	return inRange(time.Date(p.year, time.Month(p.month), p.day, p.hour, p.min, p.sec, p.nsec, p.loc))
}

// number reads up to so many digits, of a number between two.
func (p *strptime) number(to *int, digits, least, most int) bool {
	p.s = strings.TrimLeft(p.s, " ")
	n := 0
	for n < len(p.s) && n < digits && p.s[n] >= '0' && p.s[n] <= '9' {
		n++
	}
	v, err := strconv.Atoi(p.s[:n])
	if err != nil || v < least || v > most {
		return false
	}
	*to, p.s = v, p.s[n:]
	return true
}

// name reads the name of one of n things, or its first three letters.
func (p *strptime) name(n int, name func(i int) string) (int, bool) {
	for i := range n {
		for _, word := range []string{name(i), name(i)[:3]} {
			if len(p.s) >= len(word) && strings.EqualFold(p.s[:len(word)], word) {
				p.s = p.s[len(word):]
				return i, true
			}
		}
	}
	return 0, false
}

func (p *strptime) read(format string) bool {
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c == ' ' || c == '\t' {
			p.s = strings.TrimLeft(p.s, " \t")
			continue
		}
		if c != '%' {
			if p.s == "" || p.s[0] != c {
				return false
			}
			p.s = p.s[1:]
			continue
		}
		i++
		if !p.directive(format[i]) {
			return false
		}
	}
	return true
}

func (p *strptime) directive(c byte) bool {
	switch c {
	case 'Y':
		return p.number(&p.year, 4, 0, 9999)
	case 'y':
		ok := p.number(&p.year, 2, 0, 99)
		if p.year += 1900; p.year < 1969 {
			p.year += 100
		}
		return ok
	case 'm':
		return p.number(&p.month, 2, 1, 12)
	case 'd', 'e':
		return p.number(&p.day, 2, 1, 31)
	case 'j':
		return p.number(&p.yday, 3, 1, 366)
	case 'H':
		return p.number(&p.hour, 2, 0, 23)
	case 'I':
		p.hour12 = true
		return p.number(&p.hour, 2, 1, 12)
	case 'M':
		return p.number(&p.min, 2, 0, 59)
	case 'S':
		return p.number(&p.sec, 2, 0, 60)
	case 's':
		n := 0
		p.epoch = true
		ok := p.number(&n, 15, 0, 1<<48)
		p.unix = int64(n)
		return ok
	case 'f':
		return p.fraction()
	case 'p':
		for _, word := range []string{"AM", "PM"} {
			if len(p.s) >= 2 && strings.EqualFold(p.s[:2], word) {
				p.pm, p.s = word == "PM", p.s[2:]
				return true
			}
		}
		return false
	case 'b', 'B', 'h':
		m, ok := p.name(12, func(i int) string { return time.Month(i + 1).String() })
		p.month = m + 1
		return ok
	case 'a', 'A':
		_, ok := p.name(7, func(i int) string { return time.Weekday(i).String() })
		return ok
	case 'z':
		return p.offset()
	case 'Z':
		for _, word := range []string{"UTC", "GMT", "Z"} {
			if strings.HasPrefix(p.s, word) {
				p.s, p.loc = p.s[len(word):], time.UTC
				return true
			}
		}
		return false
	case 'n', 't':
		p.s = strings.TrimLeft(p.s, " \t\r\n")
		return true
	case '%':
		ok := strings.HasPrefix(p.s, "%")
		p.s = strings.TrimPrefix(p.s, "%")
		return ok
	}
	for _, f := range strings.Fields(composite) {
		if f[0] == c {
			return p.read(strings.ReplaceAll(f[2:], "_", " "))
		}
	}
	return false
}

// fraction reads the digits of a fraction of a second.
func (p *strptime) fraction() bool {
	n, scale := 0, 100_000_000
	p.nsec = 0
	for n < len(p.s) && p.s[n] >= '0' && p.s[n] <= '9' {
		p.nsec += int(p.s[n]-'0') * scale
		scale /= 10
		n++
	}
	p.s = p.s[n:]
	return n > 0
}

// offset reads a zone as +0100, +01:00 or Z.
func (p *strptime) offset() bool {
	p.s = strings.TrimLeft(p.s, " ")
	for _, layout := range []string{"Z07:00", "Z0700", "Z07"} {
		for n := min(6, len(p.s)); n > 0; n-- {
			if t, err := time.Parse(layout, p.s[:n]); err == nil {
				_, off := t.Zone()
				p.s, p.loc = p.s[n:], time.FixedZone("", off)
				return true
			}
		}
	}
	return false
}
