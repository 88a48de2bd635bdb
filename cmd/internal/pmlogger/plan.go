package pmlogger

import (
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/wire"
)

// A plan lists the metrics to record: the tasks, and the table of requests. It makes no requests to the
// collector and writes nothing. Of two statements about a metric, the plan decides which applies.
type plan struct {
	tasks    []*task
	roots    []root
	requests map[pcp.PMID][]*request
	entries  int // number of requests
	buckets  int // size of C's hash table
}

func newPlan() *plan { return &plan{requests: make(map[pcp.PMID][]*request)} }

// A root is a name below which metrics may appear later, and how to record
// them.
type root struct {
	name string
	conf.Statement
}

// task returns the task for a statement. A new task is added at the end.
func (p *plan) task(s conf.Statement) *task {
	for _, t := range p.tasks {
		if t.Statement == s {
			return t
		}
	}
	t := newTask(s)
	p.tasks = append(p.tasks, t)
	return t
}

// addRoot remembers a name that is not a metric. The first statement wins.
func (p *plan) addRoot(name string, s conf.Statement) {
	if !slices.ContainsFunc(p.roots, func(x root) bool { return x.name == name }) {
		p.roots = append(p.roots, root{name, s})
	}
}

// request starts recording a metric in a task.
func (p *plan) request(t *task, d pcp.Desc, insts []int32) *request {
	q := &request{desc: d, insts: insts, task: t}
	t.groups = place(t.groups, q)
	p.remember(q)
	return q
}

// remember adds a request to the table. Several requests for a metric are applied in order, which is that of
// C's hash table: the newest is first, and when the table grows all lists are reversed.
func (p *plan) remember(q *request) {
	id := q.desc.PMID
	p.entries++
	if p.buckets == 0 {
		p.buckets = 1
	} else if p.entries/4 > p.buckets {
		for _, list := range p.requests {
			slices.Reverse(list)
		}
		p.buckets *= 2
		for _, step := range []struct{ by, add int }{{2, 1}, {3, 2}, {5, 2}} {
			if p.buckets%step.by != 0 {
				p.buckets += step.add
			}
		}
	}
	p.requests[id] = slices.Insert(p.requests[id], 0, q)
}

// find returns the request for an instance of a metric, or nil. A request that names the
// instance takes precedence over one for all instances. Of several that name it the first in
// the table wins, of the others the last, as in C.
func (p *plan) find(id pcp.PMID, inst int32) *request {
	var all *request
	for _, q := range p.requests[id] {
		if q.insts == nil {
			all = q
		} else if slices.Contains(q.insts, inst) {
			return q
		}
	}
	return all
}

// checkOne frees an instance of a metric for a task. It returns a problem if another
// statement forbids it, and reports whether the task has the instance already.
func (p *plan) checkOne(t *task, id pcp.PMID, inst int32) (problem string, done bool) {
	q := p.find(id, inst)
	if q == nil {
		return "", false
	}
	if q.task == t {
		return "", true
	}
	if problem := conflict(q.task.State, t.State); problem != "" {
		return problem, false
	}
	// The other task loses the instance, unless it has all instances: as in C, a
	// profile cannot exclude single ones.
	if q.insts != nil {
		p.dropInstance(q, inst)
	}
	return "", false
}

// checkAll is checkOne for a task that records all instances of a metric. Other
// advisory statements remain: as in C, both record it.
func (p *plan) checkAll(t *task, id pcp.PMID) (problem string, done bool) {
	for _, q := range slices.Clone(p.requests[id]) {
		if q.task == t {
			if q.insts != nil { // now all instances
				t.groups = displace(t.groups, q)
				q.insts = nil
				t.groups = place(t.groups, q)
			}
			return "", true
		}
		if problem := conflict(q.task.State, t.State); problem != "" {
			return problem, false
		}
	}
	return "", false
}

// dropInstance removes an instance from a request that names it, and the request if
// it was the last one.
func (p *plan) dropInstance(q *request, inst int32) {
	t := q.task
	t.groups = displace(t.groups, q)
	q.insts = slices.DeleteFunc(q.insts, func(i int32) bool { return i == inst })
	if len(q.insts) > 0 {
		t.groups = place(t.groups, q)
		return
	}
	p.forget(q)
	if len(t.groups) == 0 {
		p.tasks = slices.DeleteFunc(p.tasks, func(x *task) bool { return x == t })
	}
}

// remove removes a request.
func (p *plan) remove(q *request) {
	t := q.task
	t.groups = displace(t.groups, q)
	p.forget(q)
	p.strike(t, q.desc.PMID)
}

// forget removes a request without a group from the table.
func (p *plan) forget(q *request) {
	id := q.desc.PMID
	p.entries--
	p.requests[id] = slices.DeleteFunc(p.requests[id], func(x *request) bool { return x == q })
	if len(p.requests[id]) == 0 {
		delete(p.requests, id)
	}
}

// strike removes a metric from a task that no longer records it.
func (p *plan) strike(t *task, id pcp.PMID) {
	if slices.ContainsFunc(p.requests[id], func(q *request) bool { return q.task == t }) {
		return
	}
	list := t.metrics
	t.metrics, t.derived = nil, 0
	clear(t.byName)
	clear(t.byID)
	for _, m := range list {
		if m.desc.PMID != id {
			t.add(m.name, m.desc)
		}
	}
}

// adopt starts recording a metric while the recorder runs.
func (p *plan) adopt(s conf.Statement, name string, d pcp.Desc, now time.Time) {
	t := p.task(s)
	if _, ok := t.byName[name]; !ok {
		t.add(name, d)
	}
	p.request(t, d, nil)
	t.valid++
	if t.due.IsZero() {
		t.schedule(now)
	}
}

// typeOf returns the type of a recorded metric.
func (p *plan) typeOf(id pcp.PMID) pcp.Type {
	if q := p.requests[id]; len(q) > 0 {
		return q[0].desc.Type
	}
	return pcp.TypeUnknown
}

// names adds to a list the names that tasks have for a metric, unless they are in it.
func (p *plan) names(list []string, id pcp.PMID) []string {
	for _, t := range p.tasks {
		for _, m := range t.metrics {
			if m.desc.PMID == id && !slices.Contains(list, m.name) {
				list = append(list, m.name)
			}
		}
	}
	return list
}

// state returns how an instance of a metric is recorded, in the bits of a LogValue that are not about the archive.
func (p *plan) state(id pcp.PMID, inst int32) wire.LogValue {
	q := p.find(id, inst)
	if q == nil {
		return 0
	}
	v := wire.LogValue(0).WithDelta(int32(q.task.Interval.Milliseconds()))
	if q.task.State.On {
		v |= wire.LogBitOn
	}
	if q.task.State.Mandatory {
		v |= wire.LogBitMandatory
	}
	return v
}

// start schedules all tasks: those of one sample at once, the others a little later,
// so that metrics recorded once are first.
func (p *plan) start(now time.Time) {
	for _, t := range p.tasks {
		t.schedule(now)
	}
}

// next returns the time when the first task is due, the zero Time if none is.
func (p *plan) next() time.Time {
	var at time.Time
	for _, t := range p.tasks {
		at = sooner(at, t.due)
	}
	return at
}

// sooner returns the earlier of two times. The zero Time means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// renew prepares the tasks for another archive: each record is the first of its group, and metrics recorded once
// are due again.
func (p *plan) renew(now time.Time) {
	for _, t := range p.tasks {
		t.sized = false
		for _, g := range t.groups {
			g.last = nil
		}
		if t.Interval == 0 {
			t.schedule(now)
		}
	}
}

// daily estimates the size of a day's records from the last ones, and reports whether each task with an interval
// has had a sample.
func (p *plan) daily() (bytes int64, all bool) {
	daily, all := 0.0, true
	for _, t := range p.tasks {
		if t.Interval > 0 && t.valid > 0 && t.State.On {
			all = all && t.records > 0
			daily += float64(t.records) * float64(24*time.Hour) / float64(t.Interval)
		}
	}
	return int64(daily), all
}
