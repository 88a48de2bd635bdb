package pmie

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)

// retryAfter is the time until missing metrics are tried again, in seconds, if the
// interval is not shorter.
const retryAfter = 5

// Run evaluates the rules, until the end of the window or until ctx is done. It returns nil at the
// end, also if there are no rules. It may be called again, with another window or with more rules;
// then rules have no values, and archives are read from the start of the window.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	e.src.ctx = ctx
	defer e.get.flights.Wait()
	defer cancel()
	if e.failure != nil {
		return e.failure
	}
	if len(e.get.tasks) == 0 {
		return nil
	}
	if err := e.rewind(); err != nil {
		return err
	}
	e.src.release()
	for _, t := range e.get.tasks {
		t.due, t.epoch, t.tick, t.retry = e.get.start, e.get.start, 0, 0
		t.abandon()
		if t.waiting() {
			t.retry = min(retryAfter, t.delta)
		}
	}
	for {
		t := e.get.tasks[0]
		if e.now = t.due; e.now > e.stop {
			break
		}
		if err := e.sleep(ctx, t.due); err != nil {
			return err
		}
		if t.retry > 0 {
			t.abandon()
			if err := e.get.revive(t); err != nil {
				return err
			}
		}
		e.traceTask(t)
		e.tell(t.delta)
		if err := e.evaluate(t); err != nil {
			return err
		}
		t.reschedule(e.now)
		if e.src.archives == nil {
			e.now = clockTime(time.Now())
			t.keepUp(e.now)
		}
		e.enqueue()
	}
	if !e.cfg.Quiet {
		e.notify(slog.LevelInfo, "evaluator exiting\n")
	}
	return nil
}

// rewind sets a run back to the start of the window.
func (e *Engine) rewind() error {
	if e.ran {
		e.Forget()
	}
	e.ran = true
	if e.src.archives == nil {
		return nil
	}
	start := timestamp(e.get.start)
	for _, t := range e.get.tasks {
		for _, h := range t.hosts {
			h.fetches, h.ahead = 0, nil
			if h.c == nil {
				continue
			}
			if a, ok := h.c.Archive(); ok {
				if err := e.get.position(a, start, t.delta); err != nil {
					return err
				}
			}
		}
		for _, r := range t.rules {
			r.X.Restart()
		}
	}
	return nil
}

// clockTime returns a time in seconds.
func clockTime(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// reschedule sets the next due time of a task that was evaluated.
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

// mostLate is the maximum number of missed evaluations that are made up for.
const mostLate = 10

// keepUp adjusts the time of the next evaluation after the clock was set. After a step back it is not later than an
// interval from now. After a step forward, or when the process was stopped, only a few missed evaluations are made up
// for: each would find the current values, and repeat the actions of rules.
func (t *task) keepUp(now float64) {
	switch {
	case t.due > now+t.delta:
		t.due = now + t.delta
	case t.retry == 0 && t.due < now-mostLate*t.delta:
		t.tick = int((now-t.epoch)/t.delta) + 1
		t.due = t.epoch + float64(t.tick)*t.delta
	}
}

// enqueue puts the first task in its new place: before those that are due at the same
// time.
func (e *Engine) enqueue() {
	t := e.get.tasks[0]
	i := 1
	for i < len(e.get.tasks) && t.due > e.get.tasks[i].due {
		e.get.tasks[i-1] = e.get.tasks[i]
		i++
	}
	e.get.tasks[i-1] = t
}

// sleep waits until a time, if rules are evaluated over live values.
func (e *Engine) sleep(ctx context.Context, until float64) error {
	if e.src.archives != nil {
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
	if err := e.get.fetch(t); err != nil {
		return err
	}
	p := e.planned(t)
	if p != nil {
		p.Run(&e.act.ev)
	}
	e.act.now = e.now
	for i, r := range t.rules {
		var condition *eval.Cell
		if p != nil {
			condition = p.Conds[i]
		}
		e.act.evaluate(r, condition)
	}
	e.tally()
	if e.cfg.Publish != nil {
		e.publish(t)
	} else {
		e.show(t)
	}
	e.flush()
	return e.failure
}

// Limits of how often the trees of rules are evaluated before a plan is made again, and of how often
// a plan must have held for the least. A plan that other rules may join is made again after the
// most.
const (
	leastTrees = 2
	mostTrees  = 256
	longPlan   = 64
)

// planned returns the plan for the values just fetched, nil if there is none. Only archives have
// one: the evaluation of live values takes too little of each second to be worth a plan.
func (e *Engine) planned(t *task) *eval.Plan {
	if p := t.plan; p != nil {
		holds := p.Holds()
		if holds && !(p.Less && p.Runs >= mostTrees) {
			return p
		}
		t.abandon()
		switch {
		case holds:
			t.trees = 0
		case p.Runs >= longPlan:
			t.pause, t.trees = leastTrees, leastTrees
		default:
			t.pause = min(2*t.pause, mostTrees)
			t.trees = t.pause
		}
	}
	if e.src.archives == nil || e.cfg.Verbose != Silent || e.cfg.Publish != nil || e.alone || t.waiting() {
		return nil
	}
	if t.pause == 0 {
		t.pause, t.trees = leastTrees, leastTrees
	}
	if t.trees--; t.trees >= 0 {
		return nil
	}
	t.trees = mostTrees // if no rule can be planned
	rules := make([]*eval.Expr, len(t.rules))
	for i, r := range t.rules {
		rules[i] = r.X
	}
	t.plan = eval.NewPlan(rules)
	return t.plan
}

// Forget removes the values of all rules, as before the first evaluation.
func (e *Engine) Forget() {
	for _, t := range e.get.tasks {
		t.abandon()
		for _, r := range t.rules {
			r.X.Unknown()
		}
	}
}
