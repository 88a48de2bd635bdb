package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pmapi"
)

// A TimeWindow is what -S, -T, -A and -O leave of an archive
// (pmParseTimeWindow(3)).
type TimeWindow struct {
	Start, Finish, Origin pcp.Timestamp
}

// A WindowSpec holds the arguments of -S, -T, -A and -O, nil where an option was
// not given: an empty argument means something.
type WindowSpec struct {
	Start, Finish, Align, Origin *string
}

// maxTime is a finish that never comes (PM_MAX_TIME_T).
var maxTime = pcp.Timestamp{Sec: pcp.MaxSec}

// ParseTimeWindow finds the window within first and last, which is the zero
// Timestamp if there is no end. Times of day are in loc. A mistake is a
// *SyntaxError; one in warn alone leaves the window without the alignment that
// was asked for.
func ParseTimeWindow(spec WindowSpec, first, last pcp.Timestamp, loc *time.Location) (w TimeWindow, warn, err error) {
	if last.IsZero() || last.Sec == maxTime.Sec {
		last = maxTime
	}
	start, finish := first, last
	if spec.Start != nil {
		if start, err = parseTime(*spec.Start, start, finish, loc); err != nil {
			return w, nil, err
		}
	}
	if start.Compare(first) < 0 {
		start = first
	}
	var delta int64
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
		delta = int64(d)
		if aligned := alignUp(start, delta); aligned.Compare(first) >= 0 && aligned.Compare(last) <= 0 {
			start = aligned
		} else {
			warn = badAlign
		}
	}
	if spec.Finish != nil {
		if finish, err = parseTime(*spec.Finish, start, finish, loc); err != nil {
			return w, nil, err
		}
	}
	if finish.Compare(last) > 0 {
		finish = last
	}
	origin := start
	if spec.Origin != nil {
		if origin, err = parseTime(*spec.Origin, start, finish, loc); err != nil {
			return w, nil, err
		}
		if origin.Compare(start) < 0 {
			origin = start
		} else if origin.Compare(finish) > 0 {
			origin = finish
		}
		if spec.Align != nil && finish.Sec != maxTime.Sec {
			aligned := alignUp(origin, delta)
			if aligned.Compare(finish) > 0 {
				aligned = aligned.Add(-time.Duration(delta))
			}
			if aligned.Compare(start) >= 0 && aligned.Compare(finish) <= 0 {
				origin = aligned
			} else {
				warn = badAlign
			}
		}
	}
	return TimeWindow{start, finish, origin}, warn, nil
}

// Replay returns how tools set the mode of an archive to show what was at
// regular times. As C programs do (pmTimeStateMode(3)) they start at a
// microsecond and go in steps of milliseconds, or of seconds if they are long.
func Replay(origin pcp.Timestamp, interval time.Duration) (pmapi.Mode, pcp.Timestamp, time.Duration) {
	const long = 24 * 24 * time.Hour
	origin.Nsec -= origin.Nsec % 1000
	if interval >= long+time.Second {
		return pmapi.ModeInterp, origin, interval.Truncate(time.Second)
	}
	return pmapi.ModeInterp, origin, interval.Truncate(time.Millisecond)
}

// alignUp returns the first multiple of delta nanoseconds not before t.
func alignUp(t pcp.Timestamp, delta int64) pcp.Timestamp {
	if t.Sec > math.MaxInt64/1_000_000_000-1 || t.Sec < 0 {
		return t // beyond what 64 bits of nanoseconds hold
	}
	n := t.Sec*1e9 + int64(t.Nsec)
	m := n / delta * delta
	if m < n {
		if m += delta; m < 0 {
			return t
		}
	}
	return pcp.Timestamp{Sec: m / 1e9, Nsec: int32(m % 1e9)}
}

// shift adds to t. The C library keeps seconds in a struct tm, so that its
// callers cut them to 32 bits: 136 years later is the same time.
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

// parseTime parses an argument of -S, -T or -O (__pmtimespecParse): an interval
// after the start, with a - before the end, or with an @ a date.
func parseTime(spec string, start, end pcp.Timestamp, loc *time.Location) (pcp.Timestamp, error) {
	i := skipSpace(spec, 0)
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
	case at(i) == '-' && end.Sec < maxTime.Sec:
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
	if i = skipSpace(spec, i); at(i) == '@' {
		i++
	}
	if t, ok := parseEnglishDate(spec[i:], start, end, loc); ok {
		return t, nil
	}
	return pcp.Timestamp{}, err
}

// An Archived is an archive, or several that are replayed as one.
type Archived interface {
	Label() archive.Label
	End() (pcp.Timestamp, error)
}

// ArchiveZone returns the time zone in which to report times of an archive, and
// says on standard output which it is if one was asked for, as most tools do.
func (o *Options) ArchiveZone(a Archived) *time.Location {
	label := a.Label()
	switch {
	case o.HostZone:
		o.noteZone(&label)
		return Zone(label.TimeZone)
	case o.TimeZoneSet:
		fmt.Fprintf(o.env.Stdout, "Note: timezone set to \"TZ=%s\"\n\n", o.TimeZone)
		return Zone(o.TimeZone)
	}
	return o.env.Local()
}

// ArchiveWindow returns the time window that the options leave of an archive.
// What is wrong it says itself; an error means that the tool must exit.
func (o *Options) ArchiveWindow(a Archived, loc *time.Location) (TimeWindow, error) {
	end, err := a.End()
	if err != nil {
		end = maxTime
		o.damaged(o.Archives[0], err)
	}
	return o.window(a.Label().Start, end, loc)
}
