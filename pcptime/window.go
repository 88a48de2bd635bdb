package pcptime

import (
	"math"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A Window is the selected part of an archive, and the time of the first sample
// in it.
type Window struct {
	Start, Finish, Origin pcp.Timestamp
}

// Bounds describes a Window in text: the arguments of the options -S, -T, -A and
// -O. A field is nil if there is no such bound. An empty string is not nil: it is
// a mistake.
type Bounds struct {
	Start, Finish, Align, Origin *string
}

// Never is the finish of a window that does not end (PM_MAX_TIME_T).
var Never = pcp.Timestamp{Sec: pcp.MaxSec}

// ParseWindow returns the window that spec asks for within first and last, as
// pmParseTimeWindow(3) does. If last is the zero Timestamp there is no end. Dates
// and times of day are those of loc. Mistakes are of type *SyntaxError. If only
// the alignment is not possible, ParseWindow returns a message in warn and the
// window without it.
func ParseWindow(spec Bounds, first, last pcp.Timestamp, loc *time.Location) (w Window, warn, err error) {
	if last.IsZero() || last.Sec == Never.Sec {
		last = Never
	}
	start, finish := first, last
	if spec.Start != nil {
		if start, err = ParseTime(*spec.Start, start, finish, loc); err != nil {
			return w, nil, err
		}
	}
	if start.Compare(first) < 0 {
		start = first
	}
	var delta time.Duration
	var badAlign *SyntaxError
	if spec.Align != nil {
		badAlign = &SyntaxError{Spec: *spec.Align, What: "alignment specified by -A switch could not be applied"}
		d, err := ParseInterval(*spec.Align)
		if err != nil {
			return w, nil, err
		}
		if d == 0 {
			return w, nil, badAlign
		}
		delta = d
		if aligned := alignUp(start, delta); aligned.Compare(first) >= 0 && aligned.Compare(last) <= 0 {
			start = aligned
		} else {
			warn = badAlign
		}
	}
	if spec.Finish != nil {
		if finish, err = ParseTime(*spec.Finish, start, finish, loc); err != nil {
			return w, nil, err
		}
	}
	if finish.Compare(last) > 0 {
		finish = last
	}
	origin := start
	if spec.Origin != nil {
		if origin, err = ParseTime(*spec.Origin, start, finish, loc); err != nil {
			return w, nil, err
		}
		if origin.Compare(start) < 0 {
			origin = start
		} else if origin.Compare(finish) > 0 {
			origin = finish
		}
		if spec.Align != nil && finish.Sec != Never.Sec {
			aligned := alignUp(origin, delta)
			if aligned.Compare(finish) > 0 {
				aligned = aligned.Add(-delta)
			}
			if aligned.Compare(start) >= 0 && aligned.Compare(finish) <= 0 {
				origin = aligned
			} else {
				warn = badAlign
			}
		}
	}
	return Window{start, finish, origin}, warn, nil
}

// alignUp returns the first time not before t that is a multiple of delta since
// 1970, in UTC. Times before 1970, and those beyond 64 bits of nanoseconds, are
// returned unchanged. delta must be positive.
func alignUp(t pcp.Timestamp, delta time.Duration) pcp.Timestamp {
	if delta <= 0 {
		panic("pcptime: the interval is not positive")
	}
	if t.Sec > math.MaxInt64/1_000_000_000-1 || t.Sec < 0 {
		return t
	}
	n := t.Sec*1e9 + int64(t.Nsec)
	m := n / int64(delta) * int64(delta)
	if m < n {
		if m += int64(delta); m < 0 {
			return t
		}
	}
	return pcp.Timestamp{Sec: m / 1e9, Nsec: int32(m % 1e9)}
}

// shift adds to t. The C library keeps seconds in a struct tm, and its callers
// cut them to 32 bits: 136 years later is the same time.
func shift(t pcp.Timestamp, sec int64, nsec int32) pcp.Timestamp {
	t.Sec += sec
	t.Nsec += nsec
	switch {
	case t.Nsec >= 1e9:
		t.Sec, t.Nsec = t.Sec+1, t.Nsec-1e9
	case t.Nsec < 0:
		t.Sec, t.Nsec = t.Sec-1, t.Nsec+1e9
	}
	return t
}

// ParseTime parses one end of a window, or a time in it (__pmtimespecParse):
//
//	10 min        that long after start
//	-10 min       that long before end
//	@10:00        the first time from start on that has these parts, as ctime(3) writes them
//	2 hours ago   a date in English
//
// If there is no end, which is Never, intervals before it are read as English.
// Dates and times of day are those of loc. A mistake is a *SyntaxError.
func ParseTime(spec string, start, end pcp.Timestamp, loc *time.Location) (pcp.Timestamp, error) {
	i := ctext.SkipSpace(spec, 0)
	at := func(i int) byte {
		if i < len(spec) {
			return spec[i]
		}
		return 0
	}
	var err error
	switch {
	case at(i) == '@':
		i++
		var d dateSpec
		if d, err = parseDate(spec[i:]); err == nil {
			return d.resolve(start, loc), nil
		}
	case at(i) == '-' && end.Sec < Never.Sec:
		i++
		var sec int64
		var nsec int32
		if sec, nsec, err = parseSpan(spec[i:]); err == nil {
			return shift(end, -int64(int32(sec)), -nsec), nil
		}
	default:
		if at(i) == '+' {
			i++
		}
		var sec int64
		var nsec int32
		if sec, nsec, err = parseSpan(spec[i:]); err == nil {
			return shift(start, int64(int32(sec)), nsec), nil
		}
	}
	if i = ctext.SkipSpace(spec, i); at(i) == '@' {
		i++
	}
	if t, ok := parseEnglish(spec[i:], start, end, loc); ok {
		return t, nil
	}
	return pcp.Timestamp{}, err
}
