package pmlogger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

// A task is the metrics that are recorded in the same state at the same interval.
type task struct {
	conf.Statement
	metrics []taskMetric
	byName  map[string]int // in metrics
	byID    map[pcp.PMID]int
	groups  []*group
	// valid is how many requests were accepted. A task without one is not scheduled.
	valid   int
	derived int       // how many of metrics are derived
	due     time.Time // zero if not scheduled
	sized   bool      // its size was reported
	records int64     // length of its last records
}

// A taskMetric is a metric that a task was asked to record, whether it does or not.
type taskMetric struct {
	name string
	desc pcp.Desc
}

// A Fetch is a task, as Fetches has it: how often its metrics are recorded, 0 for those that are not by themselves, and how many
// are in each of the groups that are fetched together.
type Fetch struct {
	Interval time.Duration
	Groups   []int
}

// Fetches returns which metrics are fetched together. It is for before Run.
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

// A root is a name that can stand for more metrics tomorrow than today, and how
// they are to be recorded.
type root struct {
	name string
	conf.Statement
}

// conflict returns why a statement cannot change what another task records of a
// metric, "" if it can.
func conflict(old, s conf.State) string {
	if !old.Mandatory || s.Mandatory || s.Maybe {
		return ""
	}
	state := map[bool]string{true: "ON", false: "OFF"}
	return fmt.Sprintf("Request for (advisory) %s conflicts with current (mandatory) %s state", state[s.On], state[old.On])
}

// task returns the task for a statement. A new one comes last.
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

// configure takes in the metric of a statement. What cannot be recorded is said in
// the log; an error is one that ends the recorder.
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

// addRoot remembers a name that is not a metric. The first statement counts.
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

// describe looks up a metric. Many in a row are looked up with few requests.
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

// activate has a task record a metric, with the instances that m names.
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

// add notes a metric in a task, and returns its place in metrics.
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

// request has a task record a metric from now on.
func (r *Recorder) request(t *task, d pcp.Desc, insts []int32) *request {
	q := &request{desc: d, insts: insts, task: t}
	t.groups = place(t.groups, q)
	r.remember(q)
	return q
}

// remember puts a request into the table. Which of several requests for a metric counts is a matter of their
// order, so it is that of C's hash table: the newest one is first, and when the table grows all
// lists are reversed.
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

// wanted returns the instances that m names, without those that the task records
// already and those that cannot be recorded, which it reports.
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

// find returns the request for an instance of a metric, nil if there is none. One
// that names the instance comes before one for all. Of those that name it the first one in the
// table counts, of the others the last one, as in C.
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

// checkOne makes way for a task that wants an instance of a metric. It returns a
// problem if another statement forbids it, and reports whether the task has it already.
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
	// The other one loses the instance. If it has all, it keeps them: as in C, a
	// profile cannot say "all but these".
	if q.insts != nil {
		r.dropInstance(q, inst)
	}
	return "", false
}

// dropInstance takes an instance from a request that names it, and the request away
// if it was the last one.
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

// forget takes a request that is in no group out of the table.
func (r *Recorder) forget(q *request) {
	id := q.desc.PMID
	r.entries--
	r.requests[id] = slices.DeleteFunc(r.requests[id], func(x *request) bool { return x == q })
	if len(r.requests[id]) == 0 {
		delete(r.requests, id)
	}
}

// checkAll is checkOne for a task that wants all instances of a metric. Other
// advisory statements stay: as in C, both record it.
func (r *Recorder) checkAll(t *task, id pcp.PMID) (problem string, done bool) {
	for _, q := range slices.Clone(r.requests[id]) {
		if q.task == t {
			if q.insts != nil { // now all of them
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
