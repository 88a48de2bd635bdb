package pmapi

import (
	"context"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
)

// A PendingFetch is a fetch that was asked for and whose answer is on the way. Until [PendingFetch.Finish] other
// requests of its context wait.
type PendingFetch struct {
	c   *Context
	ids []pcp.PMID
}

// StartFetch asks a collector for the values of metrics and does not wait for the answer. A program that
// fetches from many collectors asks all of them before it takes in the first answer, and needs no goroutine
// for each. The context and ids are those of the whole fetch, also of [PendingFetch.Finish], which must be
// called; until is how long [PendingFetch.Ready] waits.
//
// If it reports false without an error, nothing was asked: the source is not a collector, or asking it might take
// a while, as with derived metrics or TLS. FetchInto does it then.
func (c *Context) StartFetch(ctx context.Context, ids []pcp.PMID, until time.Time) (p PendingFetch, started bool, err error) {
	layered := func(id pcp.PMID) bool { return id.IsDerived() || isEvent(id) }
	if c.host == nil || len(ids) == 0 || slices.ContainsFunc(ids, layered) {
		return p, false, nil
	}
	if err := c.lock(ctx); err != nil {
		return p, false, err
	}
	started, err = c.host.startFetch(ctx, c.lendProfile(), ids, until)
	if !started {
		c.unlock()
		return p, false, err
	}
	return PendingFetch{c, ids}, true, nil
}

// Ready waits for the answer, but not longer than the limit passed to StartFetch. It reports whether the answer is
// complete: Finish then returns at once.
func (p PendingFetch) Ready(ctx context.Context) bool { return p.c.host.ready(ctx) }

// Finish takes in the answer, for which it waits as long as a fetch may take. It is the end of a FetchInto.
func (p PendingFetch) Finish(ctx context.Context, res *pcp.Result) (Changes, error) {
	defer p.c.unlock()
	changes, err := p.c.host.finishPending(ctx, p.ids, res)
	if err == nil {
		p.c.types.stamp(p.ids, res)
	}
	p.c.derived.note(changes)
	return changes, err
}
