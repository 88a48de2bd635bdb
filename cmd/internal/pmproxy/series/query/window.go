package query

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcptime"
)

type windowPart int

const (
	partInterval windowPart = iota
	partZone
	partStart
	partFinish
	partSamples
	partOffset
	partAlign
	partRange
	parts
)

// A Spec is a time window as text: the parts between square brackets, or the
// parameters of a request. Empty parts are not given.
type Spec struct {
	Samples  string // how many samples: an integer
	Interval string // between samples: an interval
	Start    string // a time
	Finish   string // a time
	Range    string // an interval that ends now
	Align    string // a time
	Offset   string // how many samples are left out first: an integer
	Zone     string // a time zone
}

// A Window says which samples of a series are wanted.
type Window struct {
	// Count is how many samples at most, 0 for all of them.
	Count int
	// Offset is how many samples are left out, before those that are counted.
	Offset int
	// Interval thins samples: of those between two times that are an interval
	// apart only the last stays, with its own time. 0 keeps all.
	Interval time.Duration
	// Start and Finish are the first and the last time of a sample, zero if
	// there is none. Both belong to the window.
	Start, Finish pcp.Timestamp
	// Align moves the times for Interval: one of them is Align.
	Align pcp.Timestamp
	// Newest says that only a count is given: samples are the newest ones,
	// newest first.
	Newest bool
	// Given says that a window is given at all; without it a query finds series
	// and not their values.
	Given bool
}

// Parse reads the text of a window. Times are those of pmParseTimeWindow(3),
// relative to now: seconds since 1970, dates after "@", intervals before now
// after "-", dates in English. The errors are worded as those of /series/values.
func (s Spec) Parse(now time.Time, loc *time.Location) (Window, error) {
	return s.parse(windowParser{now: pcp.TimestampOf(now), loc: loc})
}

func (s Spec) parse(p windowParser) (Window, error) {
	var w Window
	if s.Zone != "" {
		p.loc = pcptime.Zone(s.Zone)
	}
	for part := partInterval; part < parts; part++ {
		if text := *s.part(part); text != "" {
			if err := p.set(&w, part, text); err != nil {
				return Window{}, err
			}
		}
	}
	w.finish(s)
	return w, nil
}

func (s *Spec) part(p windowPart) *string {
	switch p {
	case partInterval:
		return &s.Interval
	case partZone:
		return &s.Zone
	case partStart:
		return &s.Start
	case partFinish:
		return &s.Finish
	case partSamples:
		return &s.Samples
	case partOffset:
		return &s.Offset
	case partAlign:
		return &s.Align
	}
	return &s.Range
}

func (w *Window) finish(s Spec) {
	w.Given = s.Samples != "" || s.Interval != "" || s.Start != "" || s.Finish != "" || s.Range != ""
	w.Newest = w.Count > 0 && s.Range == "" && s.Interval == "" && s.Start == "" && s.Finish == ""
}

type windowParser struct {
	now     pcp.Timestamp
	loc     *time.Location
	inQuery bool // errors are worded as those of a query
}

// wording chooses between the two wordings of an error.
func (p *windowParser) wording(query, request string) string {
	if p.inQuery {
		return query
	}
	return request
}

func (p *windowParser) set(w *Window, part windowPart, text string) (err error) {
	switch part {
	case partInterval:
		if w.Interval, err = pcptime.ParseInterval(text); err != nil {
			return messagef("Cannot parse time delta with pmParseHighResInterval:\n%w", err)
		}
	case partZone: // pcptime.Zone takes any
	case partStart:
		w.Start, err = p.time(text, "start ")
	case partFinish:
		w.Finish, err = p.time(text, "end ")
	case partAlign:
		w.Align, err = p.time(text, "align ")
	case partSamples:
		if w.Count, err = samples(text); err != nil {
			return messagef("Invalid sample count requested - %s", p.wording(`"`+text+`"`, text))
		}
	case partOffset:
		if w.Offset, err = samples(text); err != nil {
			return messagef("Invalid sample offset requested - %s", p.wording(`"`+text+`"`, text))
		}
	case partRange:
		d, err := pcptime.ParseInterval(text)
		if err != nil {
			return messagef("Cannot parse %swith pmParseHighResInterval:\n%w", p.wording("range ", "time range "), err)
		}
		w.Start, w.Finish = p.now.Add(-d), pcptime.Never
	}
	return err
}

// time reads a time, of which end says which it is. The C library reads intervals as those since 1970, which
// are seconds since then, and intervals before the end as those before the end
// of time; here these are before now.
func (p *windowParser) time(text, end string) (pcp.Timestamp, error) {
	if i := ctext.SkipSpace(text, 0); i < len(text) && text[i] == '-' {
		t, err := pcptime.ParseTime(text, pcp.Timestamp{}, p.now, p.loc)
		if err == nil {
			return t, nil
		}
	}
	t, err := pcptime.ParseTime(text, pcp.Timestamp{}, pcptime.Never, p.loc)
	if err != nil {
		return pcp.Timestamp{}, messagef("Cannot parse time %swith __pmParseHighResTime:\n%w", p.wording("", end), err)
	}
	return t, nil
}

var errCount = errors.New("not a count")

func samples(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > math.MaxInt32 {
		return 0, errCount
	}
	return int(n), nil
}
