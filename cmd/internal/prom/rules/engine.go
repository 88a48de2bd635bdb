package rules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// DefaultInterval is the interval of groups without one, as in Prometheus.
const DefaultInterval = time.Minute

// A Config configures an Engine.
type Config struct {
	Data     storage.Queryable  // the series that rules read, besides those of recording rules
	Query    store.EngineConfig // limits of an evaluation
	Interval time.Duration      // of groups without one; 0 means DefaultInterval
	Memory   store.MemoryConfig // limits of what recording rules compute

	// Observe gets the active alerts of each alerting rule after an evaluation. Calls do not overlap.
	Observe func(Evaluation)

	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log receives the errors of rules; nil discards them.
	Log *slog.Logger
}

// An Evaluation is the result of evaluating an alerting rule.
type Evaluation struct {
	Rule   string // its name, unique among the rules that are loaded
	Alert  string // its name in the file
	Expr   string
	Labels labels.Labels // of the rule, with templates
	Time   time.Time
	Alerts []Alert // active ones, in the order of their labels
	Err    error   // why it could not be evaluated: the alerts are those of the last evaluation
}

// An Engine evaluates rules. It is safe for concurrent use.
type Engine struct {
	cfg      Config
	engine   *store.Engine
	recorded *store.Memory
	data     storage.Queryable

	observing sync.Mutex

	mu     sync.Mutex
	groups []*group
	loaded chan struct{} // closed when other files are loaded
}

// New returns an Engine without rules.
func New(cfg Config) *Engine {
	if cfg.Interval <= 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{cfg: cfg, engine: store.NewEngine(cfg.Query), recorded: store.NewMemory(cfg.Memory), loaded: make(chan struct{})}
	e.data = store.Joined(cfg.Data, e.recorded)
	return e
}

// Recorded returns the series of recording rules and of alerts.
func (e *Engine) Recorded() storage.Queryable { return e.recorded }

// Load replaces all rules. A rule of a group with the same name and file, and with the same name and labels, keeps its alerts; others begin
// without. The series of rules that are gone end.
func (e *Engine) Load(files []*File) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.groups
	e.groups = nil
	count := map[string]int{}
	for _, f := range files {
		for _, from := range f.groups {
			g := from.fresh()
			if g.interval == 0 {
				g.interval = e.cfg.Interval
			}
			for _, r := range g.rules {
				if r.alerting {
					count[r.name]++
				}
			}
			e.groups = append(e.groups, g)
		}
	}
	taken := map[string]bool{}
	for _, g := range e.groups {
		for i, r := range g.rules {
			if r.id = r.name; count[r.name] > 1 {
				r.id = fmt.Sprintf("%s (%s, rule %d)", r.name, g.name, i+1)
			}
			for n := 2; taken[r.id] && r.alerting; n++ {
				r.id = fmt.Sprintf("%s (%s, rule %d, %d)", r.name, g.name, i+1, n)
			}
			taken[r.id] = r.alerting || taken[r.id]
		}
		if i := slices.IndexFunc(old, func(o *group) bool { return o.name == g.name && o.file == g.file }); i >= 0 {
			g.inherit(old[i])
			old = slices.Delete(slices.Clone(old), i, i+1)
		}
	}
	now := e.cfg.Now()
	for _, g := range old {
		g.mu.Lock()
		for _, series := range g.before {
			e.end(series, now)
		}
		g.mu.Unlock()
	}
	close(e.loaded)
	e.loaded = make(chan struct{})
}

// end ends series.
func (e *Engine) end(series map[string]labels.Labels, at time.Time) {
	for _, l := range series {
		if err := e.append(l, at.UnixMilli(), store.Stale()); err != nil {
			e.cfg.Log.Warn("a series of a rule cannot be ended", "series", l.String(), "err", err)
		}
	}
}

// append adds a sample to the series in memory. A series may be that of another rule too: its first sample of a time counts.
func (e *Engine) append(l labels.Labels, t int64, v float64) error {
	err := e.recorded.Append(l, t, v)
	if errors.Is(err, storage.ErrDuplicateSampleForTimestamp) || errors.Is(err, storage.ErrOutOfOrderSample) {
		return nil
	}
	return err
}

// AlertingRules returns the unique names of the alerting rules.
func (e *Engine) AlertingRules() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, g := range e.groups {
		for _, r := range g.rules {
			if r.alerting {
				list = append(list, r.id)
			}
		}
	}
	return list
}

// Run evaluates the rules at their intervals until the context is done.
func (e *Engine) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		e.mu.Lock()
		groups, loaded := e.groups, e.loaded
		e.mu.Unlock()
		some, cancel := context.WithCancel(ctx)
		var done sync.WaitGroup
		for _, g := range groups {
			done.Go(func() { e.runGroup(some, g) })
		}
		select {
		case <-loaded:
		case <-ctx.Done():
		}
		cancel()
		done.Wait()
	}
	return context.Cause(ctx)
}

// runGroup evaluates a group at the multiples of its interval. It leaves out those for which it is late.
func (e *Engine) runGroup(ctx context.Context, g *group) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := e.cfg.Now()
		next := now.Truncate(g.interval).Add(g.interval)
		timer.Reset(next.Sub(now))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			e.evaluate(ctx, g, next, true)
		}
	}
}

// Walk evaluates the rules from start to end at their intervals, in the order of time, for archives.
func (e *Engine) Walk(ctx context.Context, start, end time.Time) error {
	e.mu.Lock()
	groups := e.groups
	e.mu.Unlock()
	next := make([]time.Time, len(groups))
	for i := range next {
		next[i] = start
	}
	for len(groups) > 0 {
		first := 0
		for i := range next {
			if next[i].Before(next[first]) {
				first = i
			}
		}
		if next[first].After(end) {
			return nil
		}
		e.evaluate(ctx, groups[first], next[first], false)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next[first] = next[first].Add(groups[first].interval)
	}
	return nil
}

// query evaluates an expression at a time.
func (e *Engine) query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := e.engine.NewInstantQuery(ctx, e.data, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, res.Err
	}
	switch v := res.Value.(type) {
	case promql.Vector:
		list := make(promql.Vector, 0, len(v)) // the query has the memory of v
		for _, s := range v {
			if s.H == nil {
				list = append(list, s)
			}
		}
		return list, nil
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}, nil
	}
	return nil, errors.New("rule result is not a vector or scalar")
}
