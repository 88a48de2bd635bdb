package model

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// Seek takes the sample of an archive at a time, which is moved to the bounds if it is outside.
func (s *Sampler) Seek(ctx context.Context, at pcp.Timestamp, need Group) (*Snapshot, error) {
	if s.archive == nil {
		return nil, pcp.ErrNotArchive
	}
	if at.Compare(s.cfg.Last) > 0 {
		at = s.cfg.Last
	}
	if at.Compare(s.cfg.First) < 0 {
		at = s.cfg.First
	}
	return s.seek(ctx, at, need|System)
}

// Back takes the sample of an archive an interval earlier.
func (s *Sampler) Back(ctx context.Context, need Group) (*Snapshot, error) {
	if s.archive == nil {
		return nil, pcp.ErrNotArchive
	}
	at := s.at.Add(-s.cfg.Interval)
	if at.Compare(s.cfg.First) < 0 {
		return nil, ErrEnd
	}
	return s.seek(ctx, at, need|System)
}

// seek takes the sample at a time. Rates are over an interval before it.
func (s *Sampler) seek(ctx context.Context, at pcp.Timestamp, need Group) (*Snapshot, error) {
	if at.Compare(s.cfg.Last) > 0 {
		return nil, ErrEnd
	}
	if err := s.resolve(ctx, need); err != nil {
		return nil, err
	}
	if err := s.resolveCharts(ctx); err != nil {
		return nil, err
	}
	step := s.cfg.Interval
	r := s.request(need)
	from := at
	if !s.sequence || s.step != step || s.at.Add(step) != at || s.fresh&need != need&s.fetchable() || s.chartsAreNew() {
		s.restart()
		if before := at.Add(-step); before.Compare(s.cfg.First) >= 0 {
			from = before
		}
		if err := s.archive.SetMode(ctx, pmapi.ModeInterp, &from, step); err != nil {
			return nil, err
		}
		if from != at {
			if err := s.fetchPast(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	s.at, s.step, s.sequence = at, step, true
	if err := s.fetchPast(ctx, r); err != nil {
		s.sequence = false
		return nil, err
	}
	s.res.Time = at
	return s.snapshot(ctx, need)
}

// fetchPast fetches from an archive. A time without data is not an error.
func (s *Sampler) fetchPast(ctx context.Context, r *request) error {
	_, err := s.fetch(ctx, r, len(r.ids))
	if errors.Is(err, pcp.ErrEOL) {
		return ErrEnd
	}
	return err
}

// fetchable returns the groups of which there is at least one metric.
func (s *Sampler) fetchable() (g Group) {
	for m := range s.cols {
		if s.cols[m].id != pcp.PMIDNull {
			g |= table[m].group
		}
	}
	return g
}

// restart forgets the values from which rates would start.
func (s *Sampler) restart() {
	for m := range s.cols {
		s.cols[m].forget()
	}
	for _, ch := range s.charts {
		ch.col.forget()
	}
	s.last = nil
}

// Past yields snapshots of the totals before a time, for the history of a screen after a jump.
func (s *Sampler) Past(ctx context.Context, at pcp.Timestamp, n int, need Group, yield func(*Snapshot)) error {
	if s.archive == nil {
		return pcp.ErrNotArchive
	}
	from := at.Add(-time.Duration(n) * s.cfg.Interval)
	for from.Compare(s.cfg.First) < 0 {
		from = from.Add(s.cfg.Interval)
	}
	s.sequence = false
	for ; from.Compare(at) < 0; from = from.Add(s.cfg.Interval) {
		snap, err := s.seek(ctx, from, need|System)
		if errors.Is(err, ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		yield(snap)
	}
	return nil
}

// maxProbes limits the records read to find the interval of an archive.
const maxProbes = 8

// Pace returns the usual time between the records of an archive that have a metric of the totals, or 0 if there
// are too few of them, and the time of the first of them.
func Pace(ctx context.Context, a *pmapi.ArchiveContext, from pcp.Timestamp) (pace time.Duration, first pcp.Timestamp) {
	var names []string
	for _, m := range [...]metric{mCPUUser, mCPUIdle, mLoad, mMemFree, mDiskAllRead, mNetIn, mProcUser} {
		names = append(names, table[m].names[0])
	}
	ids, _ := a.LookupName(ctx, names...)
	for _, id := range ids {
		if id == pcp.PMIDNull {
			continue
		}
		if a.SetMode(ctx, pmapi.ModeForw, &from, 0) != nil {
			return 0, from
		}
		var res pcp.Result
		var times []pcp.Timestamp
		for range maxProbes {
			if a.FetchArchiveOf(ctx, []pcp.PMID{id}, &res) != nil {
				break
			}
			if len(res.Sets) > 0 {
				times = append(times, res.Time)
			}
		}
		var gaps []time.Duration
		for i := 1; i < len(times); i++ {
			gaps = append(gaps, times[i].Time().Sub(times[i-1].Time()))
		}
		if len(gaps) == 0 {
			continue
		}
		slices.Sort(gaps)
		pace = gaps[len(gaps)/2].Round(time.Second)
		return max(pace, time.Second), times[0]
	}
	return 0, from
}
