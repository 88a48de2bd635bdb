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
	Samples  string // number of samples: an integer
	Interval string // between samples: an interval
	Start    string // a time
	Finish   string // a time
	Range    string // an interval that ends now
	Align    string // a time
	Offset   string // number of samples to skip first: an integer
	Zone     string // a time zone
}

// A Window selects samples of a series.
type Window struct {
	// Count is the maximum number of samples, 0 for all of them.
	Count int
	// Offset is the number of samples to skip before Count applies.
	Offset int
	// Interval thins samples: of the samples between two times an interval
	// apart only the last is kept, with its own time. 0 keeps all.
	Interval time.Duration
	// Start and Finish are the first and the last time of a sample, zero for no
	// limit. Both are inclusive.
	Start, Finish pcp.Timestamp
	// Align shifts the times for Interval, so that Align is one of them.
	Align pcp.Timestamp
	// Newest reports whether only a count is given: samples are the newest,
	// newest first.
	Newest bool
	// Given reports whether there is a window; without it a query returns
	// series and not their values.
	Given bool
}

// Parse parses the text of a window. Times are those of pmParseTimeWindow(3),
// relative to now: seconds since 1970, dates after "@", intervals before now
// after "-", dates in English. The errors have the messages of /series/values.
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
	inQuery bool // errors have the messages of a query
}

// wording chooses between the two messages of an error.
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
	case partZone: // pcptime.Zone accepts any
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

// time parses a time; end is "start" or "finish". The C library interprets intervals as seconds since 1970,
// and intervals before the end as relative to the end of time; here both are relative to now.
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
