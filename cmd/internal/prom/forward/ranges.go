package forward

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Range calls each with the labels and points of every series of an expression at the times from start to end that are step apart. Hidden
// metrics have no values. The points are valid until each returns. It makes a Handler a source of package fleet.
func (h *Handler) Range(ctx context.Context, expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error {
	hidden, err := h.excluded(ctx)
	if err != nil {
		return err
	}
	text := expr
	if hidden != nil {
		if text, err = h.excludeFrom(expr, hidden); err != nil {
			return fmt.Errorf("%s: %w", expr, err)
		}
	}
	var points []promql.FPoint
	err = h.cfg.Engine.Range(ctx, text, start, end, step, func(of map[string]string, times []int64, values []float64) error {
		points = points[:0]
		for i, at := range times {
			points = append(points, promql.FPoint{T: at, F: values[i]})
		}
		return each(labels.FromMap(of), points)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", expr, err)
	}
	return nil
}
