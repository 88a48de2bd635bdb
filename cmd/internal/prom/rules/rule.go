package rules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/rules/expand"
)

// A State is the state of an alert, or the highest of a rule's alerts.
type State string

// States of alerts.
const (
	Unknown  State = "unknown" // the rule has not been evaluated
	Inactive State = "inactive"
	Pending  State = "pending" // it is active, but not yet for as long as the rule asks
	Firing   State = "firing"
)

// Health of a rule.
const (
	unknown = "unknown"
	good    = "ok"
	bad     = "err"
)

// Names of the series and labels of alerts.
const (
	alertsName   = "ALERTS"
	forStateName = "ALERTS_FOR_STATE"
	alertName    = "alertname"
	stateLabel   = "alertstate"
)

// An Alert is an element of the result of an alerting rule.
type Alert struct {
	State       State
	Labels      labels.Labels // with alertname
	Annotations labels.Labels
	Value       float64
	ActiveAt    time.Time // since when it is in the result
	FiredAt     time.Time // since when it fires

	KeepSince time.Time // since when it fires only because of keep_firing_for

	until time.Time // a restored alert stays active until then without a value
}

// maxAlerts is the number of alerts that a rule may have.
const maxAlerts = 10_000

var (
	errSameLabels = errors.New("vector contains metrics with the same labelset after applying rule labels")
	errSameAlerts = errors.New("vector contains metrics with the same labelset after applying alert labels")
)

// A rule is an alerting rule or a recording rule. The mutex of its group guards what changes.
type rule struct {
	name                string
	alerting            bool
	expr                string
	query               string // the expression as the parser prints it
	hold, keep          time.Duration
	labels, annotations labels.Labels

	id      string // its name, unique among the alerting rules that are loaded
	health  string
	lastErr error
	took    time.Duration
	at      time.Time // of the last evaluation
	active  map[uint64]*Alert
}

// state returns the highest state of its alerts.
func (r *rule) state() State {
	if r.at.IsZero() {
		return Unknown
	}
	state := Inactive
	for _, a := range r.active {
		if a.State == Firing {
			return Firing
		}
		state = a.State
	}
	return state
}

// A queryFunc evaluates an expression at a time.
type queryFunc func(ctx context.Context, expr string, at time.Time) (promql.Vector, error)

// evaluate returns the samples of a rule. Their time is that of the evaluation less the offset.
func (r *rule) evaluate(ctx context.Context, query queryFunc, ts time.Time, offset time.Duration, limit int) (promql.Vector, error) {
	vector, err := query(ctx, r.expr, ts.Add(-offset))
	if err != nil {
		return nil, err
	}
	if r.alerting {
		return r.alert(ctx, vector, query, ts, offset, limit)
	}
	b := labels.NewBuilder(labels.EmptyLabels())
	for i := range vector {
		b.Reset(vector[i].Metric)
		b.Set(names.NameLabel, r.name)
		r.labels.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
		vector[i].Metric = b.Labels()
	}
	if vector.ContainsSameLabelset() {
		return nil, errSameLabels
	}
	if limit > 0 && len(vector) > limit {
		return nil, fmt.Errorf("exceeded limit of %d with %d series", limit, len(vector))
	}
	return vector, nil
}

// alert changes the states of the alerts, and returns the samples of those that are active.
func (r *rule) alert(ctx context.Context, vector promql.Vector, query queryFunc, ts time.Time, offset time.Duration, limit int) (promql.Vector, error) {
	if len(vector) > maxAlerts {
		return nil, fmt.Errorf("%d alerts, more than %d", len(vector), maxAlerts)
	}
	now := make(map[uint64]*Alert, len(vector))
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, s := range vector {
		expanded := r.expander(ctx, s, query, ts)
		b.Reset(s.Metric)
		b.Del(names.NameLabel)
		r.labels.Range(func(l labels.Label) { b.Set(l.Name, expanded(l.Value)) })
		b.Set(alertName, r.name)
		notes := labels.NewScratchBuilder(0)
		r.annotations.Range(func(l labels.Label) { notes.Add(l.Name, expanded(l.Value)) })
		a := &Alert{State: Pending, Labels: b.Labels(), Annotations: notes.Labels(), Value: s.F, ActiveAt: ts}
		key := a.Labels.Hash()
		if now[key] != nil {
			return nil, errSameAlerts
		}
		now[key] = a
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for key, a := range now {
		if old := r.active[key]; old != nil {
			old.Value, old.Annotations, old.KeepSince, old.until = a.Value, a.Annotations, time.Time{}, time.Time{}
		} else {
			r.active[key] = a
		}
	}
	samples := make(promql.Vector, 0, 2*len(r.active))
	at := ts.Add(-offset).UnixMilli()
	for key, a := range r.active {
		if now[key] == nil && !ts.Before(a.until) {
			if a.State != Firing || r.keep == 0 {
				delete(r.active, key)
				continue
			}
			if a.KeepSince.IsZero() {
				a.KeepSince = ts
			}
			if ts.Sub(a.KeepSince) >= r.keep {
				delete(r.active, key)
				continue
			}
		}
		switch held := ts.Sub(a.ActiveAt) >= r.hold; {
		case held && a.State == Pending:
			a.State, a.FiredAt = Firing, ts
		case !held && a.State == Firing: // the rule was loaded again, with a longer time
			a.State, a.FiredAt, a.KeepSince = Pending, time.Time{}, time.Time{}
		}
		b.Reset(a.Labels)
		b.Set(names.NameLabel, forStateName)
		samples = append(samples, promql.Sample{Metric: b.Labels(), T: at, F: float64(a.ActiveAt.Unix())})
		b.Set(names.NameLabel, alertsName)
		b.Set(stateLabel, string(a.State))
		samples = append(samples, promql.Sample{Metric: b.Labels(), T: at, F: 1})
	}
	if limit > 0 && len(r.active) > limit {
		n := len(r.active)
		clear(r.active)
		return nil, fmt.Errorf("exceeded limit of %d with %d alerts", limit, n)
	}
	return samples, nil
}

// templated reports whether a text has to be expanded.
func templated(text string) bool { return strings.Contains(text, "{{") }

// expander returns a function that expands the templates of a text for an element of the result.
func (r *rule) expander(ctx context.Context, s promql.Sample, query queryFunc, ts time.Time) func(string) string {
	var data expand.Data
	return func(text string) string {
		if !templated(text) {
			return text
		}
		if data.Labels == nil {
			data = expand.Data{Labels: s.Metric.Map(), ExternalLabels: map[string]string{}, Value: s.F}
			if s.H != nil {
				data.Value = s.H
			}
		}
		out, err := expand.Expand(ctx, templateName(r.name), text, data, ts, expand.QueryFunc(query))
		if err != nil {
			out = fmt.Sprintf("<error expanding template: %s>", err)
		}
		if len(out) > MaxText {
			return strings.ToValidUTF8(out[:MaxText], "")
		}
		return out
	}
}

// templateName returns the name of the templates of an alert in errors.
func templateName(alert string) string { return "__alert_" + alert }
