package val

import (
	"context"
	"errors"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/tool/cli"
)

// A sample is what one fetch brought.
type sample struct {
	at pcp.Timestamp
	vs pcp.ValueSet
}

// Why there is no sample.
var (
	errNone = errors.New("no values, which was said")
	errEnd  = errors.New("after the end of the time window")
	errExit = errors.New("nothing more to come")
)

// fetch gets a sample. An error other than the three above was printed.
func (x *viewer) fetch(ctx context.Context) (*sample, error) {
	res, err := x.c.Fetch(ctx, []pcp.PMID{x.id})
	if err != nil {
		x.flush()
		x.env.Stderr.Write([]byte("\n"))
		x.env.Fatalf("pmFetch: %s", cli.ErrText(err))
		return nil, err
	}
	if !x.finish.IsZero() && res.Time.Compare(x.finish) > 0 {
		return nil, errEnd
	}
	vs := &res.Sets[0]
	switch {
	case vs.Err == pcp.ErrNotConn && x.events:
		return nil, errExit
	case vs.Err != 0:
		x.flush()
		x.env.Stderr.Write([]byte("\n"))
		x.env.Fatalf("pmFetch: %s", vs.Err)
		return nil, errNone
	case len(vs.Values) > 0:
	case x.json:
		return nil, errNone
	case !x.events:
		x.printf("No values available\n")
		return nil, errNone
	case x.verbose:
		x.printf("%s: No values available\n", x.metric)
		return nil, errNone
	default:
		return nil, errNone
	}
	res.SortInstances()
	return &sample{res.Time, res.Sets[0]}, nil
}

// loop prints samples until there were enough.
func (x *viewer) loop(ctx context.Context, interval time.Duration) int {
	var prev *sample
	noValues := false
	for n := 0; x.samples < 0 || n < x.samples; n++ {
		x.flush()
		if prev == nil {
			s, err := x.fetch(ctx)
			switch err {
			case nil:
				prev = s
				if x.desc.InDom != pcp.InDomNull {
					x.labels()
				}
				if !x.rates() {
					if status := x.print(ctx, s, nil); status != 0 {
						return status
					}
					continue
				}
				if (noValues || x.reported) && !x.json {
					x.printf("No values available\n")
				}
				noValues = false
			case errNone:
				noValues = true
			case errEnd, errExit:
				x.flush()
				return 0
			default:
				return 1
			}
		}
		x.flush()
		if !cli.Sleep(ctx, interval) {
			return 1
		}
		if prev == nil {
			continue
		}
		s, err := x.fetch(ctx)
		switch err {
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
		if len(x.chosen) == 0 && !x.named(s) {
			if status := x.findInstances(ctx); status != 0 {
				return status
			}
			x.labels()
		}
		if status := x.print(ctx, s, prev); status != 0 {
			return status
		}
		prev = s
	}
	x.flush()
	return 0
}

// print shows a sample, as rates since prev where the metric is a counter.
func (x *viewer) print(ctx context.Context, s, prev *sample) int {
	x.reported = true
	switch {
	case x.json:
		x.jsonSample(ctx, s, prev)
	case x.events:
		return x.eventValues(ctx, s)
	case x.rates():
		x.rateRow(s, prev)
	default:
		x.valueRow(s)
	}
	return 0
}

// named tells whether each value of s has a column.
func (x *viewer) named(s *sample) bool {
	if x.desc.InDom == pcp.InDomNull || x.events {
		return true
	}
	for i := range s.vs.Values {
		if x.column(s.vs.Values[i].Inst) < 0 {
			return false
		}
	}
	return true
}

// column returns the column of an instance, -1 if it has none.
func (x *viewer) column(inst int32) int {
	for i := range x.insts {
		if x.insts[i].Inst == inst {
			return i
		}
	}
	return -1
}

func (x *viewer) flush() {
	if len(x.out) > 0 {
		x.env.Stdout.Write(x.out)
		x.out = x.out[:0]
		x.env.FlushOut()
	}
}
