package pmlogger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

// A task is a set of metrics recorded in the same state at the same interval.
type task struct {
	conf.Statement
	metrics []taskMetric
	byName  map[string]int // index in metrics
	byID    map[pcp.PMID]int
	groups  []*group
	// valid is the number of accepted requests. A task without one is not scheduled.
	valid   int
	derived int       // number of metrics that are derived
	due     time.Time // zero if not scheduled
	sized   bool      // its size was logged
	records int64     // length of its last records
}

// A taskMetric is a metric of a task's statement, whether it is recorded or not.
type taskMetric struct {
	name string
	desc pcp.Desc
}

// A Fetch describes a task for Fetches: the interval of its metrics, 0 for none, and the number of metrics in each
// group fetched together.
type Fetch struct {
	Interval time.Duration
	Groups   []int
}

// Fetches returns the metrics that are fetched together. It must be called before Run.
func (r *Recorder) Fetches() []Fetch {
	var list []Fetch
	for _, t := range r.tasks {
		f := Fetch{Interval: t.Interval}
		for _, g := range t.groups {
			f.Groups = append(f.Groups, len(g.ids))
		}
		list = append(list, f)
	}
	return list
}

// A root is a name below which metrics may appear later, and how to record
// them.
type root struct {
	name string
	conf.Statement
}

// conflict returns the reason why a statement cannot change another task's
// recording of a metric, "" if it can.
func conflict(old, s conf.State) string {
	if !old.Mandatory || s.Mandatory || s.Maybe {
		return ""
	}
	state := map[bool]string{true: "ON", false: "OFF"}
	return fmt.Sprintf("Request for (advisory) %s conflicts with current (mandatory) %s state", state[s.On], state[old.On])
}

// task returns the task for a statement. A new task is added at the end.
func (r *Recorder) task(s conf.Statement) *task {
	for _, t := range r.tasks {
		if t.Statement == s {
			return t
		}
	}
	t := newTask(s)
	r.tasks = append(r.tasks, t)
	return t
}

func newTask(s conf.Statement) *task {
	return &task{Statement: s, byName: make(map[string]int), byID: make(map[pcp.PMID]int)}
}

// configure adds the metric of a statement. It logs metrics that cannot be
// recorded; an error ends the recorder.
func (r *Recorder) configure(ctx context.Context, s conf.Statement, m conf.Metric) error {
	t := r.task(s)
	if _, ok := t.byName[m.Name]; ok {
		return r.activate(ctx, t, m.Name, &m)
	}
	names, leaf, err := r.leaves(ctx, m.Name)
	if len(names) > 1 && err == nil {
		if err := r.learn(ctx, names); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := r.activate(ctx, t, name, &m); err != nil {
			return err
		}
	}
	if err != nil {
		r.warn(m.Place, fmt.Sprintf("Problem with lookup for metric %q ... logging not activated", m.Name))
		meant := ""
		if r.cfg.Meant != nil && pcp.Code(err) == pcp.ErrName {
			meant = r.cfg.Meant(ctx, r.c, m.Name)
		}
		r.printf("Reason: %s%s\n", pcp.Code(err), meant)
		if lost(err) {
			return fmt.Errorf("the collector was lost: %w", err)
		}
	}
	if !leaf {
		r.addRoot(m.Name, s)
	}
	return nil
}

// addRoot remembers a name that is not a metric. The first statement wins.
func (r *Recorder) addRoot(name string, s conf.Statement) {
	if !slices.ContainsFunc(r.roots, func(x root) bool { return x.name == name }) {
		r.roots = append(r.roots, root{name, s})
	}
}

// leaves returns the metrics at or below a name, and reports whether the name is a
// metric itself.
func (r *Recorder) leaves(ctx context.Context, name string) (names []string, leaf bool, err error) {
	if _, ok := r.known[name]; ok {
		return []string{name}, true, nil
	}
	for leaf, err := range r.c.Traverse(ctx, name) {
		if err != nil {
			return names, false, err
		}
		names = append(names, leaf)
	}
	return names, len(names) == 1 && names[0] == name, nil
}

// describe looks up a metric. Many names are looked up in advance with few requests.
func (r *Recorder) describe(ctx context.Context, name string) (pcp.Desc, string, error) {
	if d, ok := r.known[name]; ok {
		return d, "", nil
	}
	ids, err := r.c.LookupName(ctx, name)
	if err != nil || ids[0] == pcp.PMIDNull {
		if err == nil {
			err = pcp.ErrName
		}
		return pcp.Desc{}, fmt.Sprintf("Metric %q is unknown ... not logged", name), err
	}
	d, err := r.c.LookupDesc(ctx, ids[0])
	if err != nil {
		return d, fmt.Sprintf("Description unavailable for metric %q ... not logged", name), err
	}
	return d, "", nil
}

// activate starts recording a metric in a task, with the instances of m.
func (r *Recorder) activate(ctx context.Context, t *task, name string, m *conf.Metric) error {
	i, ok := t.byName[name]
	if !ok {
		d, problem, err := r.describe(ctx, name)
		if err != nil {
			r.warn(m.Place, problem)
			r.printf("Reason: %s\n", pcp.Code(err))
			if lost(err) {
				return fmt.Errorf("the collector was lost: %w", err)
			}
			return nil
		}
		i = t.add(name, d)
	}
	desc := t.metrics[i].desc
	var insts []int32
	if len(m.Instances) > 0 {
		insts = r.wanted(ctx, t, name, desc, m)
		if len(insts) == 0 {
			return nil
		}
	} else if problem, done := r.checkAll(t, desc.PMID); problem != "" {
		r.warn(m.Place, fmt.Sprintf("Incompatible request for metric %q", name))
		return nil
	} else if done {
		return nil
	}
	r.request(t, desc, insts)
	t.valid++
	return nil
}

// add adds a metric to a task, and returns its index in metrics.
func (t *task) add(name string, d pcp.Desc) int {
	i := len(t.metrics)
	t.metrics = append(t.metrics, taskMetric{name, d})
	t.byName[name] = i
	if _, ok := t.byID[d.PMID]; !ok {
		t.byID[d.PMID] = i
	}
	if d.PMID.IsDerived() {
		t.derived++
	}
	return i
}

// request starts recording a metric in a task.
func (r *Recorder) request(t *task, d pcp.Desc, insts []int32) *request {
	q := &request{desc: d, insts: insts, task: t}
	t.groups = place(t.groups, q)
	r.remember(q)
	return q
}

// remember adds a request to the table. Several requests for a metric are applied in order, which is that of
// C's hash table: the newest is first, and when the table grows all lists are reversed.
func (r *Recorder) remember(q *request) {
	id := q.desc.PMID
	r.entries++
	if r.buckets == 0 {
		r.buckets = 1
	} else if r.entries/4 > r.buckets {
		for _, list := range r.requests {
			slices.Reverse(list)
		}
		r.buckets *= 2
		for _, step := range []struct{ by, add int }{{2, 1}, {3, 2}, {5, 2}} {
			if r.buckets%step.by != 0 {
				r.buckets += step.add
			}
		}
	}
	r.requests[id] = slices.Insert(r.requests[id], 0, q)
}

// wanted returns the instances of m, without those that the task records already
// and those that cannot be recorded, which it reports.
func (r *Recorder) wanted(ctx context.Context, t *task, name string, desc pcp.Desc, m *conf.Metric) []int32 {
	var insts []int32
	for _, want := range m.Instances {
		inst, what := want.ID, want.Name
		var err error
		if want.Name != "" {
			inst, err = r.c.LookupInDom(ctx, desc.InDom, want.Name)
		} else {
			what = fmt.Sprint(want.ID)
			_, err = r.c.NameInDom(ctx, desc.InDom, want.ID)
		}
		if err != nil {
			r.warn(m.Place, fmt.Sprintf("Instance \"%s\" is not defined for the metric %q", what, name))
			continue
		}
		problem, done := r.checkOne(t, desc.PMID, inst)
		if problem != "" {
			r.warn(m.Place, fmt.Sprintf("Incompatible request for metric %q and instance \"%s\"", name, what))
			r.printf("%s\n", problem)
			continue
		}
		if !done && !slices.Contains(insts, inst) {
			insts = append(insts, inst)
		}
	}
	slices.Sort(insts)
	return insts
}

// find returns the request for an instance of a metric, or nil. A request that names the
// instance takes precedence over one for all instances. Of several that name it the first in
// the table wins, of the others the last, as in C.
func (r *Recorder) find(id pcp.PMID, inst int32) *request {
	var all *request
	for _, q := range r.requests[id] {
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
func (r *Recorder) checkOne(t *task, id pcp.PMID, inst int32) (problem string, done bool) {
	q := r.find(id, inst)
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
		r.dropInstance(q, inst)
	}
	return "", false
}

// dropInstance removes an instance from a request that names it, and the request if
// it was the last one.
func (r *Recorder) dropInstance(q *request, inst int32) {
	t := q.task
	t.groups = displace(t.groups, q)
	q.insts = slices.DeleteFunc(q.insts, func(i int32) bool { return i == inst })
	if len(q.insts) > 0 {
		t.groups = place(t.groups, q)
		return
	}
	r.forget(q)
	if len(t.groups) == 0 {
		r.tasks = slices.DeleteFunc(r.tasks, func(x *task) bool { return x == t })
	}
}

// forget removes a request without a group from the table.
func (r *Recorder) forget(q *request) {
	id := q.desc.PMID
	r.entries--
	r.requests[id] = slices.DeleteFunc(r.requests[id], func(x *request) bool { return x == q })
	if len(r.requests[id]) == 0 {
		delete(r.requests, id)
	}
}

// checkAll is checkOne for a task that records all instances of a metric. Other
// advisory statements remain: as in C, both record it.
func (r *Recorder) checkAll(t *task, id pcp.PMID) (problem string, done bool) {
	for _, q := range slices.Clone(r.requests[id]) {
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
