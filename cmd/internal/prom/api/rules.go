package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/go-pcp/pcp/cmd/internal/prom/rules"
)

// An Alert is an alert in the form of Prometheus.
type Alert struct {
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	State           string            `json:"state"` // "pending" or "firing"
	ActiveAt        time.Time         `json:"activeAt"`
	KeepFiringSince *time.Time        `json:"keepFiringSince,omitempty"`
	Value           string            `json:"value"`
}

// alerts is the endpoint alerts: the active alerts.
func (h *Handler) alerts(*http.Request) (*result, error) {
	list := []Alert{}
	if h.cfg.Alerts != nil {
		list = append(list, h.cfg.Alerts()...)
	}
	if h.cfg.Rules != nil {
		for _, g := range h.cfg.Rules.Groups() {
			for _, r := range g.Rules {
				list = append(list, alertsOf(r)...)
			}
		}
	}
	return &result{data: map[string][]Alert{"alerts": list}}, nil
}

// alertsOf returns the active alerts of a rule.
func alertsOf(r rules.RuleState) []Alert {
	list := []Alert{}
	for _, a := range r.Alerts {
		one := Alert{
			Labels: a.Labels.Map(), Annotations: a.Annotations.Map(), State: string(a.State), ActiveAt: a.ActiveAt.UTC(),
			Value: strconv.FormatFloat(a.Value, 'e', -1, 64),
		}
		if !a.KeepSince.IsZero() {
			since := a.KeepSince.UTC()
			one.KeepFiringSince = &since
		}
		list = append(list, one)
	}
	return list
}

// A ruleGroup is a group in the form of Prometheus.
type ruleGroup struct {
	Name           string    `json:"name"`
	File           string    `json:"file"`
	Rules          []any     `json:"rules"`
	Interval       float64   `json:"interval"`
	Limit          int       `json:"limit"`
	EvaluationTime float64   `json:"evaluationTime"`
	LastEvaluation time.Time `json:"lastEvaluation"`
}

// An alertingRule is an alerting rule in the form of Prometheus.
type alertingRule struct {
	State          string        `json:"state"`
	Name           string        `json:"name"`
	Query          string        `json:"query"`
	Duration       float64       `json:"duration"`
	KeepFiringFor  float64       `json:"keepFiringFor"`
	Labels         labels.Labels `json:"labels"`
	Annotations    labels.Labels `json:"annotations"`
	Alerts         []Alert       `json:"alerts"`
	Health         string        `json:"health"`
	LastError      string        `json:"lastError,omitempty"`
	EvaluationTime float64       `json:"evaluationTime"`
	LastEvaluation time.Time     `json:"lastEvaluation"`
	Type           string        `json:"type"`
}

// A recordingRule is a recording rule in the form of Prometheus.
type recordingRule struct {
	Name           string        `json:"name"`
	Query          string        `json:"query"`
	Labels         labels.Labels `json:"labels"`
	Health         string        `json:"health"`
	LastError      string        `json:"lastError,omitempty"`
	EvaluationTime float64       `json:"evaluationTime"`
	LastEvaluation time.Time     `json:"lastEvaluation"`
	Type           string        `json:"type"`
}

// rules is the endpoint rules: the groups and the states of their rules.
func (h *Handler) rules(r *http.Request) (*result, error) {
	kind := strings.ToLower(r.Form.Get("type"))
	if kind != "" && kind != "alert" && kind != "record" {
		return nil, invalid("type", errors.New("not supported value "+strconv.Quote(kind)))
	}
	exclude := false
	if text := strings.ToLower(r.Form.Get("exclude_alerts")); text != "" {
		var err error
		if exclude, err = strconv.ParseBool(text); err != nil {
			return nil, invalid("exclude_alerts", errors.New("error converting exclude_alerts: "+err.Error()))
		}
	}
	var sets [][]*labels.Matcher
	if len(r.Form["match[]"]) > 0 {
		var err error
		if sets, err = h.matchersOf(r); err != nil {
			return nil, err
		}
	}
	size := 0
	if text := r.Form.Get("group_limit"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, invalid("group_limit", errors.New("group_limit needs to be a valid number: "+err.Error()))
		}
		if n <= 0 {
			return nil, invalid("group_limit", errors.New("group_limit needs to be greater than 0"))
		}
		size = int(n)
	}
	next := r.Form.Get("group_next_token")
	if next != "" && size == 0 {
		return nil, invalid("group_next_token", errors.New("group_limit needs to be present in order to paginate over the groups"))
	}
	answer := struct {
		Groups []ruleGroup `json:"groups"`
		Next   string      `json:"groupNextToken,omitempty"`
	}{Groups: []ruleGroup{}}
	found := next == ""
	for _, g := range h.ruleGroups() {
		token := labels.FromStrings("file", g.File, "name", g.Name).String()
		if found = found || token == next; !found || !wanted(r, "rule_group[]", g.Name) || !wanted(r, "file[]", g.File) {
			continue
		}
		out := ruleGroup{
			Name: g.Name, File: g.File, Interval: g.Interval.Seconds(), Limit: g.Limit, Rules: []any{},
			EvaluationTime: g.Took.Seconds(), LastEvaluation: g.Evaluated.UTC(),
		}
		for _, s := range g.Rules {
			if !wanted(r, "rule_name[]", s.Name) || kind == "alert" && !s.Alerting || kind == "record" && s.Alerting || !matched(s.Labels, sets) {
				continue
			}
			out.Rules = append(out.Rules, ruleOf(s, exclude))
		}
		if len(out.Rules) == 0 {
			continue
		}
		if size > 0 && len(answer.Groups) == size {
			answer.Next = token
			break
		}
		answer.Groups = append(answer.Groups, out)
	}
	if !found {
		return nil, invalid("group_next_token", errors.New("invalid group_next_token '"+next+"'. were rule groups changed?"))
	}
	return &result{data: answer}, nil
}

// ruleGroups returns all groups, sorted by file and name.
func (h *Handler) ruleGroups() []rules.GroupState {
	if h.cfg.Rules == nil {
		return nil
	}
	list := h.cfg.Rules.Groups()
	slices.SortFunc(list, func(a, b rules.GroupState) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// wanted reports whether a parameter names something, or is not given.
func wanted(r *http.Request, parameter, name string) bool {
	list := r.Form[parameter]
	return len(list) == 0 || slices.Contains(list, name)
}

// matched reports whether labels match one of the sets, or there are none.
func matched(l labels.Labels, sets [][]*labels.Matcher) bool {
	return len(sets) == 0 || slices.ContainsFunc(sets, func(set []*labels.Matcher) bool {
		return !slices.ContainsFunc(set, func(m *labels.Matcher) bool { return !m.Matches(l.Get(m.Name)) })
	})
}

func ruleOf(s rules.RuleState, exclude bool) any {
	failed := ""
	if s.Err != nil {
		failed = s.Err.Error()
	}
	if !s.Alerting {
		return recordingRule{
			Name: s.Name, Query: s.Query, Labels: s.Labels, Health: s.Health, LastError: failed,
			EvaluationTime: s.Took.Seconds(), LastEvaluation: s.Evaluated.UTC(), Type: "recording",
		}
	}
	out := alertingRule{
		State: string(s.State), Name: s.Name, Query: s.Query, Duration: s.For.Seconds(), KeepFiringFor: s.Keep.Seconds(), Labels: s.Labels,
		Annotations: s.Annotations, Health: s.Health, LastError: failed,
		EvaluationTime: s.Took.Seconds(), LastEvaluation: s.Evaluated.UTC(), Type: "alerting",
	}
	if !exclude {
		out.Alerts = alertsOf(s)
	}
	return out
}
