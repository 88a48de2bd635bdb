package pmie

import (
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
)

// A task is a list of rules that are evaluated together, at the same interval.
type task struct {
	delta float64
	rules []*ruled
	hosts []*host

	epoch float64 // the start of the ticks
	tick  int
	due   float64
	retry float64 // how long until missing metrics are tried again, 0 if nothing is missing

	plan  *eval.Plan // nil if trees are evaluated
	trees int        // the number of evaluations before a plan is made
	pause int        // the last initial value of trees
}

// host returns where a task gets a metric from.
func (t *task) host(m *eval.Metric) *host {
	for _, h := range t.hosts {
		if h.conn == m.Conn {
			return h
		}
	}
	h := &host{name: m.Host, conn: m.Conn}
	t.hosts = append([]*host{h}, t.hosts...)
	return h
}

// waiting reports whether a metric of the task is missing.
func (t *task) waiting() bool {
	for _, h := range t.hosts {
		if h.down || len(h.waits) > 0 {
			return true
		}
	}
	return false
}

// abandon goes back to trees.
func (t *task) abandon() {
	if t.plan != nil {
		t.plan.Store()
		t.plan = nil
	}
}

// A ruled is a rule of a task.
type ruled struct {
	*rule.Rule
	deliveries []delivery
}
