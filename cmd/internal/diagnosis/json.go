package diagnosis

import (
	"fmt"

	"github.com/go-pcp/pcp/pcpjson"
)

// An Object is the JSON of a finding, a change, or a rule that was not checked (docs/json.md).
type Object struct {
	ID         string     `json:"id,omitempty"`
	Resource   string     `json:"resource,omitempty"`
	Kind       string     `json:"kind,omitempty"`
	Severity   string     `json:"severity,omitempty"`
	Text       string     `json:"text,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Metric     string     `json:"metric,omitempty"`
	Instance   string     `json:"instance,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Limit      string     `json:"limit,omitempty"`
	Value      *float64   `json:"value,omitempty"`
	Average    *float64   `json:"average,omitempty"`
	Before     *float64   `json:"before,omitempty"`
	After      *float64   `json:"after,omitempty"`
	Units      string     `json:"units,omitempty"`
	Time       string     `json:"time,omitempty"`
	Since      string     `json:"since,omitempty"`
	Until      string     `json:"until,omitempty"`
	Samples    int        `json:"samples,omitempty"`
	Takers     []Taking   `json:"takers,omitempty"`
	More       int        `json:"more,omitempty"`
	Cause      string     `json:"cause,omitempty"`
	Effects    []string   `json:"effects,omitempty"`
	Evidence   []Evidence `json:"evidence,omitempty"`
	Command    string     `json:"command,omitempty"`
	Rule       string     `json:"rule,omitempty"`
}

// A Taking is the JSON of a [Share].
type Taking struct {
	Kind       string  `json:"kind"`
	Instance   string  `json:"instance,omitempty"`
	PID        int32   `json:"pid,omitempty"`
	User       string  `json:"user,omitempty"`
	CGroup     string  `json:"cgroup,omitempty"`
	Container  string  `json:"container,omitempty"`
	Value      float64 `json:"value"`
	Units      string  `json:"units,omitempty"`
	Rank       string  `json:"rank"`
	Expression string  `json:"expression"`
}

// A Verdict is the JSON of a diagnosis as a whole.
type Verdict struct {
	OK        bool    `json:"ok"`
	Host      string  `json:"host"`
	Start     string  `json:"start"`
	End       string  `json:"end"`
	Interval  float64 `json:"interval"`
	Samples   int     `json:"samples"`
	Errors    int     `json:"errors"`
	Warnings  int     `json:"warnings"`
	Checked   int     `json:"checked"`
	Unchecked int     `json:"unchecked,omitempty"`
	Unread    string  `json:"unread,omitempty"`
}

// Verdict returns the verdict of a diagnosis.
func (d *Diagnosis) Verdict() Verdict {
	v := Verdict{
		OK: len(d.Findings) == 0, Host: d.Host, Start: pcpjson.Time(d.Start), End: pcpjson.Time(d.End), Interval: d.Interval.Seconds(),
		Samples: d.Samples, Checked: d.Checked, Unchecked: len(d.Unchecked), Unread: d.Unread,
	}
	for i := range d.Findings {
		if d.Findings[i].Severe {
			v.Errors++
		} else {
			v.Warnings++
		}
	}
	return v
}

// Finding returns the JSON of a finding, with the commands that show its values.
func (c *Commands) Finding(d *Diagnosis, f *Finding) *Object {
	o := &Object{
		ID: f.ID, Resource: f.Rule.Resource, Kind: f.Rule.Kind, Severity: "warning", Text: f.Text, Instance: f.Instance,
		Expression: f.Expression, Value: &f.Value, Average: &f.Average, Units: f.Units, Time: pcpjson.Time(f.Time),
		Since: pcpjson.Time(f.Since), Samples: f.Held, More: f.More, Evidence: c.Evidence(d, f), Command: c.Next(d, f),
		Rule: fmt.Sprintf("%s:%d", f.Rule.File, f.Rule.Line), Limit: fmt.Sprintf("< %g", f.Rule.Limit),
	}
	if f.Rule.Above {
		o.Limit = fmt.Sprintf("> %g", f.Rule.Limit)
	}
	if f.Severe {
		o.Severity = "error"
	}
	if !f.AtEnd {
		o.Until = pcpjson.Time(f.Until)
	}
	if f.Cause >= 0 {
		o.Cause = d.Findings[f.Cause].ID
	}
	for _, e := range f.Effects {
		o.Effects = append(o.Effects, d.Findings[e].ID)
	}
	for _, s := range f.Takers {
		o.Takers = append(o.Takers, Taking{s.Kind, s.Instance, s.PID, s.User, s.CGroup, s.Container, s.Value, s.Units, string(s.Rank), s.Expression})
	}
	return o
}

// Change returns the JSON of a change.
func (d *Diagnosis) Change(i int) *Object {
	c := &d.Changes[i]
	return &Object{
		Metric: c.Metric, Instance: c.Instance, Before: &c.Before, After: &c.After, Units: c.Units.String(), More: c.More,
		Since: pcpjson.Time(d.Compared.Start), Until: pcpjson.Time(d.Compared.End),
	}
}
