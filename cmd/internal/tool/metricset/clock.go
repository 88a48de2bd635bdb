package metricset

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
)

// A Clock formats times as Python's datetime does without a zone: %Z and %z are empty, and %f are
// microseconds. It caches the parts that are the same for a minute.
type Clock struct {
	format string
	loc    *time.Location
	fast   bool // the format has %Y %m %d %H %M %S and plain text only

	minute int64
	t      time.Time
}

// NewClock returns a Clock for a format of strftime(3).
func NewClock(format string, loc *time.Location) *Clock {
	c := &Clock{format: format, loc: loc, minute: -1 << 62}
	rest := strings.NewReplacer("%Y", "", "%m", "", "%d", "", "%H", "", "%M", "", "%S", "").Replace(format)
	c.fast = !strings.Contains(rest, "%")
	return c
}

// Format formats a time.
func (c *Clock) Format(t pcp.Timestamp) string { return string(c.Append(nil, t)) }

// Append appends the time to b.
func (c *Clock) Append(b []byte, t pcp.Timestamp) []byte {
	if !c.fast {
		return append(b, c.slow(t)...)
	}
	minute := t.Sec / 60
	if t.Sec < 0 && t.Sec%60 != 0 {
		minute--
	}
	if minute != c.minute {
		c.minute, c.t = minute, time.Unix(minute*60, 0).In(c.loc)
	}
	second := c.t.Second() + int(t.Sec-minute*60)
	if second > 59 { // zones with offsets of seconds
		return append(b, c.slow(t)...)
	}
	two := func(n int) { b = append(b, byte('0'+n/10%10), byte('0'+n%10)) }
	for i := 0; i < len(c.format); i++ {
		if c.format[i] != '%' {
			b = append(b, c.format[i])
			continue
		}
		i++
		switch c.format[i] {
		case 'Y':
			b = strconv.AppendInt(b, int64(c.t.Year()), 10)
		case 'm':
			two(int(c.t.Month()))
		case 'd':
			two(c.t.Day())
		case 'H':
			two(c.t.Hour())
		case 'M':
			two(c.t.Minute())
		case 'S':
			two(second)
		}
	}
	return b
}

func (c *Clock) slow(t pcp.Timestamp) string {
	var b strings.Builder
	format := c.format
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch format[i] {
		case 'z', 'Z':
		case 'f':
			fmt.Fprintf(&b, "%06d", t.Nsec/1000)
		default:
			b.WriteByte('%')
			b.WriteByte(format[i])
		}
	}
	return pcptime.Strftime(b.String(), time.Unix(t.Sec, 0).In(c.loc))
}
