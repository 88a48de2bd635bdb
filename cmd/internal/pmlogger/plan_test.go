package pmlogger

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/wire"
)

func statement(mandatory, on bool, every time.Duration) conf.Statement {
	return conf.Statement{State: conf.State{Mandatory: mandatory, On: on}, Interval: every}
}

// desc describes an item of agent 400, which has instances if its number is odd.
func desc(item int) pcp.Desc {
	d := pcp.Desc{PMID: pcp.NewPMID(400, 0, item), InDom: pcp.InDomNull}
	if item%2 == 1 {
		d.InDom = pcp.NewInDom(400, 1)
	}
	return d
}

// A book describes the items below its length.
type book int

func (b book) LookupDesc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	if id.Item() >= int(b) {
		return pcp.Desc{}, pcp.ErrPMID
	}
	return desc(id.Item()), nil
}

func (b book) NameID(_ context.Context, id pcp.PMID) (string, error) {
	if id.Item() >= int(b) {
		return "", pcp.ErrPMID
	}
	return "book." + id.String(), nil
}

// TestPlanConflicts has a second statement claim a metric or an instance of a first one.
func TestPlanConflicts(t *testing.T) {
	d := desc(1)
	for _, c := range []struct {
		name   string
		first  conf.Statement
		second conf.Statement
		refuse bool
		left   []int32 // instances of the first task
	}{
		{"advisory after advisory", statement(false, true, 1), statement(false, true, 2), false, []int32{2}},
		{"mandatory after advisory", statement(false, true, 1), statement(true, true, 2), false, []int32{2}},
		{"advisory after mandatory", statement(true, true, 1), statement(false, true, 2), true, []int32{1, 2}},
		{"mandatory after mandatory", statement(true, false, 0), statement(true, true, 2), false, []int32{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlan()
			q := p.request(p.task(c.first), d, []int32{1, 2})
			second := p.task(c.second)
			problem, done := p.checkOne(second, d.PMID, 1)
			if done || (problem != "") != c.refuse || !slices.Equal(q.insts, c.left) {
				t.Errorf("checkOne = %q, %t; the first task has %v, want %v", problem, done, q.insts, c.left)
			}
			problem, done = p.checkAll(second, d.PMID)
			if done || (problem != "") != c.refuse {
				t.Errorf("checkAll = %q, %t", problem, done)
			}
			if _, done := p.checkOne(q.task, d.PMID, 2); !done {
				t.Error("the first task has lost instance 2")
			}
		})
	}
}

// TestPlanDropsEmptyTask takes the only instance of a task.
func TestPlanDropsEmptyTask(t *testing.T) {
	p, d := newPlan(), desc(1)
	p.request(p.task(statement(false, true, 1)), d, []int32{7})
	second := p.task(statement(false, true, 2))
	if problem, _ := p.checkOne(second, d.PMID, 7); problem != "" {
		t.Fatal(problem)
	}
	if len(p.tasks) != 1 || p.tasks[0] != second || len(p.requests) != 0 || p.entries != 0 {
		t.Errorf("%d tasks, %d metrics, %d entries are left", len(p.tasks), len(p.requests), p.entries)
	}
}

// TestPlanTimes schedules tasks, and misses samples.
func TestPlanTimes(t *testing.T) {
	p := newPlan()
	now := time.Unix(1000, 0)
	for i, s := range []conf.Statement{statement(false, true, 0), statement(false, true, time.Minute), statement(true, false, time.Hour)} {
		p.adopt(s, desc(2*i).PMID.String(), desc(2*i), now)
	}
	if got := p.next(); got != now {
		t.Errorf("the first task is due at %v, want %v", got, now)
	}
	once, every, off := p.tasks[0], p.tasks[1], p.tasks[2]
	if !off.due.IsZero() {
		t.Errorf("a task that is off is due at %v", off.due)
	}
	if due, missed := once.advance(now); due != now || missed != 0 || !once.due.IsZero() {
		t.Errorf("once: %v, %d, then %v", due, missed, once.due)
	}
	first := now.Add(blink)
	if due, missed := every.advance(first.Add(150 * time.Second)); due != first || missed != 2 || every.due != first.Add(3*time.Minute) {
		t.Errorf("every minute: %v, %d, then %v", due, missed, every.due)
	}
	if got := p.next(); got != every.due {
		t.Errorf("the next task is due at %v, want %v", got, every.due)
	}
	if _, all := p.daily(); all {
		t.Error("daily is complete before the first sample")
	}
	every.records = 10
	if bytes, all := p.daily(); bytes != 10*24*60 || !all {
		t.Errorf("daily = %d, %t", bytes, all)
	}
	every.sized = true
	p.renew(now.Add(time.Hour))
	if once.due != now.Add(time.Hour) || every.due != first.Add(3*time.Minute) || every.sized {
		t.Errorf("in the new archive the tasks are due at %v and %v", once.due, every.due)
	}
}

// TestPlanApply applies changes of clients one after the other.
func TestPlanApply(t *testing.T) {
	p := newPlan()
	now := time.Unix(1000, 0)
	const second, minute = 1000, 60 * 1000
	for _, c := range []struct {
		what    string
		control wire.LogControlKind
		state   wire.LogState
		delta   int32
		item    int
		insts   []int32
		inst    int32
		want    wire.LogValue
	}{
		{"advisory on", wire.LogAdvisory, wire.LogOn, second, 0, nil, pcp.InNull, wire.LogBitOn.WithDelta(second)},
		{"at another interval", wire.LogAdvisory, wire.LogOn, minute, 0, nil, pcp.InNull, wire.LogBitOn.WithDelta(minute)},
		{"mandatory off", wire.LogMandatory, wire.LogOff, 0, 0, nil, pcp.InNull, wire.LogBitMandatory},
		{"advisory on is refused", wire.LogAdvisory, wire.LogOn, second, 0, nil, pcp.InNull, wire.LogBitMandatory},
		{"maybe", wire.LogMandatory, wire.LogMaybe, 0, 0, nil, pcp.InNull, 0},
		{"an instance", wire.LogAdvisory, wire.LogOn, second, 1, []int32{3}, 3, wire.LogBitOn.WithDelta(second)},
		{"another one", wire.LogAdvisory, wire.LogOn, minute, 1, []int32{4}, 4, wire.LogBitOn.WithDelta(minute)},
		{"the first is as it was", wire.LogAdvisory, wire.LogOff, 0, 1, []int32{5}, 3, wire.LogBitOn.WithDelta(second)},
		{"the first off", wire.LogAdvisory, wire.LogOff, 0, 1, []int32{3}, 3, 0},
		{"an unknown metric", wire.LogAdvisory, wire.LogOn, second, 99, nil, pcp.InNull, 0},
	} {
		id := desc(c.item).PMID
		p.apply(t.Context(), book(10), &wire.LogControl{
			Control: c.control, State: c.state, Delta: c.delta, Metrics: []wire.LogMetric{{PMID: id, Insts: c.insts}},
		}, now)
		if got := p.state(id, c.inst); got != c.want {
			t.Errorf("%s: state %#x, want %#x", c.what, got, c.want)
		}
	}
	if len(p.tasks) != 1 || p.tasks[0].due != now {
		t.Errorf("%d tasks are left", len(p.tasks))
	}
}
