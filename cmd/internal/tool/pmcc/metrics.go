package pmcc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// Metrics are the metrics that a report fetches, with their values in the last two samples.
type Metrics struct {
	index map[string]int // by name
	ids   []pcp.PMID
	descs []pcp.Desc
	names map[pcp.InDom]map[int32]string // of instances

	groups []Group
	times  []pcp.Timestamp // of them
	last   pcp.Timestamp   // of the last fetch, also of a group that is not read

	cur, prev sample
}

// A sample is the result of a fetch.
type sample struct {
	res    *pcp.Result
	byInst []map[int32]pcp.Value // by metric, nil until it is asked for
}

// A Group is a set of metrics that a program fetches together, after the previous group: from
// archives each fetch is one interval later. The C programs fetch some groups without using them
// (Unread).
type Group struct {
	Names  []string
	Unread bool
}

// set sets the metrics to fetch.
func (m *Metrics) set(names []string, ids []pcp.PMID) {
	m.ids, m.descs, m.index = ids, nil, make(map[string]int, len(names))
	for i, name := range names {
		m.index[name] = i
	}
}

// Desc is the descriptor of a metric.
func (m *Metrics) Desc(name string) pcp.Desc { return m.descs[m.index[name]] }

// counters reports whether all metrics are counters, so that the first sample has no
// values.
func (m *Metrics) counters() bool {
	return !slices.ContainsFunc(m.descs, func(d pcp.Desc) bool { return d.Sem != pcp.SemCounter })
}

// Split has the metrics of Use be fetched in groups. Now is then the time of the last group that is read, and
// GroupTime that of each.
func (m *Metrics) Split(groups ...Group) {
	m.groups = groups
	m.times = make([]pcp.Timestamp, len(groups))
}

// GroupTime is the time of a group of the sample, in full seconds.
func (m *Metrics) GroupTime(i int) int64 { return m.times[i].Sec }

// fetch fetches the metrics as the next sample.
func (m *Metrics) fetch(ctx context.Context, c *pmapi.Context) error {
	var res *pcp.Result
	var err error
	if m.groups != nil {
		res, err = m.fetchGroups(ctx, c)
	} else {
		if res, err = c.Fetch(ctx, m.ids); err == nil {
			m.last = res.Time
		}
	}
	if err != nil {
		return err
	}
	return m.next(res)
}

// next makes the values of a fetch the sample.
func (m *Metrics) next(res *pcp.Result) error {
	if len(res.Sets) != len(m.ids) {
		return errors.Join(pcp.ErrIPC, fmt.Errorf("%d sets of values for %d metrics", len(res.Sets), len(m.ids)))
	}
	m.prev = m.cur
	m.cur = sample{res: res, byInst: make([]map[int32]pcp.Value, len(m.ids))}
	return nil
}

// fetchGroups fetches the groups one after the other, as one sample.
func (m *Metrics) fetchGroups(ctx context.Context, c *pmapi.Context) (*pcp.Result, error) {
	all := &pcp.Result{Sets: make([]pcp.ValueSet, len(m.ids))}
	for i, id := range m.ids {
		all.Sets[i].PMID = id
	}
	_, archive := c.Archive()
	for g, group := range m.groups {
		if group.Unread && !archive {
			continue
		}
		ids := make([]pcp.PMID, len(group.Names))
		for i, name := range group.Names {
			ids[i] = m.ids[m.index[name]]
		}
		res, err := c.Fetch(ctx, ids)
		if err != nil {
			return nil, err
		}
		if m.last = res.Time; group.Unread {
			continue
		}
		m.times[g] = res.Time
		all.Time = res.Time
		for i, name := range group.Names {
			if i < len(res.Sets) {
				all.Sets[m.index[name]] = res.Sets[i]
			}
		}
	}
	return all, nil
}

// Sampled reports whether there are two samples, as rates need them.
func (m *Metrics) Sampled() bool { return m.prev.res != nil }

// Elapsed is the time between the two samples in seconds.
func (m *Metrics) Elapsed() float64 {
	a, b := m.cur.res.Time, m.prev.res.Time
	return float64(a.Sec-b.Sec) + float64(a.Nsec/1000-b.Nsec/1000)/1e6
}

// Time is the time of the sample.
func (m *Metrics) Time() pcp.Timestamp { return m.cur.res.Time }

// Now is the time of the sample, in full seconds.
func (m *Metrics) Now() int64 { return m.cur.res.Time.Sec }

// One is the value of a metric without instances, or the first of one with them.
func (m *Metrics) One(name string) Value {
	i, ok := m.index[name]
	if !ok || len(m.cur.res.Sets[i].Values) == 0 {
		return Value{}
	}
	return Value{m.cur.res.Sets[i].Values[0], true}
}

// OneBefore is One of the previous sample.
func (m *Metrics) OneBefore(name string) Value {
	i, ok := m.index[name]
	if !ok || m.prev.res == nil || len(m.prev.res.Sets[i].Values) == 0 {
		return Value{}
	}
	return Value{m.prev.res.Sets[i].Values[0], true}
}

// Of is the value of an instance.
func (m *Metrics) Of(name string, inst int32) Value { return m.of(&m.cur, name, inst) }

// Before is Of of the previous sample.
func (m *Metrics) Before(name string, inst int32) Value { return m.of(&m.prev, name, inst) }

func (m *Metrics) of(s *sample, name string, inst int32) Value {
	i, ok := m.index[name]
	if !ok || s.res == nil {
		return Value{}
	}
	if s.byInst[i] == nil {
		set := &s.res.Sets[i]
		s.byInst[i] = make(map[int32]pcp.Value, len(set.Values))
		for _, v := range set.Values {
			s.byInst[i][v.Inst] = v
		}
	}
	v, ok := s.byInst[i][inst]
	return Value{v, ok}
}

// A Named is the value of an instance.
type Named struct {
	Name  string // "" if the instance is new since the beginning
	Value Value
}

// Named returns the values of a metric with the names of their instances.
func (m *Metrics) Named(name string) []Named { return m.named(&m.cur, name) }

// NamedBefore is Named of the previous sample.
func (m *Metrics) NamedBefore(name string) []Named { return m.named(&m.prev, name) }

func (m *Metrics) named(s *sample, name string) []Named {
	i, ok := m.index[name]
	if !ok || s.res == nil {
		return nil
	}
	set := &s.res.Sets[i]
	list := make([]Named, len(set.Values))
	names := m.names[m.descs[i].InDom]
	for j, v := range set.Values {
		list[j] = Named{names[v.Inst], Value{v, true}}
	}
	return list
}

// ByName returns values by the names of their instances. Of several of one name the last counts.
func ByName(list []Named) map[string]Value {
	byName := make(map[string]Value, len(list))
	for _, n := range list {
		byName[n.Name] = n.Value
	}
	return byName
}

// All returns the values of a metric.
func (m *Metrics) All(name string) []pcp.Value {
	i, ok := m.index[name]
	if !ok {
		return nil
	}
	return m.cur.res.Sets[i].Values
}

// As returns the values of a metric as ones of another type (pmExtractValue).
func (m *Metrics) As(name string, typ pcp.Type) ([]pcp.Value, error) {
	i := m.index[name]
	values := slices.Clone(m.cur.res.Sets[i].Values)
	for j, v := range values {
		x, err := v.Extract(m.descs[i].Type, typ)
		if err != nil {
			return nil, err
		}
		values[j] = x.WithInst(v.Inst)
	}
	return values, nil
}

// Converted is like Named, but counters are rates per second (netConvValues): an instance that is
// missing from the previous sample, or whose counter has decreased, is left out.
func (m *Metrics) Converted(name string) []Named {
	i, ok := m.index[name]
	if !ok || m.descs[i].Sem != pcp.SemCounter {
		return m.Named(name)
	}
	if !m.Sampled() {
		return nil
	}
	names, set := m.names[m.descs[i].InDom], &m.cur.res.Sets[i]
	list := make([]Named, 0, len(set.Values))
	for _, v := range set.Values {
		now, okNow := v.Float64()
		was, okWas := m.Before(name, v.Inst).Number()
		if okNow && okWas && now >= was {
			list = append(list, Named{names[v.Inst], Value{pcp.DoubleValue((now - was) / m.Elapsed()), true}})
		}
	}
	return list
}
