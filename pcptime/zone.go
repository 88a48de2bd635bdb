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
	// time assumes too.
	loc, err := time.LoadLocationFromTZData(tz, tzFile(rule))
	if err != nil {
		return time.FixedZone(name, 0)
	}
	if abbr, _ := time.Unix(0, 0).In(loc).Zone(); abbr == "" || abbr == placeholder {
		return time.FixedZone(name, 0) // it could not parse the rule
	}
	return loc
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
	loc, err := time.LoadLocationFromTZData(tz, tzFile(rule))
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

// tzFile returns a compiled zone file, version 2, that only has a rule: package
// time can parse rules only there. It has one transition, long ago, because the
// rule applies after the last one.
func tzFile(rule string) []byte {
	const (
		transitions = 1
		types       = 1
		long        = -1 << 40 // thirty thousand years ago
	)
	header := func(b []byte, n, t uint32) []byte {
		b = append(b, "TZif2"...)
		b = append(b, make([]byte, 15)...)
		for _, count := range []uint32{0, 0, 0, n, t, uint32(len(placeholder) + 1)} {
			b = binary.BigEndian.AppendUint32(b, count)
		}
		return b
	}
	ttinfo := func(b []byte) []byte {
		b = append(b, 0, 0, 0, 0, 0, 0) // offset, not summer time, name at 0
		return append(append(b, placeholder...), 0)
	}
	b := ttinfo(header(nil, 0, types))
	b = header(b, transitions, types)
	past := int64(long)
	b = binary.BigEndian.AppendUint64(b, uint64(past))
	b = append(b, 0)
	b = ttinfo(b)
	b = append(b, '\n')
	b = append(b, rule...)
	return append(b, '\n')
}
