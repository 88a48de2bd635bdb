package pmlogger

import (
	"context"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/wire"
)

// A describer describes metrics, as a pmapi.Context does.
type describer interface {
	LookupDesc(ctx context.Context, id pcp.PMID) (pcp.Desc, error)
	NameID(ctx context.Context, id pcp.PMID) (string, error)
}

// A change moves metrics to another task, at the request of a client.
type change struct {
	plan   *plan
	source describer
	to     *task
}

// apply makes the change that a client requests to a plan.
func (p *plan) apply(ctx context.Context, source describer, q *wire.LogControl, now time.Time) {
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
	for _, old := range p.tasks {
		if s.Interval != 0 && old.Statement == s {
			t = old
			break
		}
	}
	fresh := t == nil
	if fresh {
		t = newTask(s)
	}
	c := change{plan: p, source: source, to: t}
	for i := range q.Metrics {
		if m := &q.Metrics[i]; m.Err >= 0 {
			c.metric(ctx, m)
		}
	}
	p.tasks = slices.DeleteFunc(p.tasks, func(x *task) bool { return x != t && len(x.groups) == 0 })
	if fresh && len(t.groups) > 0 {
		p.tasks = slices.Insert(p.tasks, 0, t)
		t.due = time.Time{}
		if s.State.On {
			t.due = now
		}
	}
}

// metric changes the recording of a metric to the state of the task.
func (c *change) metric(ctx context.Context, m *wire.LogMetric) {
	state := c.to.State
	keep := state.On || state.Mandatory // otherwise the metric is not recorded
	have := c.plan.requests[m.PMID]
	if len(have) == 0 {
		if keep {
			c.add(ctx, m)
		}
		return
	}
	desc := have[0].desc
	if desc.InDom != pcp.InDomNull && len(m.Insts) > 0 {
		if slices.ContainsFunc(have, func(q *request) bool { return q.insts == nil }) {
			return // a profile cannot exclude single instances
		}
		for _, inst := range m.Insts {
			c.instance(ctx, desc, inst)
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
		c.plan.remove(q)
	}
	if keep {
		c.enter(ctx, desc, nil)
	}
}

// instance changes the recording of an instance of a metric that is recorded
// with some instances.
func (c *change) instance(ctx context.Context, desc pcp.Desc, inst int32) {
	t := c.to
	if q := c.plan.find(desc.PMID, inst); q != nil {
		if q.task == t || conflict(q.task.State, t.State) != "" {
			return
		}
		old := q.task
		old.groups = displace(old.groups, q)
		q.insts = slices.DeleteFunc(q.insts, func(i int32) bool { return i == inst })
		if len(q.insts) > 0 {
			old.groups = place(old.groups, q)
		} else {
			c.plan.forget(q)
			c.plan.strike(old, desc.PMID)
		}
	}
	if !t.State.On && !t.State.Mandatory {
		return
	}
	for _, q := range c.plan.requests[desc.PMID] {
		if q.task == t {
			t.groups = displace(t.groups, q)
			q.insts = append(q.insts, inst)
			slices.Sort(q.insts)
			t.groups = place(t.groups, q)
			return
		}
	}
	c.enter(ctx, desc, []int32{inst})
}

// add adds a metric that is not recorded to the task. If the collector does not have
// it, the answer to the request reports that.
func (c *change) add(ctx context.Context, m *wire.LogMetric) {
	d, err := c.source.LookupDesc(ctx, m.PMID)
	if err != nil {
		return
	}
	var insts []int32
	if d.InDom != pcp.InDomNull && len(m.Insts) > 0 {
		insts = slices.Clone(m.Insts)
		slices.Sort(insts)
		insts = slices.Compact(insts)
	}
	c.enter(ctx, d, insts)
}

// enter adds a metric, or some instances of it, to the task.
func (c *change) enter(ctx context.Context, d pcp.Desc, insts []int32) {
	t := c.to
	if _, ok := t.byID[d.PMID]; !ok {
		name, err := c.source.NameID(ctx, d.PMID)
		if err != nil {
			return
		}
		t.add(name, d)
	}
	c.plan.request(t, d, insts)
	t.valid++
}
