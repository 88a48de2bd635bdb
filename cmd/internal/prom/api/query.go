package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
)

// errTruncated is the warning for a result of which a part was left out.
var errTruncated = errors.New("results truncated due to limit")

// prepare returns the context and options of a query.
func (h *Handler) prepare(r *http.Request) (context.Context, context.CancelFunc, promql.QueryOpts, error) {
	ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Engine.Timeout) // also of the time in the queue
	if text := r.Form.Get("timeout"); text != "" {
		d, err := parseDuration(text)
		if err != nil {
			cancel()
			return nil, nil, nil, invalid("timeout", err)
		}
		cancel()
		ctx, cancel = context.WithTimeout(r.Context(), min(d, h.cfg.Engine.Timeout))
	}
	var lookback time.Duration
	if text := r.Form.Get("lookback_delta"); text != "" {
		d, err := parseDuration(text)
		if err != nil {
			cancel()
			return nil, nil, nil, badData(errors.New("error parsing lookback delta duration: " + err.Error()))
		}
		lookback = d
	}
	return ctx, cancel, promql.NewPrometheusQueryOpts(false, lookback, nil), nil
}

// query is the endpoint query: an expression at one time.
func (h *Handler) query(r *http.Request) (*result, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	at, err := timeOf(r, "time", h.cfg.Now())
	if err != nil {
		return nil, err
	}
	return h.run(r, limit, func(ctx context.Context, opts promql.QueryOpts, expr string) (promql.Query, error) {
		return h.engine.NewInstantQuery(ctx, h.data, opts, expr, at)
	})
}

// queryRange is the endpoint query_range: an expression at many times.
func (h *Handler) queryRange(r *http.Request) (*result, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	start, err := parseTime(r.Form.Get("start"))
	if err != nil {
		return nil, invalid("start", err)
	}
	end, err := parseTime(r.Form.Get("end"))
	if err != nil {
		return nil, invalid("end", err)
	}
	if end.Before(start) {
		return nil, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := parseDuration(r.Form.Get("step"))
	if err != nil {
		return nil, invalid("step", err)
	}
	if step < time.Millisecond {
		return nil, invalid("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	}
	if end.Sub(start)/step > MaxPoints {
		return nil, badData(errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"))
	}
	return h.run(r, limit, func(ctx context.Context, opts promql.QueryOpts, expr string) (promql.Query, error) {
		return h.engine.NewRangeQuery(ctx, h.data, opts, expr, start, end, step)
	})
}

// run evaluates a query.
func (h *Handler) run(r *http.Request, limit int, begin func(context.Context, promql.QueryOpts, string) (promql.Query, error)) (*result, error) {
	expr, err := exprOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel, opts, err := h.prepare(r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	q, err := begin(ctx, opts, expr)
	if err != nil && ctx.Err() != nil { // it waited for other queries
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, executed(promql.ErrQueryCanceled("query queue"))
		}
		return nil, executed(promql.ErrQueryTimeout("query queue"))
	}
	if err != nil {
		return nil, invalid("query", err)
	}
	if s, ok := q.Statement().(*parser.EvalStmt); ok {
		if err := checkSteps(s, h.cfg.Engine.MaxSamples); err != nil {
			q.Close()
			return nil, executed(err)
		}
	}
	res := q.Exec(ctx)
	if res.Err != nil {
		q.Close()
		return nil, executed(res.Err)
	}
	value, notes := res.Value, res.Warnings
	if limit > 0 {
		value, notes = truncate(value, notes, limit)
	}
	n := points(value)
	if !h.held.take(n) {
		q.Close()
		return nil, &failure{"unavailable", http.StatusServiceUnavailable, errors.New("the results of open queries have too many samples")}
	}
	out := &outcome{value: value, end: func() { q.Close(); h.held.give(n) }}
	switch param := r.Form.Get("stats"); param {
	case "":
	default:
		notes = notes.Add(fmt.Errorf("value %q for parameter \"stats\" is deprecated and will be rejected in the next major release, use \"true\" or \"all\"", param))
		fallthrough
	case "true", "all":
		out.stats = stats.NewQueryStats(q.Stats())
	}
	return &result{data: out, notes: notes, expr: expr}, nil
}

// truncate returns the first series of a value.
func truncate(value parser.Value, notes annotations.Annotations, limit int) (parser.Value, annotations.Annotations) {
	switch v := value.(type) {
	case promql.Vector:
		if len(v) > limit {
			return v[:limit], notes.Add(errTruncated)
		}
	case promql.Matrix:
		if len(v) > limit {
			return v[:limit], notes.Add(errTruncated)
		}
	}
	return value, notes
}

// queryExemplars is the endpoint query_exemplars. There are none.
func (h *Handler) queryExemplars(r *http.Request) (*result, error) {
	start, err := timeOf(r, "start", minTime())
	if err != nil {
		return nil, err
	}
	end, err := timeOf(r, "end", maxTime())
	if err != nil {
		return nil, err
	}
	if end.Before(start) {
		return nil, badData(errors.New("end timestamp must not be before start timestamp"))
	}
	_, leave, err := h.enter(r, h.room)
	if err != nil {
		return nil, err
	}
	defer leave()
	text, err := exprOf(r)
	if err != nil {
		return nil, err
	}
	expr, err := h.parser.ParseExpr(text)
	if err != nil {
		return nil, badData(err)
	}
	if len(parser.ExtractSelectors(expr)) == 0 {
		return &result{}, nil
	}
	return &result{data: []string{}}, nil
}

// parse parses the expression of a request.
func (h *Handler) parse(r *http.Request) (parser.Expr, error) {
	text, err := exprOf(r)
	if err != nil {
		return nil, err
	}
	expr, err := h.parser.ParseExpr(text)
	if err != nil {
		return nil, invalid("query", err)
	}
	return expr, nil
}

// formatQuery is the endpoint format_query.
func (h *Handler) formatQuery(r *http.Request) (*result, error) {
	_, leave, err := h.enter(r, h.room) // it takes a second for the deepest nesting
	if err != nil {
		return nil, err
	}
	defer leave()
	expr, err := h.parse(r)
	if err != nil {
		return nil, err
	}
	return &result{data: expr.Pretty(0)}, nil
}

// parseQuery is the endpoint parse_query.
func (h *Handler) parseQuery(r *http.Request) (*result, error) {
	_, leave, err := h.enter(r, h.room)
	if err != nil {
		return nil, err
	}
	defer leave()
	expr, err := h.parse(r)
	if err != nil {
		return nil, err
	}
	return &result{data: tree(expr)}, nil
}
