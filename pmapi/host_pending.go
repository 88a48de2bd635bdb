package pmapi

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// maxStarted is how long a request may be that is sent without a goroutine that waits for it: a socket takes
// this much at once where nothing else is on the way.
const maxStarted = 4 << 10

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
func (f *fetcher) startFetch(ctx context.Context, p profile, ids []pcp.PMID, until time.Time) (started bool, err error) {
	if !f.on.stream.eager() {
		return false, nil
	}
	gen, want, err := f.fetchRequest(p, ids)
	if err != nil || len(f.on.out) > maxStarted {
		return false, err
	}
	// Most answers are there when they are looked for, and need no deadline, which costs a timer.
	if err := f.on.beginUntil(ctx, time.Time{}); err != nil {
		return false, err
	}
	f.pending = pending{want: want, until: until}
	if f.on.timeout > 0 {
		f.pending.deadline = time.Now().Add(f.on.timeout)
		if f.pending.deadline.Before(until) {
			f.pending.until = f.pending.deadline
		}
	}
	f.on.profileGen = gen
	if err := f.on.write(); err != nil {
		f.pending.answered, f.pending.err = true, err
	}
	return true, nil
}

// ready waits for the answer to a fetch that was started, and reports whether it has come or the request has failed.
func (f *fetcher) ready(ctx context.Context) bool {
	p := &f.pending
	if p.answered {
		return true
	}
	p.body, p.err = f.on.tryAnswer(p.want)
	late := errors.Is(p.err, errNothingYet)
	if late && f.on.extend(ctx, p.until) {
		p.body, p.err = f.on.answer(p.want)
		late = errors.Is(p.err, os.ErrDeadlineExceeded)
	}
	p.answered = !late || !f.on.extend(ctx, p.deadline)
	return p.answered
}

// finishPending takes in the answer to a fetch that was started, for which it waits as long as a fetch may take.
func (f *fetcher) finishPending(ctx context.Context, ids []pcp.PMID, res *pcp.Result) (Changes, error) {
	if !f.pending.answered {
		f.pending.until = f.pending.deadline
		f.ready(ctx)
	}
	body, err := f.pending.body, f.pending.err
	f.pending = pending{}
	return f.finishFetch(ctx, ids, body, err, nil, res, false)
}
