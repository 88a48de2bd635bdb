package pmlogger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/wire"
)

// Changes to a running recorder. All of these are called in the goroutine of Run, as by
// Call.

// NewVolume starts a volume of the archive, and logs the reason. It returns the number of
// the volume. The volume due by Config.Volume.Time is postponed accordingly.
func (r *Recorder) NewVolume(why string) (int, error) {
	if r.w == nil {
		return 0, errNotRunning
	}
	before, _, _ := r.w.Position()
	if err := r.newVolume(why); err != nil {
		if errors.Is(err, ErrByteLimit) {
			r.stop = err
		}
		return 0, err
	}
	vol, _, _ := r.w.Position()
	if vol == before {
		return 0, -pcp.Error(syscall.ENOSPC)
	}
	if d := r.cfg.Volume.Time; d > 0 {
		r.volume = time.Now().Add(d)
	}
	return vol, nil
}

// Flush writes the data held in memory, which there is only while the file system is full.
func (r *Recorder) Flush() error {
	if r.w == nil {
		return errNotRunning
	}
	return r.flush()
}

// Stop makes Run end with an error when f of Call has returned.
func (r *Recorder) Stop(why error) { r.stop = why }

// Status returns the fields of LOG_STATUS: times, volume and size, the host and its time zone.
func (r *Recorder) Status() wire.LogStatus {
	st := wire.LogStatus{Last: r.last, Now: pcp.TimestampOf(time.Now()), Host: r.host}
	if r.w == nil {
		return st
	}
	label := r.w.Label()
	vol, at, _ := r.w.Position()
	st.State, st.Start, st.Volume, st.Size = wire.LogStateInit, label.Start, int32(vol), at
	st.Host, st.TimeZone = label.Host, label.TimeZone
	return st
}

// Control executes a LOG_CONTROL, logs the results, and returns the answer: the state of each
// instance as a wire.LogValue. A metric that cannot be recorded has an error there. A change
// that is not permitted, such as of a mandatory state by an advisory request, is not made;
// the answer then has the old state.
func (r *Recorder) Control(ctx context.Context, q *wire.LogControl) (*pcp.Result, error) {
	if q.Delta < 0 || q.Delta > wire.MaxLogDelta {
		return nil, -pcp.Error(syscall.EINVAL)
	}
	change := q.Control == wire.LogMandatory || q.Control == wire.LogAdvisory
	if change {
		r.change(ctx, q)
	} else if q.Control != wire.LogEnquire {
		return nil, pcp.ErrIPC
	}
	res := new(pcp.Result)
	for i := range q.Metrics {
		m := &q.Metrics[i]
		if change {
			r.printf("  metric: %s", r.allNames(ctx, m.PMID))
		}
		res.AddSet(m.PMID)
		insts, err := m.Insts, error(nil)
		if len(insts) == 0 {
			insts, err = r.instances(ctx, m.PMID, !change)
		}
		if err != nil {
			res.Sets[i].Err = pcp.Code(err)
			if change {
				r.printf(": %v [request failed]\n", pcp.Code(err))
			}
			continue
		}
		for j, inst := range insts {
			v := r.value(m.PMID, inst)
			res.Add(pcp.Uint32Value(uint32(v)).WithInst(inst))
			if change {
				r.told(ctx, q, m.PMID, inst, j, len(insts), v)
			}
		}
	}
	return res, nil
}

// allNames returns the names of a metric in the format of the log.
func (r *Recorder) allNames(ctx context.Context, id pcp.PMID) string {
	names, err := r.c.NameAll(ctx, id)
	if err != nil || len(names) == 0 {
		return id.String()
	}
	return strings.Join(names, " or ")
}

// told logs the result for an instance, number j of n in a request.
func (r *Recorder) told(ctx context.Context, q *wire.LogControl, id pcp.PMID, inst int32, j, n int, v wire.LogValue) {
	found := r.find(id, inst)
	switch {
	case found != nil && found.desc.InDom != pcp.InDomNull:
		if j == 0 {
			r.printf("\n")
		}
		if name, err := r.c.NameInDom(ctx, found.desc.InDom, inst); err == nil {
			r.printf("    instance: %s", name)
		} else {
			r.printf("    instance: #%d", inst)
		}
	case n > 1 || inst != pcp.InNull:
		if j == 0 {
			r.printf("\n")
		}
		r.printf("    instance: #%d", inst)
	}
	mask, want, delta := wire.LogBitMandatory, wire.LogValue(0), int32(0)
	if q.State != wire.LogMaybe {
		mask |= wire.LogBitOn
		if q.Control == wire.LogMandatory {
			want |= wire.LogBitMandatory
		}
		if q.State == wire.LogOn {
			want |= wire.LogBitOn
			delta = q.Delta
		}
	}
	if v&mask != want || v.Delta() != delta {
		r.printf(" [request failed]")
	}
	r.printf("\n")
}

// value returns the state of an instance.
func (r *Recorder) value(id pcp.PMID, inst int32) wire.LogValue {
	var v wire.LogValue
	if q := r.find(id, inst); q != nil {
		v = v.WithDelta(int32(q.task.Interval.Milliseconds()))
		if q.task.State.On {
			v |= wire.LogBitOn
		}
		if q.task.State.Mandatory {
			v |= wire.LogBitMandatory
		}
	}
	m := r.written[id]
	if m == nil {
		return v
	}
	if m.desc.InDom == pcp.InDomNull {
		inst = pcp.InNull
	}
	if _, ok := slices.BinarySearch(m.seen, inst); ok {
		v |= wire.LogBitInLog
	}
	if _, ok := slices.BinarySearch(m.available, inst); ok {
		v |= wire.LogBitAvailable
	}
	return v
}

// instances returns the current instances of a metric, preceded, if past is set, by the
// other instances in the archive.
func (r *Recorder) instances(ctx context.Context, id pcp.PMID, past bool) ([]int32, error) {
	d, err := r.c.LookupDesc(ctx, id)
	if err != nil {
		return nil, err
	}
	if d.InDom == pcp.InDomNull {
		return []int32{pcp.InNull}, nil
	}
	list, err := r.c.GetInDom(ctx, d.InDom)
	if err != nil {
		return nil, err
	}
	insts := make([]int32, 0, len(list))
	now := make(map[int32]bool, len(list))
	for _, i := range list {
		insts = append(insts, i.Inst)
		now[i.Inst] = true
	}
	if m := r.written[id]; m != nil && past {
		for _, inst := range m.seen {
			if !now[inst] {
				insts = append(insts, inst)
			}
		}
	}
	return insts, nil
}

// A noted has the last results of note, for the next metric with the same lists.
type noted struct {
	before, insts, available, seen []int32
	nowAvailable, nowSeen          []int32
}

// note stores the instances of a metric in a record; before are the instances in the
// group's last record. Both are in ascending order, and are retained.
func (r *Recorder) note(m *logged, before, insts []int32) {
	n := &r.lists
	if same(n.before, before) && same(n.insts, insts) && same(n.available, m.available) && same(n.seen, m.seen) {
		m.available, m.seen = n.nowAvailable, n.nowSeen
		return
	}
	*n = noted{before: before, insts: insts, available: m.available, seen: m.seen}
	if equalLists(before, m.available) {
		m.available = insts // the usual case: one group has the metric
	} else {
		m.available = union(without(m.available, before), insts)
	}
	m.seen = union(m.seen, insts)
	n.nowAvailable, n.nowSeen = m.available, m.seen
}

// union returns the numbers in either list, in ascending order like both: a itself if it
// contains b.
func union(a, b []int32) []int32 {
	if len(a) == 0 {
		return b
	}
	more := 0
	for i, j := 0, 0; j < len(b); j++ {
		for i < len(a) && a[i] < b[j] {
			i++
		}
		if i == len(a) || a[i] != b[j] {
			more++
		}
	}
	if more == 0 {
		return a
	}
	all := make([]int32, 0, len(a)+more)
	i := 0
	for j, n := range b {
		if j > 0 && b[j-1] == n {
			continue
		}
		for i < len(a) && a[i] < n {
			all = append(all, a[i])
			i++
		}
		if i < len(a) && a[i] == n {
			i++
		}
		all = append(all, n)
	}
	return append(all, a[i:]...)
}

// without returns the numbers of a that are not in b.
func without(a, b []int32) []int32 {
	var left []int32
	for _, n := range a {
		if _, ok := slices.BinarySearch(b, n); !ok {
			left = append(left, n)
		}
	}
	return left
}

// change executes the change of a request.
func (r *Recorder) change(ctx context.Context, q *wire.LogControl) {
	var s conf.Statement
	s.State.On = q.State == wire.LogOn
	if q.Control == wire.LogMandatory {
		s.State.Maybe = q.State == wire.LogMaybe
		s.State.Mandatory = !s.State.Maybe
	}
	if s.State.On {
		s.Interval = time.Duration(q.Delta) * time.Millisecond
	}
	if s.State.Mandatory && s.State.Maybe {
		return
	}
	// Metrics recorded once need a task of their own: that of an earlier request is done.
	var t *task
	for _, old := range r.tasks {
		if s.Interval != 0 && old.Statement == s {
			t = old
			break
		}
	}
	fresh := t == nil
	if fresh {
		t = newTask(s)
	}
	for i := range q.Metrics {
		if m := &q.Metrics[i]; m.Err >= 0 {
			r.changeMetric(ctx, t, m)
		}
	}
	r.tasks = slices.DeleteFunc(r.tasks, func(x *task) bool { return x != t && len(x.groups) == 0 })
	if fresh && len(t.groups) > 0 {
		r.tasks = slices.Insert(r.tasks, 0, t)
		t.due = time.Time{}
		if s.State.On {
			t.due = time.Now()
		}
	}
}

// changeMetric changes the recording of a metric to the state of task t.
func (r *Recorder) changeMetric(ctx context.Context, t *task, m *wire.LogMetric) {
	state := t.State
	keep := state.On || state.Mandatory // otherwise the metric is not recorded
	have := r.requests[m.PMID]
	if len(have) == 0 {
		if keep {
			r.addMetric(ctx, t, m)
		}
		return
	}
	desc := have[0].desc
	if desc.InDom != pcp.InDomNull && len(m.Insts) > 0 {
		if slices.ContainsFunc(have, func(q *request) bool { return q.insts == nil }) {
			return // a profile cannot exclude single instances
		}
		for _, inst := range m.Insts {
			r.changeInstance(ctx, t, desc, inst)
		}
		return
	}
	mandatory := slices.ContainsFunc(have, func(q *request) bool { return q.task.State.Mandatory })
	if mandatory && !state.Mandatory && !state.Maybe {
		return
	}
	if state.Maybe && !mandatory && desc.InDom != pcp.InDomNull {
		return // advisory states stay
	}
	for _, q := range slices.Clone(have) {
		r.remove(q)
	}
	if keep {
		r.enter(ctx, t, desc, nil)
	}
}

// changeInstance changes the recording of an instance of a metric that is recorded
// with some instances.
func (r *Recorder) changeInstance(ctx context.Context, t *task, desc pcp.Desc, inst int32) {
	if q := r.find(desc.PMID, inst); q != nil {
		if q.task == t || conflict(q.task.State, t.State) != "" {
			return
		}
		old := q.task
		old.groups = displace(old.groups, q)
		q.insts = slices.DeleteFunc(q.insts, func(i int32) bool { return i == inst })
		if len(q.insts) > 0 {
			old.groups = place(old.groups, q)
		} else {
			r.forget(q)
			old.forget(r, desc.PMID)
		}
	}
	if !t.State.On && !t.State.Mandatory {
		return
	}
	for _, q := range r.requests[desc.PMID] {
		if q.task == t {
			t.groups = displace(t.groups, q)
			q.insts = append(q.insts, inst)
			slices.Sort(q.insts)
			t.groups = place(t.groups, q)
			return
		}
	}
	r.enter(ctx, t, desc, []int32{inst})
}

// addMetric adds a metric that is not recorded to a task. If the collector does not have
// it, the answer to the request reports that.
func (r *Recorder) addMetric(ctx context.Context, t *task, m *wire.LogMetric) {
	d, err := r.c.LookupDesc(ctx, m.PMID)
	if err != nil {
		return
	}
	var insts []int32
	if d.InDom != pcp.InDomNull && len(m.Insts) > 0 {
		insts = slices.Clone(m.Insts)
		slices.Sort(insts)
		insts = slices.Compact(insts)
	}
	r.enter(ctx, t, d, insts)
}

// enter adds a metric, or some instances of it, to a task.
func (r *Recorder) enter(ctx context.Context, t *task, d pcp.Desc, insts []int32) {
	if _, ok := t.byID[d.PMID]; !ok {
		name, err := r.c.NameID(ctx, d.PMID)
		if err != nil {
			return
		}
		t.add(name, d)
	}
	r.request(t, d, insts)
	t.valid++
}

// remove removes a request.
func (r *Recorder) remove(q *request) {
	t := q.task
	t.groups = displace(t.groups, q)
	r.forget(q)
	t.forget(r, q.desc.PMID)
}

// forget removes a metric that is no longer recorded from a task.
func (t *task) forget(r *Recorder, id pcp.PMID) {
	if slices.ContainsFunc(r.requests[id], func(q *request) bool { return q.task == t }) {
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
