package pcptime

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Ctime formats t to the second as ctime(3) does, in loc and without a newline
// (pmCtime(3)).
func Ctime(t pcp.Timestamp, loc *time.Location) string {
	return time.Unix(t.Sec, 0).In(loc).Format(time.ANSIC)
}

// Strftime formats t as strftime(3) of the GNU C library does in the C locale,
// with its flags and widths. Text that is not a conversion is copied.
func Strftime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		c, n := parseConversion(format[i+1:])
		text, ok := "", false
		if n > 0 {
			text, ok = c.apply(t)
		}
		if !ok {
			text = fmt.Sprintf("%*s", c.width, format[i:i+1+n])
		}
		b.WriteString(text)
		i += n
	}
	return b.String()
}

// A conversion is the text after a %.
type conversion struct {
	pad   byte // '-' none, '_' spaces, '0' zeros; 0 the default
	upper bool // ^
	swap  bool // #
	width int
	verb  byte
}

// maxWidth is the maximum width of a conversion: more is too long in any case.
const maxWidth = 4096

// parseConversion reads a conversion and returns its length, which is that of
// s if s ends inside it; the verb is then 0.
func parseConversion(s string) (c conversion, n int) {
	for n < len(s) && strings.IndexByte("_-0+^#", s[n]) >= 0 {
		switch s[n] {
		case '^':
			c.upper = true
		case '#':
			c.swap = true
		default:
			c.pad = s[n]
		}
		n++
	}
	for n < len(s) && ctext.IsDigit(s[n]) {
		c.width = min(c.width*10+int(s[n]-'0'), maxWidth)
		n++
	}
	if n < len(s) && (s[n] == 'E' || s[n] == 'O') {
		n++ // other calendars and digits, which the C locale does not have
	}
	if n == len(s) {
		return c, n
	}
	c.verb = s[n]
	return c, n + 1
}

// layouts are the layouts of package time for the conversions that have one.
var layouts = [256]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'p': "PM", 'P': "pm",
	'c': time.ANSIC, 'D': "01/02/06", 'x': "01/02/06", 'F': "2006-01-02",
	'r': "03:04:05 PM", 'R': "15:04", 'T': "15:04:05", 'X': "15:04:05", 'z': "-0700",
}

// apply formats t, or returns false for an unknown conversion.
func (c conversion) apply(t time.Time) (string, bool) {
	switch c.verb {
	case '%':
		return c.str("%"), true
	case 'n':
		return c.str("\n"), true
	case 't':
		return c.str("\t"), true
	case 'Z':
		s, _ := t.Zone()
		if c.swap {
			s = strings.ToLower(s)
		}
		return c.str(s), true
	case 'a', 'A', 'b', 'h', 'B':
		c.upper = c.upper || c.swap
	case 'p', 'P':
		if c.swap || c.verb == 'P' {
			c.upper, c.verb = false, 'P'
		}
	}
	if layout := layouts[c.verb]; layout != "" {
		return c.str(t.Format(layout)), true
	}
	return c.number(t)
}

// number is apply for conversions that print a number.
func (c conversion) number(t time.Time) (string, bool) {
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	switch c.verb {
	case 'C':
		return c.num(t.Year()/100, 2, '0'), true
	case 'd':
		return c.num(t.Day(), 2, '0'), true
	case 'e':
		return c.num(t.Day(), 2, '_'), true
	case 'g':
		return c.num(isoYear%100, 2, '0'), true
	case 'G':
		return c.num(isoYear, 1, '0'), true
	case 'H':
		return c.num(t.Hour(), 2, '0'), true
	case 'I':
		return c.num(hour12, 2, '0'), true
	case 'j':
		return c.num(t.YearDay(), 3, '0'), true
	case 'k':
		return c.num(t.Hour(), 2, '_'), true
	case 'l':
		return c.num(hour12, 2, '_'), true
	case 'm':
		return c.num(int(t.Month()), 2, '0'), true
	case 'M':
		return c.num(t.Minute(), 2, '0'), true
	case 's':
		return c.num(int(t.Unix()), 1, '0'), true
	case 'S':
		return c.num(t.Second(), 2, '0'), true
	case 'u':
		return c.num((int(t.Weekday())+6)%7+1, 1, '0'), true
	case 'U':
		return c.num((t.YearDay()+6-int(t.Weekday()))/7, 2, '0'), true
	case 'V':
		return c.num(isoWeek, 2, '0'), true
	case 'w':
		return c.num(int(t.Weekday()), 1, '0'), true
	case 'W':
		return c.num((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, '0'), true
	case 'y':
		return c.num(t.Year()%100, 2, '0'), true
	case 'Y':
		return c.num(t.Year(), 1, '0'), true
	}
	return "", false
}

// num formats a number of at least digits places.
func (c conversion) num(n, digits int, pad byte) string {
	if c.pad == '-' {
		return fmt.Sprintf("%*s", c.width, strconv.Itoa(n))
	}
	if c.pad == '0' || c.pad == '_' {
		pad = c.pad
	}
	if digits = max(digits, c.width); pad == '_' {
		return fmt.Sprintf("%*d", digits, n)
	}
	return fmt.Sprintf("%0*d", digits, n)
}

func (c conversion) str(s string) string {
	if c.upper {
		s = strings.ToUpper(s)
	}
	if c.pad == '0' || c.pad == '+' {
		return strings.Repeat("0", max(c.width-len(s), 0)) + s
	}
	return fmt.Sprintf("%*s", c.width, s)
}
