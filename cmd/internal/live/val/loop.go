package val

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
)

// A sample is the result of one fetch. It is reused.
type sample struct {
	at  pcp.Timestamp
	vs  pcp.ValueSet // sorted by instance
	res pcp.Result
}

// Why there is no sample.
var (
	errNone = errors.New("no values are available")
	errEnd  = errors.New("after the end of the time window")
	errExit = errors.New("nothing more to come")
	errLost = errors.New("the time control is gone")
)

// fetch gets a sample into s. An error other than errNone, errEnd and errExit was printed.
func (x *viewer) fetch(ctx context.Context, s *sample) error {
	res, call := &s.res, "pmFetch"
	var vs *pcp.ValueSet
	var err error
	if x.unfiltered {
		call = "pmFetchArchive"
		vs, err = x.fetchRecord(ctx, res)
	} else if _, err = x.c.FetchInto(ctx, x.ids[:], res); err == nil {
		vs = &res.Sets[0]
	}
	switch {
	case err == errNone:
		return err
	case errors.Is(err, pcp.ErrEOL) && x.control != nil:
		if x.control.AtEnd() != nil {
			return errLost
		}
		return errNone
	case errors.Is(err, pcp.ErrEOL):
		return errExit
	case err != nil:
		x.flush()
		x.env.Stderr.Write([]byte("\n"))
		if !x.env.Classic() && errors.Is(err, pcp.ErrIPC) {
			x.env.Fatalf("the collector is gone: the connection ended")
			return err
		}
		x.env.Fatalf("%s: %s", call, cli.ErrText(err))
		return err
	}
	if x.control != nil && x.control.Shown() != nil {
		return errLost
	}
	switch {
	case seconds(res.Time) > seconds(x.window.Finish):
		return errEnd
	case vs.Err == pcp.ErrNotConn && x.events:
		return errExit
	case vs.Err != 0:
		x.flush()
		x.env.Stderr.Write([]byte("\n"))
		x.env.Fatalf("%s: %s", call, vs.Err)
		return errNone
	case len(vs.Values) == 0:
		x.noValues(res.Time)
		return errNone
	}
	s.at, s.vs = res.Time, *vs
	byInst := func(a, b pcp.Value) int { return cmp.Compare(a.Inst, b.Inst) }
	if !slices.IsSortedFunc(s.vs.Values, byInst) {
		slices.SortStableFunc(s.vs.Values, byInst)
	}
	return nil
}

// fetchRecord gets the next record of the archive that has the metric, and
// returns its values. A mark is errNone.
func (x *viewer) fetchRecord(ctx context.Context, res *pcp.Result) (*pcp.ValueSet, error) {
	if err := x.archive.FetchArchiveOf(ctx, x.ids[:], res); err != nil {
		return nil, err
	}
	if len(res.Sets) == 0 {
		if !x.json {
			x.stamp(res.Time)
			x.out = append(x.out, "  Archive logging suspended\n"...)
		}
		x.reported = false
		return nil, errNone
	}
	return &res.Sets[0], nil
}

// noValues prints that there are no values.
func (x *viewer) noValues(at pcp.Timestamp) {
	if x.json {
		return
	}
	x.stampGap(at)
	switch {
	case !x.events:
		x.out = append(x.out, "No values available\n"...)
	case x.verbose:
		x.printf("%s: No values available\n", x.metric)
	}
}

// loop prints samples until there were enough.
func (x *viewer) loop(ctx context.Context, interval time.Duration) int {
	var room [2]sample
	var prev *sample
	next := &room[0]
	noValues := false
	for n := 0; x.samples < 0 || x.control != nil || n < x.samples; n++ {
		x.flushRow()
		if x.control != nil {
			x.flush()
			if x.control.Wait(ctx) != nil {
				return 1
			}
			if x.loc = x.control.Zone; x.moved {
				x.moved, prev = false, nil // rates start again
			}
		}
		if prev == nil {
			switch err := x.fetch(ctx, next); err {
			case nil:
				prev, next = next, x.other(&room, next)
				if x.desc.InDom != pcp.InDomNull {
					x.labels()
				}
				if !x.rates() {
					if status := x.print(ctx, prev, nil); status != 0 {
						return status
					}
					continue
				}
				if (noValues || x.reported) && !x.json {
					x.noValues(prev.at)
				}
				noValues = false
				if x.control != nil {
					continue
				}
			case errNone:
				noValues = true
			case errEnd, errExit:
				x.flush()
				return 0
			default:
				return 1
			}
		}
		if x.control == nil && (x.archive == nil || x.delay) {
			x.flush()
			if !pacing.Sleep(ctx, interval) {
				return 1
			}
		}
		if prev == nil {
			continue
		}
		switch err := x.fetch(ctx, next); err {
		case nil:
		case errNone:
			prev = nil
			continue
		case errEnd, errExit:
			x.flush()
			return 0
		default:
			return 1
		}
		if len(x.chosen) == 0 && !x.named(next) {
			if status := x.findInstances(ctx); status != 0 {
				return status
			}
			x.labels()
		}
		if status := x.print(ctx, next, prev); status != 0 {
			return status
		}
		prev, next = next, prev
	}
	x.flush()
	return 0
}

// other returns the sample of the two that s is not.
func (x *viewer) other(room *[2]sample, s *sample) *sample {
	if s == &room[0] {
		return &room[1]
	}
	return &room[0]
}

// print shows a sample, as rates since prev where the metric is a counter.
func (x *viewer) print(ctx context.Context, s, prev *sample) int {
	x.reported = true
	switch {
	case x.json:
		x.jsonSample(ctx, s, prev)
	case x.events:
		x.stampGap(s.at)
		return x.eventValues(ctx, s)
	case x.rates():
		x.stamp(s.at)
		x.rateRow(s, prev)
	default:
		x.stamp(s.at)
		x.valueRow(s)
	}
	return 0
}

// named reports whether each value of s has a column. Both are sorted.
func (x *viewer) named(s *sample) bool {
	if x.desc.InDom == pcp.InDomNull || x.events {
		return true
	}
	insts := x.insts
	for i := range s.vs.Values {
		inst := s.vs.Values[i].Inst
		for len(insts) > 0 && insts[0].Inst < inst {
			insts = insts[1:]
		}
		if len(insts) == 0 || insts[0].Inst != inst {
			return false
		}
	}
	return true
}

// column returns the column of an instance, -1 if there is none.
func (x *viewer) column(inst int32) int {
	i, ok := slices.BinarySearchFunc(x.insts, inst, func(a pcp.Instance, inst int32) int { return cmp.Compare(a.Inst, inst) })
	if !ok {
		return -1
	}
	return i
}

// rowsAtOnce is the number of bytes of samples of an archive to buffer.
const rowsAtOnce = 32 << 10

// flushRow flushes the output at the end of a row. A reader may be waiting for
// it, unless it is from an archive and is not shown immediately.
func (x *viewer) flushRow() {
	if x.archive == nil || x.delay || len(x.out) >= rowsAtOnce || x.env.Rows != nil && x.env.Rows() > 0 {
		x.flush()
	}
}

func (x *viewer) flush() {
	if len(x.out) > 0 {
		x.env.Stdout.Write(x.out)
		x.out = x.out[:0]
		x.env.FlushOut()
	}
}
