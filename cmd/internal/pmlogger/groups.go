package pmlogger

import (
	"cmp"
	"slices"

	"github.com/go-pcp/pcp"
)

// Costs of a fetch, without unit, for dividing metrics into groups that are
// fetched together, as in the C library (pmlogger's use of __pmOptFetchAdd in
// optfetch.c), so that the records of an archive hold the same metrics.
const (
	costDomain  = 4  // each agent with metrics
	costInDom   = 1  // each agent with instances
	costGroup   = 15 // a group of its own
	costInst    = 2  // an instance fetched only for another metric
	sizeOfInDom = 10 // assumed number of instances of a domain
)

// A request is a recorded metric, with its instances.
type request struct {
	desc  pcp.Desc
	insts []int32 // in ascending order; nil means all
	task  *task
	group *group
}

// A selection is a set of instances. The zero selection is empty.
type selection struct {
	all   bool
	insts []int32 // in ascending order, if not all
}

// add adds the instances of a request.
func (s *selection) add(insts []int32) {
	switch {
	case s.all:
	case insts == nil:
		s.all, s.insts = true, nil
	default:
		for _, inst := range insts {
			if i, ok := slices.BinarySearch(s.insts, inst); !ok {
				s.insts = slices.Insert(s.insts, i, inst)
			}
		}
	}
}

// extra returns the number of instances that s has in addition to of, a subset.
func (s *selection) extra(of *selection) int {
	if !s.all {
		return len(s.insts) - len(of.insts)
	}
	if of.all || len(of.insts) >= sizeOfInDom {
		return 0
	}
	return sizeOfInDom - len(of.insts)
}

// with returns the selection with the instances of a request added.
func (s selection) with(insts []int32) selection {
	if !s.all {
		s.insts = slices.Clone(s.insts)
	}
	s.add(insts)
	return s
}

// A group is a set of metrics fetched together, with one instance profile. Each
// fetch becomes a record of the archive.
type group struct {
	ids     []pcp.PMID // in descending order
	indoms  []*groupInDom
	metrics map[pcp.PMID]*groupMetric
	agents  map[int]int             // number of metrics of each agent
	last    map[pcp.PMID]*instances // that each metric had in the last records
	records int                     // so far
	changed bool                    // since the profile was sent
	decoded int                     // number of requests for metrics whose values are examined or computed here
}

// decoded reports whether the values of a metric cannot be recorded unchanged.
func decoded(d *pcp.Desc) bool {
	return d.PMID.IsDerived() || d.Type == pcp.TypeEvent || d.Type == pcp.TypeHighResEvent
}

// A groupInDom is an instance domain of a group, with the instances selected for any
// of its metrics.
type groupInDom struct {
	indom   pcp.InDom
	want    selection
	metrics []*groupMetric
}

// A groupMetric is a metric of a group, with its requests and their instances.
type groupMetric struct {
	id       pcp.PMID
	want     selection
	requests []*request
}

func newGroup() *group {
	return &group{metrics: make(map[pcp.PMID]*groupMetric), agents: make(map[int]int)}
}

// domain returns the instance domain of the group, or nil.
func (g *group) domain(indom pcp.InDom) *groupInDom {
	for _, d := range g.indoms {
		if d.indom == indom {
			return d
		}
	}
	return nil
}

// extra returns the number of instances fetched that no request selects, if want
// is selected in the domain.
func (d *groupInDom) extra(want *selection) int {
	n := 0
	for _, m := range d.metrics {
		n += want.extra(&m.want)
	}
	return n
}

// costWith returns the cost of fetching the group with another request.
func (g *group) costWith(r *request) int {
	agents := len(g.agents)
	if g.agents[r.desc.PMID.Domain()] == 0 {
		agents++
	}
	owners := map[int]bool{r.desc.InDom.Domain(): true}
	extra := 0
	for _, d := range g.indoms {
		owners[d.indom.Domain()] = true
		if d.indom != r.desc.InDom {
			extra += d.extra(&d.want)
		}
	}
	var want, wantM selection
	if d := g.domain(r.desc.InDom); d != nil {
		want = d.want.with(r.insts)
		extra += d.extra(&want)
	} else {
		want.add(r.insts)
	}
	if m := g.metrics[r.desc.PMID]; m != nil {
		extra -= want.extra(&m.want)
		wantM = m.want.with(r.insts)
	} else {
		wantM.add(r.insts)
	}
	extra += want.extra(&wantM)
	return costDomain*agents + costInDom*len(owners) + costInst*extra
}

// put adds a request.
func (g *group) put(r *request) {
	d := g.domain(r.desc.InDom)
	if d == nil {
		d = &groupInDom{indom: r.desc.InDom}
		g.indoms = append(g.indoms, d)
	}
	m := g.metrics[r.desc.PMID]
	if m == nil {
		m = &groupMetric{id: r.desc.PMID}
		d.metrics = append(d.metrics, m)
		g.metrics[m.id] = m
		g.agents[m.id.Domain()]++
		i, _ := slices.BinarySearchFunc(g.ids, m.id, func(a, b pcp.PMID) int { return cmp.Compare(b, a) })
		g.ids = slices.Insert(g.ids, i, m.id)
	}
	d.want.add(r.insts)
	m.want.add(r.insts)
	m.requests = append(m.requests, r)
	r.group, g.changed = g, true
	if decoded(&r.desc) {
		g.decoded++
	}
}

// remove removes a request, and reports whether the group is then empty.
func (g *group) remove(r *request) bool {
	r.group, g.changed = nil, true
	if decoded(&r.desc) {
		g.decoded--
	}
	d, m := g.domain(r.desc.InDom), g.metrics[r.desc.PMID]
	m.requests = slices.DeleteFunc(m.requests, func(x *request) bool { return x == r })
	if len(m.requests) == 0 {
		d.metrics = slices.DeleteFunc(d.metrics, func(x *groupMetric) bool { return x == m })
		g.ids = slices.DeleteFunc(g.ids, func(id pcp.PMID) bool { return id == m.id })
		delete(g.metrics, m.id)
		delete(g.last, m.id)
		if g.agents[m.id.Domain()]--; g.agents[m.id.Domain()] == 0 {
			delete(g.agents, m.id.Domain())
		}
	}
	if len(d.metrics) == 0 {
		g.indoms = slices.DeleteFunc(g.indoms, func(x *groupInDom) bool { return x == d })
	}
	d.want = selection{}
	for _, m := range d.metrics {
		m.want = selection{}
		for _, r := range m.requests {
			m.want.add(r.insts)
			d.want.add(r.insts)
		}
	}
	return len(g.indoms) == 0
}

// place puts a request into the cheapest group, which may be a new one at the
// front. It returns the groups.
func place(groups []*group, r *request) []*group {
	best := newGroup()
	least := best.costWith(r) + costGroup
	fresh := best
	for _, g := range groups {
		if c := g.costWith(r); c < least {
			best, least = g, c
		}
	}
	best.put(r)
	if best == fresh {
		return slices.Insert(groups, 0, fresh)
	}
	return groups
}

// displace removes a request from its group.
func displace(groups []*group, r *request) []*group {
	g := r.group
	if g == nil || !g.remove(r) {
		return groups
	}
	return slices.DeleteFunc(groups, func(x *group) bool { return x == g })
}
