package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// A Source evaluates expressions of PromQL. It is safe for concurrent use.
type Source interface {
	// Range evaluates an expression at the times from start to end that are step apart, and calls each with the labels and points of
	// every series of the result. The points are valid until each returns.
	Range(ctx context.Context, expr string, start, end time.Time, step time.Duration, each func(l labels.Labels, points []promql.FPoint) error) error
}

// Queries returns a Source that evaluates expressions with an engine of Prometheus.
func Queries(engine promql.QueryEngine, data storage.Queryable) Source { return &queries{engine, data} }

type queries struct {
	engine promql.QueryEngine
	data   storage.Queryable
}

// Range implements [Source].
func (s *queries) Range(ctx context.Context, expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error {
	q, err := s.engine.NewRangeQuery(ctx, s.data, nil, expr, start, end, step)
	if err != nil {
		return err
	}
	defer q.Close()
	res := q.Exec(ctx)
	m, err := res.Matrix()
	if err != nil {
		return fmt.Errorf("%s: %w", expr, err)
	}
	for _, s := range m {
		if err := each(s.Metric, s.Floats); err != nil {
			return err
		}
	}
	return nil
}

// HostsOf returns a function that returns the names of all hosts with series in a store, for a Config.
func HostsOf(s series.Store) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		list, err := s.Strings(ctx, series.LabelValue, HostLabel)
		if err != nil {
			return nil, err
		}
		for i, value := range list {
			list[i] = names.Pair{Name: HostLabel, Value: value}.Text()
		}
		return list, nil
	}
}
