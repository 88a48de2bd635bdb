package pmlogger

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// Reasons for a Recorder to end by itself.
var (
	ErrSampleLimit = errors.New("sample limit reached")
	ErrByteLimit   = errors.New("byte limit reached")
	ErrRunTime     = errors.New("end of run time")

	// ErrFull means that a file of the archive has reached its limit, that of its format or of the
	// system. A new archive can continue the recording.
	ErrFull = errors.New("archive is full")
)

// finishTime is how long a recorder that ends waits for the answers of a sample that it has begun: the first sample of a host needs its metadata, too,
// which takes some seconds when many hosts begin.
const finishTime = 10 * time.Second

// finishing returns a context that is done a time after ctx, and a function that releases it.
func finishing(ctx context.Context, d time.Duration) (context.Context, func()) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-late.Done():
		}
	})
	return late, func() {
		stop()
		cancel(nil)
	}
}

// sample fetches the groups of a task and writes a record for each. If the recording ends meanwhile, it completes the sample: what the
// collector has answered would be lost, and of many hosts that end at the same time many have a sample under way.
func (r *Recorder) sample(ctx context.Context, t *task, due time.Time, missed int) error {
	if ctx.Err() != nil {
		return nil
	}
	ending := ctx
	ctx, release := finishing(ctx, finishTime)
	defer release()
	if ok, err := r.out.room(); !ok {
		if err == nil && r.cfg.Sampled != nil {
			r.report(t, due, missed, 0, errNoRoom)
		}
		return err
	}
	bytes, metrics := int64(0), 0
	var why error
	for _, g := range slices.Clone(t.groups) {
		changes, err := r.fetch(ending, ctx, g)
		if err != nil {
			if ctx.Err() != nil || ending.Err() != nil && r.from.lost {
				return nil
			}
			if errors.Is(err, errChanged) {
				return err
			}
			why = err
			continue // as in C: the next group finds the connection lost too, or reconnects
		}
		n, err := r.write(ctx, t, g, changes)
		if lost(err) && ctx.Err() == nil { // before the record was written
			r.disconnected(err)
			why = err
			continue
		}
		if err != nil {
			if err := r.out.space.check(err, r.out.base); err != nil {
				return r.out.atLimit(err)
			}
			why = err
			continue
		}
		bytes += n
		metrics += len(g.ids)
	}
	if err := r.out.flush(); err != nil {
		return err
	}
	if r.cfg.Sampled != nil {
		r.report(t, due, missed, bytes, why)
	}
	if r.cfg.Report && !t.sized && metrics > 0 {
		t.sized = true
		t.reportSize(r.log, bytes, metrics)
	}
	return r.out.sampled()
}

// fetch fetches a group. It first restores a lost connection, unless the recording ends.
func (r *Recorder) fetch(ending, ctx context.Context, g *group) (wire.State, error) {
	if r.from.lost {
		if err := r.from.restore(ending, r.plan.tasks); err != nil {
			return 0, err
		}
		if err := r.out.mark(); err != nil {
			return 0, err
		}
	}
	if err := r.values.profile(g); err != nil {
		return 0, err
	}
	changes, err := r.values.fetch(ctx, g)
	if err != nil {
		if ctx.Err() == nil && (lost(err) || !errors.Is(err, syscall.ETIMEDOUT)) {
			r.disconnected(err)
		}
		return 0, err
	}
	return changes, nil
}

// disconnected notes that the connection is lost.
func (r *Recorder) disconnected(err error) {
	r.from.lose(err)
	r.dict.gone()
}

// write writes the fetched values, after the required metadata. It returns the length of the
// record.
func (r *Recorder) write(ctx context.Context, t *task, g *group, changes wire.State) (int64, error) {
	v := &r.values
	r.clock = v.res.Time
	v.res.Time = r.out.stamp(v.res.Time, changes&wire.AddAgent != 0)
	events, err := v.prepare(g, r.plan, &r.dict)
	if err != nil {
		return 0, err
	}
	// Values are valid until the next request, and metadata need requests: encode the record
	// first.
	if err := v.encode(r.out.w.Label().Version); err != nil {
		return 0, err
	}
	g.records++
	r.dict.next(v.res.Time)
	if changes == 0 && len(events) == 0 && r.dict.steady(g, v) {
		return r.out.put(v.res.Time, v.record)
	}
	if err := r.changed(ctx, changes); err != nil {
		return 0, err
	}
	for _, id := range events {
		if err := r.dict.eventMetric(ctx, id); err != nil {
			return 0, err
		}
	}
	if asked, err := r.dict.ahead(ctx, t, v.ids); err != nil {
		return 0, err
	} else if asked {
		defer r.from.c.Rest()
	}
	if g.last == nil {
		g.last = make(map[pcp.PMID]*instances)
	}
	for id, pairs := range v.sets() {
		if err := r.dict.put(ctx, t, g, id, pairs); err != nil {
			return 0, err
		}
	}
	return r.out.put(v.res.Time, v.record)
}

// changed handles changes at the collector.
func (r *Recorder) changed(ctx context.Context, changes wire.State) error {
	if changes&wire.LabelChange != 0 {
		if err := r.dict.relabel(ctx); err != nil {
			return err
		}
	}
	if changes&wire.NamesChange != 0 {
		r.compiler().discover(ctx)
	}
	if changes&wire.AddAgent == 0 {
		return nil
	}
	// Metrics of a restarted agent may have lost their counts.
	if err := r.from.validate(ctx, r.plan.tasks); err != nil {
		return err
	}
	return r.out.mark()
}
