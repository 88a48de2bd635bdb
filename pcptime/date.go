package pcptime

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A dateSpec is a date with some parts missing (-1), as ctime(3) prints it.
type dateSpec struct {
	year, month, day, hour, min, sec int // month from 0
	nsec                             int
}

const (
	dateMore  = "more information expected"
	dateExtra = "unexpected value"
)

var (
	weekdays = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	months   = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// A dateParser parses the parts of a date in order.
type dateParser struct {
	s string
	i int
}

// word reads a word of at most three letters that is in list; more letters may follow.
func (p *dateParser) word(list []string) (int, bool) {
	p.i = ctext.SkipSpace(p.s, p.i)
	j := p.i
	for j < len(p.s) && j < p.i+3 && ctext.IsAlpha(p.s[j]) {
		j++
	}
	for k, w := range list {
		if j > p.i && strings.EqualFold(p.s[p.i:j], w) {
			p.i = j
			return k, true
		}
	}
	return -1, false
}

func (p *dateParser) char(c byte) bool {
	p.i = ctext.SkipSpace(p.s, p.i)
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

// number reads an integer within limits.
func (p *dateParser) number(low, high int) (int, bool) {
	p.i = ctext.SkipSpace(p.s, p.i)
	j := p.i
	if j < len(p.s) && (p.s[j] == '+' || p.s[j] == '-') {
		j++
	}
	digits := j
	for j < len(p.s) && ctext.IsDigit(p.s[j]) {
		j++
	}
	n, err := strconv.Atoi(p.s[p.i:j])
	if j == digits || err != nil || n < low || n > high {
		return -1, false
	}
	p.i = j
	return n, true
}

// parseDate parses the text after the @ (__pmParseCtime): a day of the week,
// which is ignored, month, day, time with AM or PM, year, many of which may be
// missing.
func parseDate(s string) (dateSpec, error) {
	p := dateParser{s: s}
	d := dateSpec{-1, -1, -1, -1, -1, -1, 0}
	_, weekday := p.word(weekdays[:])
	if n, ok := p.word(months[:]); ok {
		d.month = n
	}
	if n, ok := p.number(0, 31); ok {
		d.day = n
	}
	if n, ok := p.number(0, 23); ok {
		d.hour = n
	}
	if d.day == 0 && d.hour != -1 {
		d.day = -1
	}
	if d.hour == -1 && d.day >= 0 && d.day <= 23 && (d.month == -1 || p.i < len(s) && s[p.i] == ':') {
		d.hour, d.day = d.day, -1
	}
	if p.char(':') {
		if d.hour == -1 {
			d.hour = 0
		}
		d.min = 0
		if n, ok := p.number(0, 59); ok {
			d.min = n
		}
		if p.char(':') {
			p.i = ctext.SkipSpace(s, p.i)
			if f, end, ok := parseFloat(s, p.i); ok && f <= 61 {
				p.i = end
				d.sec = int(f)
				d.nsec = int(1e9 * (f - float64(d.sec)))
			}
		}
	}
	if pm, ok := p.word([]string{"am", "pm"}); ok {
		switch {
		case d.hour > 12 || d.hour == -1:
			p.i -= 2
		case pm == 1 && d.hour < 12:
			d.hour += 12
		case pm == 0 && d.hour == 12:
			d.hour = 0
		}
	}
	if n, ok := p.number(1900, 9999); ok {
		d.year = n
	}
	p.i = ctext.SkipSpace(s, p.i)
	if p.i < len(s) {
		return d, &SyntaxError{Spec: s, Off: p.i, What: dateExtra}
	}
	if weekday && d.month == -1 && d.day == -1 ||
		d.hour != -1 && d.min == -1 && d.day == -1 && d.month == -1 && d.year == -1 {
		return d, &SyntaxError{Spec: s, Off: p.i, What: dateMore}
	}
	// Parts missing behind a given part get their first value.
	given := d.year != -1
	fill := func(part *int, first int) {
		if *part != -1 {
			given = true
		} else if given {
			*part = first
		}
	}
	fill(&d.month, 0)
	fill(&d.day, 1)
	fill(&d.hour, 0)
	fill(&d.min, 0)
	fill(&d.sec, 0)
	return d, nil
}

// resolve returns the first time not before origin, roughly, that fits d.
func (d dateSpec) resolve(origin pcp.Timestamp, loc *time.Location) pcp.Timestamp {
	nsec := d.nsec
	if d.year == -1 {
		o := origin.Time().In(loc)
		d.year = o.Year()
		month := int(o.Month()) - 1
		switch {
		case d.month != -1:
			if d.month < month {
				d.year++
			}
		case d.day != -1:
			if d.month = month; d.day < o.Day() {
				d.month++
			}
		case d.hour != -1:
			if d.month, d.day = month, o.Day(); d.hour < o.Hour() {
				d.day++
			}
		case d.min != -1:
			d.month, d.day = month, o.Day()
			if d.hour = o.Hour(); d.min < o.Minute() {
				d.hour++
			}
		case d.sec != -1:
			d.month, d.day, d.hour = month, o.Day(), o.Hour()
			if d.min = o.Minute(); d.sec < o.Second() {
				d.min++
			}
		default:
			return origin
		}
	}
	t := time.Date(d.year, time.Month(d.month+1), d.day, d.hour, d.min, d.sec, 0, loc)
	return pcp.Timestamp{Sec: t.Unix(), Nsec: int32(nsec)}
}
