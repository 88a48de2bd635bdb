package pmapi

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// maxStarted is how long a request may be that is sent without a goroutine that waits for it: a socket takes
// this much at once where nothing else is on the way.
const maxStarted = 4 << 10

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
	h := p.c.host
	if !h.pending.answered {
		h.pending.until = h.pending.deadline
		h.ready(ctx)
	}
	body, err := h.pending.body, h.pending.err
	h.pending = pending{}
	changes, err := h.finishFetch(ctx, p.ids, body, err, nil, res, false)
	if err == nil {
		p.c.types.stamp(p.ids, res)
	}
	p.c.derived.note(changes)
	return changes, err
}

// pending is the state of a fetch that was started.
type pending struct {
	want     wire.Type
	until    time.Time // how long ready waits
	deadline time.Time // of the request
	answered bool
	body     []byte
	err      error
}

// startFetch sends the request of a fetch if that can be done at once.
func (h *host) startFetch(ctx context.Context, p profile, ids []pcp.PMID, until time.Time) (started bool, err error) {
	if !h.stream.eager() {
		return false, nil
	}
	gen, want, err := h.fetchRequest(p, ids)
	if err != nil || len(h.out) > maxStarted {
		return false, err
	}
	// Most answers are there when they are looked for, and need no deadline, which costs a timer.
	if err := h.beginUntil(ctx, time.Time{}); err != nil {
		return false, err
	}
	h.pending = pending{want: want, until: until}
	if h.requestTimeout > 0 {
		h.pending.deadline = time.Now().Add(h.requestTimeout)
		if h.pending.deadline.Before(until) {
			h.pending.until = h.pending.deadline
		}
	}
	h.sent = gen
	if err := h.write(); err != nil {
		h.pending.answered, h.pending.err = true, err
	}
	return true, nil
}

// ready waits for the answer to a fetch that was started, and reports whether it has come or the request has failed.
func (h *host) ready(ctx context.Context) bool {
	p := &h.pending
	if p.answered {
		return true
	}
	h.stream.waitless = true
	p.body, p.err = h.answer(p.want)
	h.stream.waitless = false
	late := errors.Is(p.err, errNothingYet)
	if late && h.extend(ctx, p.until) {
		p.body, p.err = h.answer(p.want)
		late = errors.Is(p.err, os.ErrDeadlineExceeded)
	}
	p.answered = !late || !h.extend(ctx, p.deadline)
	return p.answered
}

// extend has a request be over at another time than before, unless it is given up or that is past.
func (h *host) extend(ctx context.Context, deadline time.Time) bool {
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || ctx.Err() != nil {
		return false
	}
	h.setDeadline(deadline)
	return true
}
