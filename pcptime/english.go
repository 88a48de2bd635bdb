package pcptime

import (
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Dates in English, for arguments of time windows that are neither an interval
// nor a date as ctime(3) prints it: "yesterday", "2 hours ago", "next monday",
// "2026-01-31 14:05", "17-JUN-1992 3pm EST" (__pmGetDate, libpcp/src/getdate.y).

// A dateToken is a token of an English date.
type dateToken struct {
	kind  dateKind
	value int64
}

type dateKind int

const (
	dateEnd      dateKind = iota
	dateChar              // value is the character
	dateNumber            // without a sign
	dateSigned            // with one
	dateMeridian          // value is 0 for am, 12 for pm
	dateMonth
	dateDay
	dateZone    // value is minutes west of Greenwich
	dateDayZone // the same, in summer
	dateDST
	dateMonths  // units of months
	dateMinutes // units of minutes
	dateSeconds
	dateAligned // units of minutes that begin with the day
	dateAgo
	dateUnknown
)

const noMeridian = -1

// minutes of a day
const dayMinutes = 24 * 60

// dateWord returns the token of a word.
func dateWord(word string) dateToken {
	w := strings.ToLower(word)
	switch w {
	case "am", "a.m.":
		return dateToken{dateMeridian, 0}
	case "pm", "p.m.":
		return dateToken{dateMeridian, 12}
	}
	if len(w) == 4 && w[3] == '.' {
		w = w[:3] // an abbreviation
	}
	if t, ok := dateMonthOrDay(w); ok {
		return t
	}
	if t, ok := dateZoneWord(w); ok {
		return t
	}
	if w == "dst" {
		return dateToken{kind: dateDST}
	}
	if t, ok := dateUnit(w); ok {
		return t
	}
	if t, ok := dateUnit(strings.TrimSuffix(w, "s")); ok {
		return t
	}
	switch w {
	case "tomorrow":
		return dateToken{dateAligned, dayMinutes}
	case "yesterday":
		return dateToken{dateAligned, -dayMinutes}
	case "today":
		return dateToken{dateAligned, 0}
	case "now", "this":
		return dateToken{dateMinutes, 0}
	case "last":
		return dateToken{dateNumber, -1}
	case "next":
		return dateToken{dateNumber, 2}
	case "ago":
		return dateToken{kind: dateAgo}
	}
	for i, o := range [...]string{"first", "", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"} {
		if w == o {
			return dateToken{dateNumber, int64(i + 1)}
		}
	}
	if len(w) == 1 {
		// Military zones: a is one hour east, n one hour west; there is no j.
		switch c := w[0]; {
		case c >= 'a' && c <= 'i':
			return dateToken{dateZone, int64(c-'a'+1) * 60}
		case c >= 'k' && c <= 'm':
			return dateToken{dateZone, int64(c-'k'+10) * 60}
		case c >= 'n' && c <= 'y':
			return dateToken{dateZone, -int64(c-'n'+1) * 60}
		case c == 'z':
			return dateToken{dateZone, 0}
		}
	}
	if plain := strings.ReplaceAll(w, ".", ""); plain != w {
		if t, ok := dateZoneWord(plain); ok {
			return t
		}
	}
	return dateToken{kind: dateUnknown}
}

func dateMonthOrDay(w string) (dateToken, bool) {
	names := [...]string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
		"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
	}
	switch w {
	case "sept":
		w = "september"
	case "tues":
		w = "tuesday"
	case "wednes":
		w = "wednesday"
	case "thur", "thurs":
		w = "thursday"
	}
	for i, n := range names {
		if w == n || len(w) == 3 && w == n[:3] {
			if i < 12 {
				return dateToken{dateMonth, int64(i + 1)}, true
			}
			return dateToken{dateDay, int64(i - 12)}, true
		}
	}
	return dateToken{}, false
}

func dateUnit(w string) (dateToken, bool) {
	switch w {
	case "year":
		return dateToken{dateMonths, 12}, true
	case "month":
		return dateToken{dateMonths, 1}, true
	case "fortnight":
		return dateToken{dateMinutes, 14 * dayMinutes}, true
	case "week":
		return dateToken{dateMinutes, 7 * dayMinutes}, true
	case "day":
		return dateToken{dateMinutes, dayMinutes}, true
	case "hour":
		return dateToken{dateMinutes, 60}, true
	case "minute", "min":
		return dateToken{dateMinutes, 1}, true
	case "second", "sec":
		return dateToken{dateSeconds, 1}, true
	}
	return dateToken{}, false
}

// dateZoneWord knows the zones of the C library, in hours west of Greenwich, with
// its idea of summer time.
func dateZoneWord(w string) (dateToken, bool) {
	for _, z := range [...]struct {
		hours  int64
		winter string
		summer string
	}{
		{0, "gmt ut utc wet", "bst"},
		{1, "wat", ""},
		{2, "at", ""},
		{4, "ast", "adt"},
		{5, "est", "edt"},
		{6, "cst", "cdt"},
		{7, "mst", "mdt"},
		{8, "pst", "pdt"},
		{9, "yst", "ydt"},
		{10, "hst cat ahst", "hdt"},
		{11, "nt", ""},
		{12, "idlw", ""},
		{-1, "cet met mewt swt fwt", "mest sst fst"},
		{-2, "eet", ""},
		{-3, "bt", ""},
		{-4, "zp4", ""},
		{-5, "zp5", ""},
		{-6, "zp6", ""},
		{-7, "wast", "wadt"},
		{-8, "cct", ""},
		{-9, "jst", ""},
		{-10, "east gst", "eadt"},
		{-12, "nzt nzst idle", "nzdt"},
	} {
		for _, name := range strings.Fields(z.winter) {
			if w == name {
				return dateToken{dateZone, z.hours * 60}, true
			}
		}
		for _, name := range strings.Fields(z.summer) {
			if w == name {
				return dateToken{dateDayZone, z.hours * 60}, true
			}
		}
	}
	return dateToken{}, false
}

// dateTokens splits a date. Text in parentheses is a comment.
func dateTokens(s string) []dateToken {
	const longest = 1000 // tokens; more than any date needs
	var list []dateToken
	for i := 0; len(list) < longest; {
		i = ctext.SkipSpace(s, i)
		if i >= len(s) {
			break
		}
		c := s[i]
		switch {
		case ctext.IsDigit(c), c == '-', c == '+':
			kind, sign := dateNumber, int64(1)
			if !ctext.IsDigit(c) {
				if i++; i >= len(s) || !ctext.IsDigit(s[i]) {
					continue // a sign alone is nothing
				}
				kind = dateSigned
				if c == '-' {
					sign = -1
				}
			}
			n := int64(0)
			for ; i < len(s) && ctext.IsDigit(s[i]); i++ {
				if n < 1<<40 {
					n = 10*n + int64(s[i]-'0')
				}
			}
			list = append(list, dateToken{kind, sign * n})
		case ctext.IsAlpha(c):
			j := i
			for j < len(s) && (ctext.IsAlpha(s[j]) || s[j] == '.') {
				j++
			}
			list = append(list, dateWord(s[i:j]))
			i = j
		case c == '(':
			depth := 0
			for ; i < len(s); i++ {
				if s[i] == '(' {
					depth++
				} else if s[i] == ')' {
					if depth--; depth == 0 {
						i++
						break
					}
				}
			}
		default:
			list = append(list, dateToken{dateChar, int64(c)})
			i++
		}
	}
	return list
}

// An englishDate collects the parts of a date.
type englishDate struct {
	t []dateToken

	times, zones, dates, days, rels, aligned int

	year, month, day     int64
	hour, minute, second int64
	meridian             int64 // noMeridian, 0 or 12
	zone                 int64 // minutes west
	dst                  int   // 1 on, -1 off, 0 as in the zone
	dayOrdinal, weekday  int64
	relMonths, relSecs   int64
}

// is reports whether token i is of a kind.
func (d *englishDate) is(i int, kind dateKind) bool { return i < len(d.t) && d.t[i].kind == kind }

func (d *englishDate) isChar(i int, c byte) bool {
	return d.is(i, dateChar) && d.t[i].value == int64(c)
}

// item parses one part of the date.
func (d *englishDate) item() bool {
	n, v := 1, d.t[0].value
	switch d.t[0].kind {
	case dateNumber:
		return d.number(v)
	case dateSigned:
		if len(d.t) < 2 {
			return false
		}
		d.t = d.t[1:]
		return d.relative(v)
	case dateMonths, dateMinutes, dateSeconds, dateAligned:
		return d.relative(1)
	case dateMonth:
		if !d.is(1, dateNumber) {
			return false
		}
		d.month, d.day, n = v, d.t[1].value, 2
		if d.isChar(2, ',') {
			if !d.is(3, dateNumber) {
				return false
			}
			d.year, n = d.t[3].value, 4
		}
		d.dates++
	case dateDay:
		d.dayOrdinal, d.weekday = 0, v
		if d.isChar(1, ',') {
			n = 2
		}
		d.days++
	case dateZone, dateDayZone:
		d.zone, d.dst = v, -1
		if d.t[0].kind == dateDayZone {
			d.dst = 1
		} else if d.is(1, dateDST) {
			d.dst, n = 1, 2
		}
		d.zones++
	default:
		return false
	}
	d.t = d.t[n:]
	return true
}

// number parses a part that begins with a number without a sign.
func (d *englishDate) number(v int64) bool {
	n := 2
	switch {
	case d.is(1, dateMeridian):
		d.hour, d.minute, d.second, d.meridian = v, 0, 0, d.t[1].value
		d.times++
	case d.isChar(1, ':'):
		return d.clock(v)
	case d.isChar(1, '/'):
		if !d.is(2, dateNumber) {
			return false
		}
		d.month, d.day, n = v, d.t[2].value, 3
		if d.isChar(3, '/') {
			if !d.is(4, dateNumber) {
				return false
			}
			n = 5
			if v >= 100 {
				d.year, d.month, d.day = v, d.t[2].value, d.t[4].value
			} else {
				d.year = d.t[4].value
			}
		}
		d.dates++
	case d.is(1, dateSigned):
		if !d.is(2, dateSigned) {
			return false
		}
		d.year, d.month, d.day, n = v, -d.t[1].value, -d.t[2].value, 3
		d.dates++
	case d.is(1, dateMonth):
		d.day, d.month = v, d.t[1].value
		if d.is(2, dateSigned) {
			d.year, n = -d.t[2].value, 3
		} else if d.is(2, dateNumber) {
			d.year, n = d.t[2].value, 3
		}
		d.dates++
	case d.is(1, dateDay):
		d.dayOrdinal, d.weekday = v, d.t[1].value
		d.days++
	case d.is(1, dateMonths), d.is(1, dateMinutes), d.is(1, dateSeconds), d.is(1, dateAligned):
		d.t = d.t[1:]
		return d.relative(v)
	default:
		n = 1
		switch {
		case d.times > 0 && d.dates > 0 && d.rels == 0:
			d.year = v
		case v > 10000:
			d.dates++
			d.year, d.month, d.day = v/10000, v/100%100, v%100
		default:
			d.times++
			d.hour, d.minute, d.second, d.meridian = v, 0, 0, noMeridian
			if v >= 100 {
				d.hour, d.minute = v/100, v%100
			}
		}
	}
	d.t = d.t[n:]
	return true
}

// clock parses 14:05 or 14:05:06, with an optional AM or PM, or an offset from
// Greenwich, behind it.
func (d *englishDate) clock(hour int64) bool {
	if !d.is(2, dateNumber) {
		return false
	}
	d.hour, d.minute, d.second, d.meridian = hour, d.t[2].value, 0, noMeridian
	n := 3
	if d.isChar(3, ':') {
		if !d.is(4, dateNumber) {
			return false
		}
		d.second, n = d.t[4].value, 5
	}
	if d.is(n, dateMeridian) {
		d.meridian = d.t[n].value
		n++
	} else if d.is(n, dateSigned) {
		v := d.t[n].value
		d.dst, d.zone = -1, -(v%100 + v/100*60)
		n++
	}
	d.times++
	d.t = d.t[n:]
	return true
}

// relative parses a unit, count times, and "ago", which reverses everything
// before it.
func (d *englishDate) relative(count int64) bool {
	v := d.t[0].value
	switch d.t[0].kind {
	case dateMonths:
		d.relMonths += count * v
	case dateMinutes:
		d.relSecs += count * v * 60
	case dateSeconds:
		d.relSecs += count
	case dateAligned:
		d.relSecs += count * v * 60
		d.aligned++
	default:
		return false
	}
	n := 1
	if d.is(1, dateAgo) {
		d.relMonths, d.relSecs, n = -d.relMonths, -d.relSecs, 2
	}
	d.rels++
	d.t = d.t[n:]
	return true
}

// parseEnglish parses a date in English. Times in the past are relative to end,
// times in the future to start, and days of the week and similar words to now.
func parseEnglish(s string, start, end pcp.Timestamp, loc *time.Location) (pcp.Timestamp, bool) {
	now := pcp.TimestampOf(time.Now())
	lower := strings.ToLower(s[ctext.SkipSpace(s, 0):])
	for _, unit := range [...]string{" year", " month", " fortnight", " week", " day", " hour", " min", " sec"} {
		if !strings.Contains(lower, unit) {
			continue
		}
		now = start
		past := strings.Contains(lower, "last") || strings.Contains(lower, "ago") || lower[0] == '-'
		if past && end.Sec < Never.Sec {
			now = end
		}
		break
	}
	return englishDateFrom(s, now, loc)
}

func englishDateFrom(s string, now pcp.Timestamp, loc *time.Location) (pcp.Timestamp, bool) {
	local := time.Unix(now.Sec, 0).In(loc)
	_, east := local.Zone()
	zone := -int64(east) / 60
	if local.IsDST() {
		zone += 60
	}
	d := englishDate{
		t: dateTokens(s), zone: zone, meridian: noMeridian,
		year: int64(local.Year()), month: int64(local.Month()), day: int64(local.Day()),
	}
	for len(d.t) > 0 {
		if !d.item() {
			return pcp.Timestamp{}, false
		}
	}
	if d.times > 1 || d.zones > 1 || d.dates > 1 || d.days > 1 || d.aligned > 1 {
		return pcp.Timestamp{}, false
	}
	at := now.Sec
	if d.dates+d.times+d.days+d.aligned > 0 {
		var ok bool
		if at, ok = d.seconds(d.year, d.month, d.day, d.hour, d.minute, d.second, d.meridian, d.dst, loc); !ok {
			return pcp.Timestamp{}, false
		}
	} else if d.rels == 0 {
		at -= int64(local.Hour()*3600 + local.Minute()*60 + local.Second())
	}
	at += d.relSecs
	if d.relMonths != 0 {
		l := time.Unix(at, 0).In(loc)
		m := 12*int64(l.Year()) + int64(l.Month()) - 1 + d.relMonths
		// A day that the month does not have is as in C a second before 1970.
		there, ok := d.seconds(m/12, m%12+1, int64(l.Day()), int64(l.Hour()), int64(l.Minute()), int64(l.Second()), noMeridian, 0, loc)
		if !ok {
			there = -1
		}
		at += sameHour(at, there, loc)
	}
	if d.days > 0 && d.dates == 0 {
		l := time.Unix(at, 0).In(loc)
		there := at + 86400*((d.weekday-int64(l.Weekday())+7)%7)
		weeks := d.dayOrdinal
		if weeks > 0 {
			weeks--
		}
		at += sameHour(at, there+7*86400*weeks, loc)
	}
	return pcp.Timestamp{Sec: at}, true
}

// seconds returns the time of a date and time of day, which must exist.
func (d *englishDate) seconds(year, month, day, hour, minute, second, meridian int64, dst int, loc *time.Location) (int64, bool) {
	if year < 0 {
		year = -year
	}
	if year < 69 {
		year += 2000
	} else if year < 100 {
		year += 1900
	}
	if year < 1970 || year > 1<<20 || month < 1 || month > 12 || day < 1 ||
		day > int64(time.Date(int(year), time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()) {
		return 0, false
	}
	if minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, false
	}
	if meridian == noMeridian {
		if hour < 0 || hour > 23 {
			return 0, false
		}
	} else {
		if hour < 1 || hour > 12 {
			return 0, false
		}
		hour = hour%12 + meridian
	}
	at := time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC).Unix() + d.zone*60
	if dst > 0 || dst == 0 && time.Unix(at, 0).In(loc).IsDST() {
		at -= 3600
	}
	return at, at >= 0
}

// sameHour returns the distance from one time to another, such that the time of
// day stays the same if summer time begins or ends between them.
func sameHour(from, to int64, loc *time.Location) int64 {
	a := (time.Unix(from, 0).In(loc).Hour() + 1) % 24
	b := (time.Unix(to, 0).In(loc).Hour() + 1) % 24
	return to - from + int64(a-b)*3600
}
