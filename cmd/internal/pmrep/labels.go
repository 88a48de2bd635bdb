package pmrep

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// getLabels requests the labels of a metric and its instances. If they are not available, the metric has no labels.
func (s *Set) getLabels(ctx context.Context, m *Metric) {
	m.labels, m.levels = nil, nil
	sets, err := s.c.LookupLabels(ctx, m.Desc.PMID)
	if err != nil {
		sets = nil
	}
	for i := range sets {
		level := pcp.LabelFlags(0)
		if len(sets[i].Index) > 0 {
			level = sets[i].Index[0].Flags.Level()
		}
		m.labels, m.levels = append(m.labels, sets[i].JSON), append(m.levels, level)
	}
	s.getInstLabels(ctx, m)
}

func (s *Set) getInstLabels(ctx context.Context, m *Metric) {
	m.byInst = make(map[int32]string)
	if m.Desc.InDom == pcp.InDomNull {
		return
	}
	sets, err := s.c.Labels(ctx, pcp.LabelInstances, uint32(m.Desc.InDom))
	if err != nil {
		return
	}
	for i := range sets {
		m.byInst[sets[i].Inst] = sets[i].JSON
	}
}

// refreshLabels requests labels again when the instances with values differ from those of the sample before: the
// labels of new instances, and the labels of metrics that had no values then. With FirstLabels the latter are kept.
func (s *Set) refreshLabels(ctx context.Context, out *Sample) {
	if !s.otherInstances(out) {
		return
	}
	for i, m := range s.Metrics {
		values := out.Results[i]
		had := m.hadValues || s.o.FirstLabels
		m.hadValues = len(values) > 0
		switch {
		case !m.hadValues:
		case !had:
			s.getLabels(ctx, m)
		case slices.ContainsFunc(values, func(v Value) bool { _, known := m.byInst[v.Inst]; return !known }):
			s.getInstLabels(ctx, m)
		}
	}
}

// otherInstances reports whether the instances with values have changed since the last call.
func (s *Set) otherInstances(out *Sample) bool {
	if len(s.hadInsts) != len(out.Results) {
		s.hadInsts = make([][]int32, len(out.Results))
	}
	other := false
	for i, values := range out.Results {
		had := s.hadInsts[i]
		if slices.EqualFunc(had, values, func(inst int32, v Value) bool { return inst == v.Inst }) {
			continue
		}
		other, had = true, had[:0]
		for _, v := range values {
			had = append(had, v.Inst)
		}
		s.hadInsts[i] = had
	}
	return other
}

// A Label is a name and its value, as Python prints it.
type Label struct{ Name, Value string }

// Labels returns the labels of a metric, those of the context first. Names of compound labels are their last part.
func (m *Metric) Labels() []Label {
	var list []Label
	for _, j := range m.labels {
		list = append(list, flatten(j)...)
	}
	return list
}

// LevelLabels yields the labels of a metric by level, that of the context first.
func (m *Metric) LevelLabels() iter.Seq2[pcp.LabelFlags, []Label] {
	return func(yield func(pcp.LabelFlags, []Label) bool) {
		for i, j := range m.labels {
			if !yield(m.levels[i], flatten(j)) {
				return
			}
		}
	}
}

// InstLabels returns the labels of an instance in addition to those of its metric.
func (m *Metric) InstLabels(inst int32) []Label { return flatten(m.byInst[inst]) }

// LabelText returns the labels of a metric, or with an instance other than pcp.InNull those of the metric and of the instance,
// as reports print them: {'hostname':'app1','device_type':'block'}.
func (m *Metric) LabelText(inst int32) string {
	list := m.Labels()
	if inst != pcp.InNull {
		list = append(list, m.InstLabels(inst)...)
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, l := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("'" + l.Name + "':'" + l.Value + "'")
	}
	b.WriteByte('}')
	return b.String()
}

// flatten returns the members of a JSON object and of the objects in it.
func flatten(text string) []Label {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	return members(d, nil)
}

// members reads the rest of an object.
func members(d *json.Decoder, list []Label) []Label {
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return list
		}
		value, err := d.Token()
		if err != nil {
			return list
		}
		switch v := value.(type) {
		case json.Delim:
			if v == '{' {
				list = members(d, list)
				continue
			}
			list = append(list, Label{name, "[" + strings.Join(elements(d), ", ") + "]"})
		case string:
			list = append(list, Label{name, v})
		default:
			list = append(list, Label{name, plain(value)})
		}
	}
	_, _ = d.Token() // the end of the object
	return list
}

// elements reads the rest of an array.
func elements(d *json.Decoder) []string {
	var list []string
	for d.More() {
		value, err := d.Token()
		if err != nil {
			return list
		}
		switch v := value.(type) {
		case json.Delim:
			if v == '{' {
				members(d, nil)
				list = append(list, "{...}")
				continue
			}
			list = append(list, "["+strings.Join(elements(d), ", ")+"]")
		case string:
			list = append(list, pytext.Repr(v))
		default:
			list = append(list, plain(value))
		}
	}
	_, _ = d.Token()
	return list
}

// plain returns a number, truth value or null as Python prints it.
func plain(value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return pytext.Float(f)
		}
		return v.String()
	}
	return "None"
}
