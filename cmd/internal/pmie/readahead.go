package pmie

import (
	"context"
	"runtime"

	"github.com/go-pcp/pcp"
)

const (
	// aheadAfter is the number of evaluations before values are fetched ahead: it is not worth it for a few.
	aheadAfter = 32
	// aheadMost limits the fetches ahead of the evaluation, aheadValues the values of a fetch: more would take
	// too much memory for the time saved.
	aheadMost   = 8
	aheadValues = 10_000
)

// A readAhead fetches the values of the next evaluations from an archive, on another processor than the
// evaluation.
type readAhead struct {
	next, free chan *fetchedAhead
	used       []*fetchedAhead // to be sent to free, several at a time: each send may wake a goroutine
}

// A fetchedAhead is a fetch that was made.
type fetchedAhead struct {
	res pcp.Result
	err error
}

// fetchesAhead reports whether to fetch ahead for a host from now on, and starts to.
func (get *fetcher) fetchesAhead(t *task, h *host) bool {
	if h.ahead != nil {
		return true
	}
	if h.fetches++; h.fetches != aheadAfter || !get.cfg.ReadAhead || t.waiting() || runtime.GOMAXPROCS(0) < 2 {
		return false
	}
	values := 0
	for i := range h.res.Sets {
		values += len(h.res.Sets[i].Values)
	}
	if values > aheadValues {
		return false
	}
	for _, s := range h.series {
		switch s.Type {
		case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
		default:
			return false // such values are valid until the next fetch
		}
	}
	a := &readAhead{next: make(chan *fetchedAhead, aheadMost), free: make(chan *fetchedAhead, aheadMost)}
	for range aheadMost {
		a.free <- new(fetchedAhead)
	}
	h.ahead = a
	ctx, c, ids := get.ctx, h.c, h.ids
	get.flights.Go(func() {
		for {
			select {
			case f := <-a.free:
				_, f.err = c.FetchInto(ctx, ids, &f.res)
				a.next <- f
			case <-ctx.Done():
				return
			}
		}
	})
	return true
}

// take sets res to the next fetch, and returns its error.
func (a *readAhead) take(ctx context.Context, res *pcp.Result) error {
	select {
	case f := <-a.next:
		err := f.err
		*res, f.res = f.res, *res
		if a.used = append(a.used, f); len(a.used) == aheadMost/2 {
			for _, f := range a.used {
				a.free <- f
			}
			a.used = a.used[:0]
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
