package store

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Defaults of an EngineConfig, and the step of subqueries.
const (
	DefaultTimeout    = 2 * time.Minute // of a query, as in Prometheus
	DefaultLookback   = 5 * time.Minute // time for which a value is current, as in Prometheus
	DefaultConcurrent = 4               // queries at once; Prometheus has 20
	SubqueryStep      = time.Minute     // of a subquery without a step, as in Prometheus
)

// An EngineConfig configures an engine. Zero fields mean the defaults.
type EngineConfig struct {
	MaxSamples int           // in memory for one query; 0 means DefaultMaxSamples
	Timeout    time.Duration // of a query; 0 means DefaultTimeout
	Lookback   time.Duration // 0 means DefaultLookback
	Concurrent int           // queries at once; others wait. 0 means DefaultConcurrent
}

// WithDefaults returns the configuration with defaults in place of zeros.
func (c EngineConfig) WithDefaults() EngineConfig {
	if c.MaxSamples <= 0 {
		c.MaxSamples = DefaultMaxSamples
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Lookback <= 0 {
		c.Lookback = DefaultLookback
	}
	if c.Concurrent <= 0 {
		c.Concurrent = DefaultConcurrent
	}
	return c
}

// An Engine is an engine of Prometheus, which is made for the first query: the summaries of its own metrics take 350 kB. It is safe
// for concurrent use.
type Engine struct {
	get func() *promql.Engine
}

// NewEngine returns an engine of Prometheus.
func NewEngine(cfg EngineConfig) *Engine {
	cfg = cfg.WithDefaults()
	return &Engine{sync.OnceValue(func() *promql.Engine {
		return promql.NewEngine(promql.EngineOpts{
			Logger:                   slog.New(slog.DiscardHandler),
			MaxSamples:               cfg.MaxSamples,
			Timeout:                  cfg.Timeout,
			LookbackDelta:            cfg.Lookback,
			ActiveQueryTracker:       tracker(make(chan struct{}, cfg.Concurrent)),
			NoStepSubqueryIntervalFn: func(int64) int64 { return SubqueryStep.Milliseconds() },
			EnableAtModifier:         true,
			EnableNegativeOffset:     true,
			Parser:                   NewParser(),
		})
	})}
}

// NewInstantQuery implements [promql.QueryEngine].
func (e *Engine) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, expr string, at time.Time) (promql.Query, error) {
	return e.get().NewInstantQuery(ctx, q, opts, expr, at)
}

// NewRangeQuery implements [promql.QueryEngine].
func (e *Engine) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, expr string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.get().NewRangeQuery(ctx, q, opts, expr, start, end, step)
}

// NewParser returns the parser of the engine, with the functions that a Prometheus without feature flags has.
func NewParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// MaxNesting is the number of operators and parentheses that an expression may have.
const MaxNesting = 500

// Flat reports whether an expression has at most MaxNesting operators and parentheses, of which each may be one level of the
// tree. The engine follows it by recursion, and prints parts of it again at each level.
func Flat(expr string) bool {
	lex := parser.Lex(expr)
	n := 0
	for {
		var item parser.Item
		lex.NextItem(&item)
		switch {
		case item.Typ == parser.EOF, item.Typ == parser.ERROR:
			return true
		case item.Typ == parser.LEFT_PAREN, item.Typ == parser.LEFT_BRACKET, item.Typ.IsOperator():
			if n++; n > MaxNesting {
				return false
			}
		}
	}
}

// Notes returns the warnings and infos of a query without those about names of counters, which do not end in _total in PCP.
func Notes(all annotations.Annotations) annotations.Annotations {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(_ string, err error) bool {
		return errors.Is(err, annotations.PossibleNonCounterInfo) || errors.Is(err, annotations.PossibleNonCounterLabelInfo)
	})
	return kept
}

// A tracker limits the number of queries at once.
type tracker chan struct{}

// GetMaxConcurrent implements [promql.QueryTracker].
func (t tracker) GetMaxConcurrent() int { return cap(t) }

// Insert waits until there is room for a query.
func (t tracker) Insert(ctx context.Context, _ string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	select {
	case t <- struct{}{}:
		return 0, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Delete makes room.
func (t tracker) Delete(int) { <-t }

// Close does nothing.
func (t tracker) Close() error { return nil }
