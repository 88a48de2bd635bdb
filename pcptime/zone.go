package pcptime

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Zone returns the time zone that TZ=tz means to a POSIX system (pmNewZone(3)):
// the name of a zone file, or a rule such as "EST5EDT,M3.2.0,M11.1.0". If tz is
// neither, the zone is UTC with the name at the beginning of tz, as there.
func Zone(tz string) *time.Location {
	tz = strings.TrimPrefix(tz, ":")
	if tz == "" {
		return time.UTC
	}
	if loc, err := time.LoadLocation(tz); err == nil && tz != "Local" {
		return loc
	}
	rule := strings.TrimSpace(tz)
	name := zoneName(rule)
	if name == "" {
		return time.UTC
	}
	if name == rule {
		return time.FixedZone(name, 0)
	}
	// A rule with no dates changes when the United States do, which package
	// time assumes too, but not for years with other rules.
	loc, err := time.LoadLocationFromTZData(tz, tzFile(rule, nil))
	if err != nil {
		return time.FixedZone(name, 0)
	}
	if abbr, _ := time.Unix(0, 0).In(loc).Zone(); abbr == "" || abbr == placeholder {
		return time.FixedZone(name, 0) // it could not parse the rule
	}
	if !strings.Contains(rule, ",") {
		if old := changes(loc); old != nil {
			if with, err := time.LoadLocationFromTZData(tz, tzFile(rule, old)); err == nil {
				return with
			}
		}
	}
	return loc
}

// A change is one to summer time or back.
type change struct {
	at     int64
	name   string
	offset int
	summer bool
}

// The years in which summer time in the United States began on the first Sunday in April and ended on the last in October.
const firstChanges, lastChanges = 1987, 2006

// changes returns the changes of a zone in those years, nil if it has no summer time.
func changes(loc *time.Location) []change {
	part := func(month time.Month) change {
		t := time.Date(lastChanges+1, month, 15, 0, 0, 0, 0, loc)
		name, offset := t.Zone()
		return change{0, name, offset, t.IsDST()}
	}
	winter, summer := part(time.January), part(time.July)
	if winter.summer || !summer.summer {
		return nil
	}
	first := winter
	first.at = longAgo + 1
	list := []change{first}
	for year := firstChanges; year <= lastChanges; year++ {
		begin, end := time.Date(year, time.April, 1, 2, 0, 0, 0, time.UTC), time.Date(year, time.October, 31, 2, 0, 0, 0, time.UTC)
		begin = begin.AddDate(0, 0, (7-int(begin.Weekday()))%7)
		end = end.AddDate(0, 0, -int(end.Weekday()))
		summer.at, winter.at = begin.Unix()-int64(winter.offset), end.Unix()-int64(summer.offset)
		list = append(list, summer, winter)
	}
	return list
}

// KnownZone reports whether Zone knows the time zone tz: it has a zone file, or is a rule. Zone takes any
// other for UTC.
func KnownZone(tz string) bool {
	tz = strings.TrimPrefix(tz, ":")
	if tz == "" {
		return true
	}
	if _, err := time.LoadLocation(tz); err == nil && tz != "Local" {
		return true
	}
	rule := strings.TrimSpace(tz)
	if name := zoneName(rule); name == "" || name == rule {
		return false
	}
	loc, err := time.LoadLocationFromTZData(tz, tzFile(rule, nil))
	if err != nil {
		return false
	}
	abbr, _ := time.Unix(0, 0).In(loc).Zone()
	return abbr != "" && abbr != placeholder
}

// Local returns the time zone of a process with the variable TZ=tz: the system's if
// tz is empty.
func Local(tz string) *time.Location {
	if tz == "" {
		return time.Local
	}
	return Zone(tz)
}

// zoneName returns the abbreviation at the beginning of a rule, at least three
// letters or quoted by <>.
func zoneName(rule string) string {
	if strings.HasPrefix(rule, "<") {
		if i := strings.IndexByte(rule, '>'); i > 0 {
			return rule[:i+1]
		}
		return ""
	}
	i := 0
	for i < len(rule) && ctext.IsAlpha(rule[i]) {
		i++
	}
	if i < 3 {
		return ""
	}
	return rule[:i]
}

// placeholder names the zone of a tzFile before its rule applies.
const placeholder = "???"

// longAgo is thirty thousand years ago.
const longAgo = -1 << 40

// tzFile returns a compiled zone file, version 2, that only has a rule, after the changes of old: package
// time can parse rules only there. It has one transition, long ago, because the
// rule applies after the last one.
func tzFile(rule string, old []change) []byte {
	old = append([]change{{longAgo, placeholder, 0, false}}, old...)
	header := func(b []byte, transitions, types, chars int) []byte {
		b = append(b, "TZif2"...)
		b = append(b, make([]byte, 15)...)
		for _, count := range []int{0, 0, 0, transitions, types, chars} {
			b = binary.BigEndian.AppendUint32(b, uint32(count))
		}
		return b
	}
	ttinfo := func(b []byte, c change, name int) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(int32(c.offset)))
		summer := byte(0)
		if c.summer {
			summer = 1
		}
		return append(b, summer, byte(name))
	}
	b := ttinfo(header(nil, 0, 1, len(placeholder)+1), old[0], 0)
	b = append(append(b, placeholder...), 0)
	// A change is at least the third of its kind: winter, summer, winter, ...
	kinds := old[:min(len(old), 3)]
	var names []byte
	var starts []int
	for _, k := range kinds {
		starts = append(starts, len(names))
		names = append(append(names, k.name...), 0)
	}
	b = header(b, len(old), len(kinds), len(names))
	for _, c := range old {
		b = binary.BigEndian.AppendUint64(b, uint64(c.at))
	}
	for i := range old {
		kind := i
		if i > 2 {
			kind = 2 - i%2
		}
		b = append(b, byte(kind))
	}
	for i, k := range kinds {
		b = ttinfo(b, k, starts[i])
	}
	b = append(b, names...)
	b = append(b, '\n')
	b = append(b, rule...)
	return append(b, '\n')
}
