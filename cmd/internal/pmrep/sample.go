package pmrep

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A Sample has the values of all metrics of a set at one time. It is valid until the next.
type Sample struct {
	Time    pcp.Timestamp // to the microsecond
	Changes pmapi.Changes // the changes that a collector reports
	Results [][]Value     // by metric, in the order of Set.Metrics
}

// A Value is the value of an instance, in the type and the units of its metric.
type Value struct {
	Inst int32  // pcp.InNull of a metric without instances
	Name string // of the instance, "" without an instance
	pcp.Value
}

// Has reports whether there is any value.
func (s *Sample) Has() bool {
	return slices.ContainsFunc(s.Results, func(r []Value) bool { return len(r) > 0 })
}

// Lookup returns the value of an instance of a metric, by the index of the metric.
func (s *Sample) Lookup(metric int, inst int32) (Value, bool) {
	r := s.Results[metric]
	for i := range r {
		if r[i].Inst == inst {
			return r[i], true
		}
	}
	return Value{}, false
}

// Fetch fetches the metrics. The errors are those of [pmapi.FetchGroup.Fetch]: pcp.ErrEOL at the end of
// archives.
func (s *Set) Fetch(ctx context.Context) (*Sample, error) {
	if err := s.g.Fetch(ctx); err != nil {
		return nil, err
	}
	out := &s.sample
	out.Time, out.Changes = s.g.Time(), s.g.Changes()
	out.Time.Nsec -= out.Time.Nsec % 1000
	if len(out.Results) != len(s.Metrics) {
		out.Results = make([][]Value, len(s.Metrics))
	}
	for i, m := range s.Metrics {
		out.Results[i] = s.values(m, out.Results[i][:0])
	}
	if s.o.Labels {
		s.refreshLabels(ctx, out)
	}
	s.rankAll(out)
	if s.o.LiveFilter && s.o.InvertFilter {
		for i, m := range s.Metrics {
			out.Results[i] = slices.DeleteFunc(out.Results[i], func(v Value) bool { return !m.match.ok(v.Name) })
		}
	}
	return out, nil
}

// values appends the values of a metric that pass the filters.
func (s *Set) values(m *Metric, out []Value) []Value {
	limit := m.Limit
	if s.isPredicate(m) {
		limit = 0 // it is applied after the ranking
	}
	filter := s.o.LiveFilter && !s.o.InvertFilter && m.match != nil
	for i := range m.items {
		it := &m.items[i]
		if it.Err == nil && within(it.Value, limit) {
			out = append(out, Value{it.inst, it.name, it.Value})
		}
	}
	if m.group == nil || m.group.Err != nil {
		return out
	}
	single := m.Desc.InDom == pcp.InDomNull
	for i := range m.group.Values {
		v := &m.group.Values[i]
		flat := single || v.Inst == pcp.InNull
		switch {
		case v.Err != nil:
		case !flat && v.Name == "": // it came and went
		case filter && !flat && !m.match.ok(v.Name):
		case limit != 0 && !within(v.Value, limit):
		case flat:
			out = append(out, Value{Inst: pcp.InNull, Value: v.Value})
		default:
			out = append(out, Value{v.Inst, v.Name, v.Value})
		}
	}
	return out
}

// within reports whether a value is within a limit.
func within(v pcp.Value, limit int) bool {
	if limit == 0 {
		return true
	}
	f, ok := v.Float64()
	switch {
	case !ok:
		return false
	case limit > 0:
		return !(f < float64(limit))
	}
	return !(f > float64(-limit))
}

func (s *Set) isPredicate(m *Metric) bool {
	return len(s.o.Predicate) > 0 && slices.Contains(s.o.Predicate, m.Name)
}

// rankAll keeps the values with the highest or lowest ranks.
func (s *Set) rankAll(out *Sample) {
	if len(s.o.Predicate) == 0 {
		if s.o.Rank != 0 {
			for i := range out.Results {
				out.Results[i] = s.rank(out.Results[i])
			}
		}
		return
	}
	for indom := range s.kept {
		s.kept[indom] = s.kept[indom][:0]
	}
	for _, name := range s.o.Predicate {
		i := s.Find(name)
		out.Results[i] = s.rank(out.Results[i])
		indom := s.Metrics[i].Desc.InDom
		for _, v := range out.Results[i] {
			if !slices.Contains(s.kept[indom], v.Inst) {
				s.kept[indom] = append(s.kept[indom], v.Inst)
			}
		}
	}
	for i, m := range s.Metrics {
		switch {
		case s.isPredicate(m):
			out.Results[i] = slices.DeleteFunc(out.Results[i], func(v Value) bool { return !within(v.Value, m.Limit) })
		case !s.ranked[i]:
			out.Results[i] = s.rank(out.Results[i])
		default:
			kept := s.kept[m.Desc.InDom]
			out.Results[i] = slices.DeleteFunc(out.Results[i], func(v Value) bool { return !slices.Contains(kept, v.Inst) })
		}
	}
}

// rank sorts values by rank and keeps as many as the options set.
func (s *Set) rank(values []Value) []Value {
	if s.o.Rank == 0 {
		return values
	}
	Sort(values, s.o.Rank > 0)
	return values[:min(len(values), max(s.o.Rank, -s.o.Rank))]
}

// Sort sorts values by size, the largest first if down is true. Equal ones stay in their order.
func Sort(values []Value, down bool) {
	slices.SortStableFunc(values, func(a, b Value) int {
		if down {
			return Compare(b.Value, a.Value)
		}
		return Compare(a.Value, b.Value)
	})
}

// Compare compares two values of one metric.
func Compare(a, b pcp.Value) int {
	switch a.Type() {
	case pcp.TypeString:
		return bytes.Compare(a.Bytes(), b.Bytes())
	case pcp.Type32, pcp.Type64:
		return cmp.Compare(a.Int64(), b.Int64())
	case pcp.TypeU32, pcp.TypeU64:
		return cmp.Compare(a.Uint64(), b.Uint64())
	}
	x, _ := a.Float64()
	y, _ := b.Float64()
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
