package rules

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// A group is a list of rules that are evaluated together.
type group struct {
	name, file       string
	interval, offset time.Duration
	limit            int

	mu     sync.Mutex
	rules  []*rule
	before []map[string]labels.Labels // the series of each rule at its last evaluation
	took   time.Duration
	at     time.Time // of the last evaluation
}

// fresh returns the group without alerts.
func (g *group) fresh() *group {
	c := &group{name: g.name, file: g.file, interval: g.interval, offset: g.offset, limit: g.limit, before: make([]map[string]labels.Labels, len(g.rules))}
	for _, r := range g.rules {
		own := *r
		own.active = map[uint64]*Alert{}
		c.rules = append(c.rules, &own)
	}
	return c
}

// inherit takes the alerts of the rules that the group had before it was loaded again. Series of other rules are ended by the next evaluation.
func (g *group) inherit(old *group) {
	old.mu.Lock()
	defer old.mu.Unlock()
	g.took, g.at = old.took, old.at
	used := make([]bool, len(old.rules))
	for i, r := range g.rules {
		for j, o := range old.rules {
			if used[j] || o.name != r.name || o.alerting != r.alerting || !labels.Equal(o.labels, r.labels) {
				continue
			}
			used[j] = true
			g.before[i] = old.before[j]
			for key, a := range o.active {
				own := *a
				r.active[key] = &own
			}
			r.at, r.health, r.lastErr, r.took = o.at, o.health, o.lastErr, o.took
			break
		}
	}
	gone := map[string]labels.Labels{}
	for j, series := range old.before {
		if !used[j] {
			maps.Copy(gone, series)
		}
	}
	if len(gone) > 0 {
		g.before = append(g.before, gone)
	}
}

// late is how long after its time a live group may evaluate a rule for that time: a collector has only current values.
const late = 3 * time.Second

// evaluate evaluates the rules of a group, at a time that is now if they are live.
func (e *Engine) evaluate(ctx context.Context, g *group, ts time.Time, live bool) {
	start := time.Now()
	for i, r := range g.rules {
		if ctx.Err() != nil {
			return
		}
		if now := e.cfg.Now(); live && now.Sub(ts) > late {
			ts = now.Truncate(time.Millisecond)
		}
		e.evaluateRule(ctx, g, i, r, ts)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if extra := g.before[len(g.rules):]; len(extra) > 0 {
		e.end(extra[0], ts)
		g.before = g.before[:len(g.rules)]
	}
	g.took, g.at = time.Since(start), ts
}

func (e *Engine) evaluateRule(ctx context.Context, g *group, i int, r *rule, ts time.Time) {
	start := time.Now()
	scratch := *r // readers do not wait for queries
	g.mu.Lock()
	scratch.active = make(map[uint64]*Alert, len(r.active))
	for key, a := range r.active {
		own := *a
		scratch.active[key] = &own
	}
	g.mu.Unlock()
	vector, err := scratch.evaluate(ctx, e.query, ts, g.offset, g.limit)
	if err != nil && ctx.Err() != nil {
		return
	}
	series := e.keep(g, i, vector, ts, &err)
	g.mu.Lock()
	if r.active = scratch.active; series != nil {
		g.before[i] = series
	}
	if err != nil && (r.lastErr == nil || r.lastErr.Error() != err.Error()) {
		e.cfg.Log.Warn("a rule cannot be evaluated", "file", g.file, "group", g.name, "rule", r.name, "err", err)
	}
	r.health, r.lastErr, r.took, r.at = good, err, time.Since(start), ts
	if err != nil {
		r.health = bad
	}
	var ev Evaluation
	if r.alerting && e.cfg.Observe != nil {
		ev = Evaluation{Rule: r.id, Alert: r.name, Expr: r.expr, Labels: r.labels, Time: ts, Err: err, Alerts: r.alerts()}
	}
	g.mu.Unlock()
	if ev.Rule != "" {
		e.observing.Lock()
		defer e.observing.Unlock()
		e.cfg.Observe(ev)
	}
}

// keep adds the samples of a rule to the series in memory, and ends those that it no longer has.
func (e *Engine) keep(g *group, i int, vector promql.Vector, ts time.Time, err *error) map[string]labels.Labels {
	if *err != nil {
		return nil
	}
	series := make(map[string]labels.Labels, len(vector))
	for _, s := range vector {
		if failed := e.append(s.Metric, s.T, s.F); failed != nil {
			*err = failed
			continue
		}
		series[string(s.Metric.Bytes(nil))] = s.Metric
	}
	for key, l := range g.before[i] {
		if _, ok := series[key]; ok {
			continue
		}
		if failed := e.append(l, ts.Add(-g.offset).UnixMilli(), store.Stale()); failed != nil {
			*err = errors.Join(*err, failed)
		}
	}
	return series
}

// alerts returns the active alerts, in the order of their labels.
func (r *rule) alerts() []Alert {
	list := make([]Alert, 0, len(r.active))
	for _, a := range r.active {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b Alert) int { return labels.Compare(a.Labels, b.Labels) })
	return list
}

// A GroupState describes a group.
type GroupState struct {
	Name, File string
	Interval   time.Duration
	Limit      int
	Rules      []RuleState
	Took       time.Duration // by the last evaluation
	Evaluated  time.Time     // zero before the first evaluation
}

// A RuleState describes a rule.
type RuleState struct {
	Name        string
	Alerting    bool
	Query       string
	For, Keep   time.Duration
	Labels      labels.Labels
	Annotations labels.Labels
	State       State   // of an alerting rule
	Alerts      []Alert // active ones
	Health      string  // "ok", "err" or "unknown"
	Err         error   // of the last evaluation
	Took        time.Duration
	Evaluated   time.Time
}

// Groups returns the groups and the states of their rules.
func (e *Engine) Groups() []GroupState {
	e.mu.Lock()
	groups := e.groups
	e.mu.Unlock()
	list := make([]GroupState, 0, len(groups))
	for _, g := range groups {
		list = append(list, g.state())
	}
	return list
}

func (g *group) state() GroupState {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := GroupState{Name: g.name, File: g.file, Interval: g.interval, Limit: g.limit, Took: g.took, Evaluated: g.at}
	for _, r := range g.rules {
		s.Rules = append(s.Rules, RuleState{
			Name: r.name, Alerting: r.alerting, Query: r.query, For: r.hold, Keep: r.keep, Labels: r.labels, Annotations: r.annotations,
			State: r.state(), Alerts: r.alerts(), Health: r.health, Err: r.lastErr, Took: r.took, Evaluated: r.at,
		})
	}
	return s
}
