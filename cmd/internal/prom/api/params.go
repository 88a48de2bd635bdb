package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Limits of times, which in milliseconds fit into 64 bits. Prometheus has the same.
func minTime() time.Time { return time.Unix(math.MinInt64/1000+62135596801, 0).UTC() }
func maxTime() time.Time { return time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC() }

func invalid(name string, err error) *failure {
	return badData(fmt.Errorf("invalid parameter %q: %w", name, err))
}

// parseTime parses seconds since 1970 or a time of RFC 3339.
func parseTime(s string) (time.Time, error) {
	if t, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(t) {
		sec, frac := math.Modf(t)
		frac = math.Round(frac*1000) / 1000
		if sec >= float64(minTime().Unix()) && sec <= float64(maxTime().Unix()) {
			return time.Unix(int64(sec), int64(frac*float64(time.Second))).UTC(), nil
		}
	} else if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	switch s {
	case minTime().Format(time.RFC3339Nano):
		return minTime(), nil
	case maxTime().Format(time.RFC3339Nano):
		return maxTime(), nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
}

// parseDuration parses seconds or a duration of Prometheus.
func parseDuration(s string) (time.Duration, error) {
	if d, err := strconv.ParseFloat(s, 64); err == nil {
		ns := d * float64(time.Second)
		if math.IsNaN(ns) || ns >= math.MaxInt64 || ns < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
}

// timeOf returns the time of a parameter, or another one if it is missing.
func timeOf(r *http.Request, name string, otherwise time.Time) (time.Time, error) {
	text := r.Form.Get(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return t, invalid(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

// limitOf returns the parameter limit, 0 for none.
func limitOf(r *http.Request) (int, error) {
	text := r.Form.Get("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, invalid("limit", err)
	case n < 0:
		return 0, invalid("limit", errors.New("limit must be non-negative"))
	}
	return n, nil
}

// exprOf returns the expression of a request.
func exprOf(r *http.Request) (string, error) {
	expr := r.Form.Get("query")
	if err := checkExpr(expr); err != nil {
		return "", invalid("query", err)
	}
	return expr, nil
}

// matchersOf returns the matchers of each match[] parameter. Each needs a matcher that refuses the empty string.
func (h *Handler) matchersOf(r *http.Request) ([][]*labels.Matcher, error) {
	list := r.Form["match[]"]
	if len(list) > MaxMatchers {
		return nil, badData(fmt.Errorf("there are %d match[] parameters, more than %d", len(list), MaxMatchers))
	}
	for _, s := range list {
		if err := checkExpr(s); err != nil {
			return nil, badData(err)
		}
	}
	sets, err := h.parser.ParseMetricSelectors(list)
	if err != nil {
		return nil, badData(err)
	}
	for _, set := range sets {
		some := false
		for _, m := range set {
			some = some || !m.Matches("")
		}
		if !some {
			return nil, badData(errors.New("match[] must contain at least one non-empty matcher"))
		}
	}
	return sets, nil
}
