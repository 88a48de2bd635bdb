package pmie

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A flight is a request to a live host in its own goroutine: the goroutine changes nothing that
// the Engine uses, but sends a function that handles the answer.
type flight struct {
	landed chan func() // gets one
	began  time.Time
	took   time.Duration // once it has landed
}

// launch asks a host in a goroutine. The Engine's goroutine calls the function that work
// returns.
func (get *fetcher) launch(h *host, began time.Time, work func(ctx context.Context) (land func())) {
	f := &flight{landed: make(chan func(), 1), began: began}
	h.flight = f
	ctx, cancel := get.ctx, context.CancelFunc(func() {})
	if get.cfg.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, get.cfg.Timeout)
	}
	get.flights.Go(func() {
		defer cancel()
		land := work(ctx)
		f.took = time.Since(f.began)
		f.landed <- land
	})
}

// patience is how long the rules of a task wait for hosts that answered in time before.
func (t *task) patience() time.Duration { return time.Duration(t.delta / 2 * float64(time.Second)) }

// await handles the answers of hosts. A host that does not answer within half of the
// interval is not waited for again until it has answered sooner than that.
func (get *fetcher) await(t *task) error {
	var timer *time.Timer
	var expired bool
	for _, h := range t.hosts {
		f := h.flight
		if f == nil {
			continue
		}
		select {
		case land := <-f.landed:
			get.land(t, h, land)
			continue
		default:
		}
		if h.late {
			continue
		}
		if timer == nil {
			timer = time.NewTimer(t.patience())
			defer timer.Stop()
		}
		if !expired {
			select {
			case land := <-f.landed:
				get.land(t, h, land)
				continue
			case <-get.ctx.Done():
				return context.Cause(get.ctx)
			case <-timer.C:
				expired = true
			}
		}
		h.late = true
		if !get.cfg.Quiet {
			get.notify(slog.LevelWarn, fmt.Sprintf("pmcd %s has not answered for %v: its metrics are unknown until it does\n", h.conn, t.patience()))
		}
	}
	return nil
}

func (get *fetcher) land(t *task, h *host, land func()) {
	h.late = h.flight.took > t.patience()
	h.flight = nil
	land()
}

// gather fetches from all live hosts at once. It asks all of them before it waits for the first, and leaves those
// that do not answer in time to goroutines.
func (get *fetcher) gather(t *task) error {
	began := time.Now()
	until := began.Add(t.patience())
	for _, h := range t.hosts {
		h.ok, h.err = false, nil
		if h.down || h.c == nil || h.flight != nil || len(h.ids) == 0 {
			continue
		}
		if h.late || h.recheck || get.cfg.Timeout > 0 {
			get.launch(h, began, get.asking(h))
			continue
		}
		h.pending, h.started, h.err = h.c.StartFetch(get.ctx, h.ids, until)
		if h.err == nil && !h.started {
			get.launch(h, began, get.asking(h))
		}
	}
	for _, h := range t.hosts {
		if !h.started {
			continue
		}
		h.started = false
		if !h.pending.Ready(get.ctx) {
			get.launch(h, began, get.answering(h, h.pending.Finish))
			continue
		}
		changes, err := h.pending.Finish(get.ctx, &h.res)
		if err == nil && changes&(pmapi.AgentChange|pmapi.NamesChange) != 0 {
			get.launch(h, began, get.answering(h, func(context.Context, *pcp.Result) (pmapi.Changes, error) { return changes, nil }))
			continue
		}
		h.ok, h.err = err == nil, err
	}
	if get.ctx.Err() != nil {
		return context.Cause(get.ctx)
	}
	return get.await(t)
}

// asking returns a function that fetches from a host.
func (get *fetcher) asking(h *host) func(ctx context.Context) (land func()) {
	c, ids := h.c, h.ids
	return get.answering(h, func(ctx context.Context, res *pcp.Result) (pmapi.Changes, error) { return c.FetchInto(ctx, ids, res) })
}

// answering returns a function that ends a fetch from a host and requests the changes that the
// host reports.
func (get *fetcher) answering(h *host, fetch func(ctx context.Context, res *pcp.Result) (pmapi.Changes, error)) func(ctx context.Context) (land func()) {
	c, metrics, recheck := h.c, h.metrics, h.recheck
	return func(ctx context.Context) func() {
		changes, err := fetch(ctx, &h.res)
		adapt := func() {}
		if recheck = recheck || changes&(pmapi.AgentChange|pmapi.NamesChange) != 0; recheck && err == nil {
			adapt = get.review(ctx, h, c, metrics)
		}
		return func() {
			h.ok, h.err, h.recheck = err == nil, err, recheck
			adapt()
		}
	}
}

// revive tries hosts that are down and metrics that are missing.
func (get *fetcher) revive(t *task) error {
	for _, h := range t.hosts {
		if h.flight != nil || !h.down && len(h.waits) == 0 {
			continue
		}
		if get.archives != nil {
			get.retry(t, h)(get.ctx)()
			continue
		}
		get.launch(h, time.Now(), get.retry(t, h))
	}
	if err := get.await(t); err != nil {
		return err
	}
	if !t.waiting() {
		t.epoch, t.tick, t.retry = t.due, 0, 0
	}
	return nil
}

// retry returns a function that connects to a host and requests its missing metrics.
func (get *fetcher) retry(t *task, h *host) func(ctx context.Context) (land func()) {
	c, down, waits := h.c, h.down, h.waits
	return func(ctx context.Context) func() {
		made := c == nil
		var err error
		switch {
		case made:
			c, err = get.cfg.Dial(ctx, h.conn)
		case down:
			err = c.Reconnect(ctx)
		}
		if err != nil {
			return func() {
				if made {
					get.unreached(h.conn, err)
				}
			}
		}
		found := make([]metadata, len(waits))
		for i, m := range waits {
			found[i] = get.lookUp(ctx, c, m.Name)
		}
		return func() {
			if h.c = c; h.down {
				h.down, h.recheck = false, true // it may be another collector
				if old := get.contexts[h.conn]; old != nil && get.archives == nil {
					old.Close()
					delete(get.contexts, h.conn)
				}
				get.changed(h.conn, isBack)
			}
			h.waits = nil
			h.down = len(waits) > 0 && broken(found[0].nameErr)
			for i, m := range waits {
				switch get.known(m, found[i], true) {
				case ready:
					get.enlist(t, h, m)
				case later:
					h.waits = append(h.waits, m)
				}
			}
		}
	}
}
