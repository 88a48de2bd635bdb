package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/rules/expand"
)

// A fileText is a file of rules as it is written, and what its YAML may have.
type fileText struct {
	Groups []groupText `yaml:"groups"`
}

type groupText struct {
	Name        string            `yaml:"name"`
	Interval    model.Duration    `yaml:"interval,omitempty"`
	QueryOffset *model.Duration   `yaml:"query_offset,omitempty"`
	Limit       int               `yaml:"limit,omitempty"`
	Rules       []ruleText        `yaml:"rules"`
	Labels      map[string]string `yaml:"labels,omitempty"`
}

type ruleText struct {
	Record        string            `yaml:"record,omitempty"`
	Alert         string            `yaml:"alert,omitempty"`
	Expr          string            `yaml:"expr"`
	For           model.Duration    `yaml:"for,omitempty"`
	KeepFiringFor model.Duration    `yaml:"keep_firing_for,omitempty"`
	Labels        map[string]string `yaml:"labels,omitempty"`
	Annotations   map[string]string `yaml:"annotations,omitempty"`
}

// A filePlaces has the positions of the fields whose mistakes are reported with a position.
type filePlaces struct {
	Groups []struct {
		Rules []rulePlaces `yaml:"rules"`
	} `yaml:"groups"`
}

type rulePlaces struct {
	Record yaml.Node `yaml:"record,omitempty"`
	Alert  yaml.Node `yaml:"alert,omitempty"`
	Expr   yaml.Node `yaml:"expr"`
}

// typeNames replaces the names of our types in messages of the decoder by those of Prometheus.
var typeNames = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("rules.fileText", "rulefmt.RuleGroups", "rules.groupText", "rulefmt.RuleGroup", "rules.ruleText", "rulefmt.Rule")
})

var errGroupName = fmt.Errorf("%s must not be empty", "Groupname") // the message of Prometheus

// decode reads the text of a file. It finds the mistakes that Prometheus finds, with the same messages.
func decode(text []byte, p parser.Parser) (list *fileText, errs []error) {
	defer func() {
		if r := recover(); r != nil { // the decoder of YAML
			list, errs = nil, []error{fmt.Errorf("cannot be read: %v", r)}
		}
	}()
	list = new(fileText)
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(list); err != nil && !errors.Is(err, io.EOF) {
		return nil, []error{errors.New(typeNames().Replace(err.Error()))}
	}
	var places filePlaces
	if err := yaml.Unmarshal(text, &places); err != nil {
		return nil, []error{err}
	}
	seen := map[string]bool{}
	for i := range list.Groups {
		g := &list.Groups[i]
		if g.Name == "" {
			errs = append(errs, errGroupName)
		}
		if seen[g.Name] {
			errs = append(errs, fmt.Errorf("groupname: \"%s\" is repeated in the same file", g.Name))
		}
		seen[g.Name] = true
		errs = append(errs, checkLabels(g.Labels)...)
		for j := range g.Rules {
			r := &g.Rules[j]
			if i >= len(places.Groups) || j >= len(places.Groups[i].Rules) {
				return nil, append(errs, errors.New("cannot be read: the rules have no positions"))
			}
			name := r.Alert
			if name == "" {
				name = r.Record
			}
			r.check(&places.Groups[i].Rules[j], p, func(err error, at ...*yaml.Node) {
				errs = append(errs, &ruleError{group: g.Name, n: j + 1, name: name, err: err, at: at})
			})
		}
	}
	return list, errs
}

// check reports the mistakes in a rule, with their positions where they are known.
func (r *ruleText) check(at *rulePlaces, p parser.Parser, report func(error, ...*yaml.Node)) {
	switch {
	case r.Record != "" && r.Alert != "":
		report(errors.New("only one of 'record' and 'alert' must be set"), &at.Record, &at.Alert)
	case r.Record == "" && r.Alert == "":
		report(errors.New("one of 'record' or 'alert' must be set"), &at.Record, &at.Alert)
	}
	if r.Expr == "" {
		report(errors.New("field 'expr' must be set in rule"), &at.Expr)
	} else if _, err := p.ParseExpr(r.Expr); err != nil {
		report(fmt.Errorf("could not parse expression: %w", err), &at.Expr)
	}
	if r.Record != "" {
		for _, field := range []struct {
			name string
			set  bool
		}{{"annotations", len(r.Annotations) > 0}, {"for", r.For != 0}, {"keep_firing_for", r.KeepFiringFor != 0}} {
			if field.set {
				report(fmt.Errorf("invalid field '%s' in recording rule", field.name), &at.Record)
			}
		}
		if !model.UTF8Validation.IsValidMetricName(r.Record) {
			report(fmt.Errorf("invalid recording rule name: %s", r.Record), &at.Record)
		}
		if strings.ContainsAny(r.Record, "{}") {
			report(fmt.Errorf("braces present in the recording rule name; should it be in expr?: %s", r.Record), &at.Record)
		}
	}
	for _, err := range checkLabels(r.Labels) {
		report(err)
	}
	for name := range r.Annotations {
		if !model.UTF8Validation.IsValidLabelName(name) {
			report(fmt.Errorf("invalid annotation name: %s", name))
		}
	}
	if r.Alert == "" {
		return
	}
	for name, text := range r.Labels {
		if err := expand.Check(templateName(r.Alert), text); err != nil {
			report(fmt.Errorf("label %q: %w", name, err))
		}
	}
	for name, text := range r.Annotations {
		if err := expand.Check(templateName(r.Alert), text); err != nil {
			report(fmt.Errorf("annotation %q: %w", name, err))
		}
	}
}

func checkLabels(set map[string]string) (errs []error) {
	for name, value := range set {
		if !model.UTF8Validation.IsValidLabelName(name) || name == names.NameLabel {
			errs = append(errs, fmt.Errorf("invalid label name: %s", name))
		}
		if !model.LabelValue(value).IsValid() {
			errs = append(errs, fmt.Errorf("invalid label value: %s", value))
		}
	}
	return errs
}
