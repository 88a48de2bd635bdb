package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// ofPCP selects the series of instances.
const ofPCP = `{instid!=""}`

// Select implements [series.Store].
func (s *Store) Select(ctx context.Context, m series.Matcher) ([]sid.ID, error) {
	values := []string{m.Value}
	if m.Match != nil {
		all, err := s.Strings(ctx, m.Field, m.Label)
		if err != nil {
			return nil, err
		}
		values = values[:0]
		for _, v := range all {
			if err := ctx.Err(); err != nil { // a pattern may take a millisecond for each
				return nil, err
			}
			if m.Match(v) {
				values = append(values, v)
			}
		}
	}
	var list []*metric
	var err error
	switch m.Field {
	case series.MetricName:
		list, err = s.findAny(ctx, names.SeriesMetric, values)
	case series.ContextName:
		list, err = s.findAny(ctx, names.SeriesHost, values)
	case series.InstanceName:
		list, err = s.withInstances(ctx, names.InstanceName, values)
	case series.LabelName, series.LabelValue:
		list, err = s.withLabels(ctx, m, values)
	default:
		err = fmt.Errorf("series: no field %d", m.Field)
	}
	if err != nil {
		return nil, err
	}
	ids := make([]sid.ID, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	slices.SortFunc(ids, sid.ID.Compare)
	return slices.Compact(ids), nil
}

// withInstances returns the metrics with an instance domain in which the series of an instance has a label with one of the given values.
func (s *Store) withInstances(ctx context.Context, label string, values []string) ([]*metric, error) {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	type key struct{ host, prom string }
	there := map[key]bool{}
	hosts := map[string]bool{}
	for part := range parts(values) {
		var found []map[string]string
		err := s.get(ctx, "series", always("{"+matcher(label, "=~", alternatives(part))+`,instid!=""}`), func(r io.Reader) (err error) {
			found, err = decodeSeries(r)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, of := range found {
			there[key{of[hostname], of[names.NameLabel]}] = true
			hosts[of[hostname]] = true
		}
	}
	if len(hosts) == 0 {
		return nil, nil
	}
	// Descriptions have the host of the archive, which nearly always is the label hostname of the series too.
	list, err := s.findAny(ctx, names.SeriesHost, slices.Sorted(maps.Keys(hosts)), matcher(names.SeriesInDom, "!=", ""))
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		delete(hosts, m.fixed[hostname])
	}
	if len(hosts) > 0 {
		if list, err = s.find(ctx, matcher(names.SeriesInDom, "!=", "")); err != nil {
			return nil, err
		}
	}
	type domain struct {
		source sid.ID
		indom  pcp.InDom
	}
	domains := map[domain]bool{}
	for _, m := range list {
		if there[key{m.fixed[hostname], m.prom}] {
			domains[domain{m.Source, m.Desc.InDom}] = true
		}
	}
	return slices.DeleteFunc(list, func(m *metric) bool { return !domains[domain{m.Source, m.Desc.InDom}] }), nil
}

// labelSets returns the labels of all descriptions, by their JSON.
func (s *Store) labelSets(ctx context.Context) (map[string]pcp.LabelSet, error) {
	texts, err := s.values(ctx, names.SeriesLabels, described())
	if err != nil {
		return nil, err
	}
	sets := make(map[string]pcp.LabelSet, len(texts))
	for _, text := range texts {
		if set, err := pcp.ParseLabels(text, pcp.LabelContext); err == nil {
			sets[text] = set
		}
	}
	return sets, nil
}

// withLabels returns the metrics with a label, or whose instances have it. Values are names, or values of the label of m.
func (s *Store) withLabels(ctx context.Context, m series.Matcher, values []string) ([]*metric, error) {
	sets, err := s.labelSets(ctx)
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, v := range values {
		want[v] = true
	}
	var texts []string
	known := map[string]bool{}
	for text, set := range sets {
		has := false
		for l := range set.All() {
			known[l.Name] = true
			has = has || m.Field == series.LabelName && want[l.Name] || m.Field == series.LabelValue && l.Name == m.Label && want[l.Value]
		}
		if has {
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	list, err := s.findAny(ctx, names.SeriesLabels, texts)
	if err != nil {
		return nil, err
	}
	// Of the instances' own labels only the text is known.
	if m.Field == series.LabelValue {
		if known[m.Label] || m.Label == "" {
			return list, nil
		}
		var own []string
		for _, v := range values {
			own = append(own, names.Pair{Value: v}.Text())
		}
		more, err := s.withInstances(ctx, names.Label(m.Label), own)
		return append(list, more...), err
	}
	for _, name := range values {
		if known[name] || name == "" || ofInstance(name) {
			continue
		}
		more, err := s.withAny(ctx, names.Label(name))
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// withAny returns the metrics of instances that have a label with any value.
func (s *Store) withAny(ctx context.Context, label string) ([]*metric, error) {
	values, err := s.values(ctx, label, ofPCP)
	if err != nil {
		return nil, err
	}
	return s.withInstances(ctx, label, values)
}

// ofInstance reports whether a label of series in Prometheus is not one of PCP.
func ofInstance(name string) bool {
	return name == names.NameLabel || name == names.InstanceName || name == names.InstanceNumber
}

// Strings implements [series.Store].
func (s *Store) Strings(ctx context.Context, field series.Field, label string) ([]string, error) {
	var list []string
	var err error
	switch field {
	case series.MetricName:
		list, err = s.values(ctx, names.SeriesMetric, described())
	case series.InstanceName:
		list, err = s.values(ctx, names.InstanceName, ofPCP)
	case series.ContextName:
		list, err = s.values(ctx, names.SeriesHost, described())
	case series.LabelName, series.LabelValue:
		list, err = s.labelStrings(ctx, field, label)
	default:
		err = fmt.Errorf("series: no field %d", field)
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

// labelStrings returns the names of labels, or the values of one.
func (s *Store) labelStrings(ctx context.Context, field series.Field, label string) ([]string, error) {
	sets, err := s.labelSets(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	known := map[string]bool{} // in Prometheus
	for _, set := range sets {
		for l := range set.All() {
			known[names.Label(l.Name)] = true
			switch {
			case field == series.LabelName:
				list = append(list, l.Name)
			case l.Name == label:
				list = append(list, l.Value)
			}
		}
	}
	if field == series.LabelValue {
		if known[names.Label(label)] || label == "" || ofInstance(label) {
			return list, nil
		}
		texts, err := s.values(ctx, names.Label(label), ofPCP)
		for _, text := range texts {
			list = append(list, valueOf(text))
		}
		return list, err
	}
	var all []string
	err = s.get(ctx, "labels", always(ofPCP), func(r io.Reader) (err error) {
		all, err = decodeStrings(r)
		return err
	})
	for _, name := range all {
		if !known[name] && !ofInstance(name) {
			list = append(list, name)
		}
	}
	return list, err
}
