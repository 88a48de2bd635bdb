package pmie

import (
	"context"
	"log/slog"
	"time"
)

// retryAfter is how soon what is missing is tried again, in seconds, if that is sooner
// than the interval.
const retryAfter = 5

// Run evaluates the rules, until the end of the window or until ctx is done. It returns nil
// at the end, also if there are no rules.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	e.ctx = ctx
	defer e.flights.Wait()
	defer cancel()
	if e.failure != nil {
		return e.failure
	}
	if len(e.tasks) == 0 {
		return nil
	}
	for _, t := range e.tasks {
		t.due, t.epoch, t.tick, t.retry = e.start, e.start, 0, 0
		if t.waiting() {
			t.retry = min(retryAfter, t.delta)
		}
	}
	for {
		t := e.tasks[0]
		if e.now = t.due; e.now > e.stop {
			break
		}
		if err := e.sleep(ctx, t.due); err != nil {
			return err
		}
		if t.retry > 0 {
			if err := e.revive(t); err != nil {
				return err
			}
		}
		e.tell(t.delta)
		if err := e.evaluate(t); err != nil {
			return err
		}
		t.reschedule(e.now)
		if e.archives == nil {
			if e.now = clockTime(time.Now()); t.due > e.now+t.delta {
				t.due = e.now + t.delta
			}
		}
		e.enqueue()
	}
	if !e.cfg.Quiet {
		e.notify(slog.LevelInfo, "evaluator exiting\n")
	}
	return nil
}

// clockTime returns a time in seconds.
func clockTime(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// waiting reports whether something that the task needs is missing.
func (t *task) waiting() bool {
	for _, h := range t.hosts {
		if h.down || len(h.waits) > 0 {
			return true
		}
	}
	return false
}

// reschedule sets when a task that was evaluated is due again.
func (t *task) reschedule(now float64) {
	if t.retry == 0 && t.waiting() {
		t.retry = min(retryAfter, t.delta)
	}
	switch {
	case t.retry == 0:
		t.tick++
		t.due = t.epoch + float64(t.tick)*t.delta
	case t.retry < t.delta:
		t.due = now + t.retry
		t.retry = min(2*t.retry, t.delta)
	default:
		t.due = now + t.delta
	}
}

// enqueue puts the first task where it belongs now: before those that are due at the
// same time.
func (e *Engine) enqueue() {
	t := e.tasks[0]
	i := 1
	for i < len(e.tasks) && t.due > e.tasks[i].due {
		e.tasks[i-1] = e.tasks[i]
		i++
	}
	e.tasks[i-1] = t
}

// sleep waits until a time, if rules are evaluated over what is live.
func (e *Engine) sleep(ctx context.Context, until float64) error {
	if e.archives != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	delay := until - clockTime(time.Now())
	if delay <= -1 && !e.cfg.Quiet {
		e.errorf("sleepTight: negative delay (%f). sched=%f, cur=%f\n", delay, until, until-delay)
	}
	timer := time.NewTimer(time.Duration(delay * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// evaluate evaluates the rules of a task.
func (e *Engine) evaluate(t *task) error {
	if err := e.fetch(t); err != nil {
		return err
	}
	for _, r := range t.rules {
		e.current, e.rule, e.fired = r.x, r, nil
		e.pass++
		if r.x.eval != nil {
			e.run(r.x)
			e.stats.Actual++
			e.settle(r)
		}
	}
	e.tally()
	e.show(t)
	return e.failure
}

// Forget has no rule know any values, as before the first evaluation.
func (e *Engine) Forget() {
	for _, t := range e.tasks {
		for _, r := range t.rules {
			r.x.unknown()
		}
	}
}
