package pmcc

import (
	"slices"

	"github.com/go-pcp/pcp"
)

// A Process is a process in a sample.
type Process struct {
	m    *Metrics
	inst int32
}

// Processes returns those of a sample, in the order of their numbers.
func (m *Metrics) Processes() []Process {
	values := m.All("proc.psinfo.pid")
	list := make([]Process, 0, len(values))
	for _, v := range values {
		list = append(list, Process{m, v.Int32()})
	}
	slices.SortFunc(list, func(a, b Process) int { return int(int64(a.inst) - int64(b.inst)) })
	return list
}

// Get is the value of a metric of the agent proc for the process.
func (p Process) Get(name string) Value { return p.m.Of(name, p.inst) }

// Since returns the increase of a counter since the previous sample, if it was in
// both.
func (p Process) Since(name string) (Value, bool) {
	return p.Get(name).Minus(p.m.Before(name, p.inst))
}

// Grown is Since as a value, which is missing if the process was not in both samples.
func (p Process) Grown(name string) Value {
	diff, _ := p.Since(name)
	return diff
}

// Before is Get of the previous sample.
func (p Process) Before(name string) Value { return p.m.Before(name, p.inst) }

// Percent is the share of the time between the samples by which a counter of milliseconds has grown.
func (p Process) Percent(name string) Figure {
	diff, ok := p.Since(name)
	if !ok {
		return Figure{}
	}
	f, _ := diff.Number()
	return Round(100 * f / (1000 * p.m.Elapsed()))
}

// User, System and Guest are shares of processor time.
func (p Process) User() Figure { return p.Percent("proc.psinfo.utime") }

// System is as User.
func (p Process) System() Figure { return p.Percent("proc.psinfo.stime") }

// Guest is as User.
func (p Process) Guest() Figure { return p.Percent("proc.psinfo.guest_time") }

// Total is the sum of User, Guest and System.
func (p Process) Total() Figure {
	u, g, s := p.User(), p.Guest(), p.System()
	if !u.OK || !g.OK || !s.OK {
		return Figure{}
	}
	return Round(u.F + g.F + s.F)
}

// Rate is the rate of a counter per second.
func (p Process) Rate(name string) Figure {
	diff, ok := p.Since(name)
	if !ok {
		return Figure{}
	}
	f, _ := diff.Number()
	return Round(f / p.m.Elapsed())
}

// Memory is the share of the machine's memory that the process has.
func (p Process) Memory() Figure {
	rss, ok := p.Get("proc.psinfo.rss").Number()
	all, okAll := p.m.One("mem.physmem").Number()
	if !ok || !okAll {
		return Figure{}
	}
	return Round(100 * rss / all)
}

// policies are the names of scheduling policies (SCHED_NORMAL and so on).
var policies = [...]string{"NORMAL", "FIFO", "RR", "BATCH", "", "IDLE", "DEADLINE"}

// Policy is the name of the process' scheduling policy, which is missing if it is not known.
func (p Process) Policy() Value {
	v := p.Get("proc.psinfo.policy")
	if n := v.Int(); v.OK() && n >= 0 && n < int64(len(policies)) {
		return Value{pcp.StringValue(policies[n]), true}
	}
	return Value{}
}
