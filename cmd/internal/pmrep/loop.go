package pmrep

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
)

// A Writer renders samples.
type Writer interface {
	// WriteSample renders a sample, which is valid until it returns. An error ends the loop.
	WriteSample(s *Sample) error
}

// A NamesAction selects the reaction to a change of a collector's names.
type NamesAction int

// The actions.
const (
	IgnoreNames NamesAction = iota
	AbortOnNames
	UpdateNames
)

// A Loop configures when a set is sampled.
type Loop struct {
	Samples  int           // the number of samples, if Limited
	Limited  bool          // there is a limit, which may be 0
	Interval time.Duration // between the samples, if Live
	Live     bool          // wait for the time of the next sample; archives have their own time
	// Finish is the last second of samples at the times of an archive's records; zero if the archive is
	// interpolated.
	Finish  pcp.Timestamp
	Exact   bool // Finish is the time of the last sample, as in PCP 7
	OnNames NamesAction
}

// A NothingError means that a set has nothing to fetch.
type NothingError struct{ Err error }

// Error implements error.
func (e *NothingError) Error() string {
	return e.Err.Error() + ": no metrics or instances to report present"
}

// Unwrap returns the error of the fetch, pcp.ErrTooSmall.
func (e *NothingError) Unwrap() error { return e.Err }

// Run fetches the set and renders each sample with w. It returns nil after the last, at the end of an archive,
// and when ctx is done.
func (l *Loop) Run(ctx context.Context, set *Set, w Writer) error {
	var start time.Time
	update := false
	for n := 0; !l.Limited || n < l.Samples; n++ {
		if update {
			if err := set.Update(ctx); err != nil {
				return stopped(ctx, err)
			}
		}
		s, err := set.Fetch(ctx)
		switch code := pcp.Code(err); {
		case err == nil:
		case ctx.Err() != nil, code == pcp.ErrEOL:
			return nil
		case code == pcp.ErrTooSmall:
			return &NothingError{err}
		default:
			return err
		}
		if l.Finish != (pcp.Timestamp{}) && l.after(s.Time) {
			return nil
		}
		if update = false; s.Changes&pmapi.NamesChange != 0 {
			if l.OnNames == AbortOnNames {
				return nil
			}
			update = l.OnNames == UpdateNames
		}
		if err := w.WriteSample(s); err != nil {
			return err
		}
		if !l.Live || l.Limited && n+1 >= l.Samples {
			continue
		}
		if n == 0 {
			start = time.Unix(s.Time.Sec, int64(s.Time.Nsec))
		}
		if !pacing.Until(ctx, start.Add(time.Duration(n+1)*l.Interval)) {
			return nil
		}
	}
	return nil
}

// after reports whether t is later than Finish: unless it is Exact its whole second, including its microseconds.
func (l *Loop) after(t pcp.Timestamp) bool {
	if l.Exact {
		t.Nsec -= t.Nsec % 1000
		return t.Compare(l.Finish) > 0
	}
	return t.Sec > l.Finish.Sec
}

// stopped returns the error, nil if it means that the program was stopped.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
