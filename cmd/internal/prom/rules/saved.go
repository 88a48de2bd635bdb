package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// Limits of saved alerts.
const (
	MaxSaved     = 64 << 20 // bytes
	savedVersion = fileversion.SavedAlerts
	// restorable is how old saved alerts may be, as in Prometheus.
	restorable = time.Hour
	// grace is how long a restored alert stays without a value: ranges need some samples after a restart.
	grace = 5 * time.Minute
)

// A savedFile has the active alerts of all rules.
type savedFile struct {
	Version int          `json:"version"`
	Time    time.Time    `json:"time"`
	Alerts  []savedAlert `json:"alerts"`
}

type savedAlert struct {
	File      string            `json:"file"`
	Group     string            `json:"group"`
	Rule      string            `json:"rule"`
	Labels    map[string]string `json:"labels"`
	State     State             `json:"state"`
	Value     float64           `json:"value"`
	ActiveAt  time.Time         `json:"activeAt"`
	FiredAt   time.Time         `json:"firedAt,omitzero"`
	KeepSince time.Time         `json:"keepSince,omitzero"`
	Notes     map[string]string `json:"annotations,omitempty"`
}

// Save returns the active alerts for Restore.
func (e *Engine) Save() ([]byte, error) {
	all := savedFile{Version: savedVersion, Time: e.cfg.Now().UTC()}
	for _, g := range e.Groups() {
		for _, r := range g.Rules {
			for _, a := range r.Alerts {
				one := savedAlert{g.File, g.Name, r.Name, a.Labels.Map(), a.State, a.Value, a.ActiveAt, a.FiredAt, a.KeepSince, a.Annotations.Map()}
				if one.Value-one.Value != 0 { // JSON has no infinities
					one.Value = 0
				}
				all.Alerts = append(all.Alerts, one)
			}
		}
	}
	return json.Marshal(&all)
}

// Restore sets the alerts that Save returned, of the rules that are loaded, so that an alert is active since the same time. Alerts saved more than
// an hour ago are ignored.
func (e *Engine) Restore(text []byte) error {
	var all savedFile
	if len(text) > MaxSaved {
		return fmt.Errorf("more than %d bytes", MaxSaved)
	}
	if err := fileversion.Unmarshal(text, savedVersion, &all); err != nil {
		return err
	}
	if err := fileversion.Check(all.Version, savedVersion); err != nil {
		return err
	}
	now := e.cfg.Now()
	if age := now.Sub(all.Time); age > restorable || age < 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range all.Alerts {
		s := &all.Alerts[i]
		if s.State != Pending && s.State != Firing || s.ActiveAt.IsZero() || s.ActiveAt.After(now) || s.Labels[alertName] != s.Rule {
			return fmt.Errorf("alert %d is not valid", i+1)
		}
		n := slices.IndexFunc(e.groups, func(g *group) bool { return g.file == s.File && g.name == s.Group })
		if n < 0 {
			continue
		}
		e.groups[n].restore(s, now)
	}
	return nil
}

// restore sets an alert of the rules with its name. The evaluation removes it from those whose result lacks it.
func (g *group) restore(s *savedAlert, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := labels.FromMap(s.Labels)
	for _, r := range g.rules {
		if !r.alerting || r.name != s.Rule || len(r.active) >= maxAlerts || !r.gives(l) {
			continue
		}
		r.active[l.Hash()] = &Alert{
			State: s.State, Labels: l, Annotations: labels.FromMap(s.Notes), Value: s.Value,
			ActiveAt: s.ActiveAt, FiredAt: s.FiredAt, KeepSince: s.KeepSince, until: now.Add(grace),
		}
		return
	}
}

// gives reports whether alerts of a rule may have labels: those of the rule without templates are equal.
func (r *rule) gives(l labels.Labels) bool {
	return r.labels.Validate(func(own labels.Label) error {
		if !templated(own.Value) && l.Get(own.Name) != own.Value {
			return errSameLabels
		}
		return nil
	}) == nil
}
