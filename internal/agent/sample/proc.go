package sample

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// processes are the fictitious processes of sample.proc: up to 20, of which the
// first four stay. Random choices are the same after each reset.
type processes struct {
	list  []pcp.Instance
	slots [20]process
	rand  plainRand
	pid   int32 // given last
	next  int32 // ordinal
	names int   // of the next program
}

type process struct {
	pid     int32
	ordinal int32 // 0 for an empty slot
	start   time.Time
	name    string
}

const fixedProcs = 4

func (p *processes) reset() { *p = processes{rand: 1} }

// program returns the paths of the programs in their order.
func program(n int) string {
	dirs := [...]string{"/etc", "/usr", "/usr/local", "/usr/opt"}
	bins := [...]string{"", "/bin"}
	clowns := [...]string{
		"/bozo", "/bobo", "/jester", "/loko", "/pierrot", "/waldo", "/yobo", "/jojo", "/koko", "/lala",
	}
	return dirs[n%len(dirs)] + bins[n%len(bins)] + clowns[n%len(clowns)]
}

// step runs before a fetch: at first the four start, later some of the others end
// and some start. It makes a new list: an older one may still be in use.
func (p *processes) step(now time.Time) {
	if p.list == nil {
		p.next = 1
		p.begin(&p.slots[0], now)
		p.slots[0].name, p.list[0].Name = "0001 init", "0001 init"
		p.names = 0
		for i := 1; i < fixedProcs; i++ {
			p.begin(&p.slots[i], now)
		}
		return
	}
	p.list = slices.Clone(p.list)
	for i := fixedProcs; i < len(p.slots); i++ {
		s := &p.slots[i]
		if s.ordinal != 0 && p.rand.fraction() < 0.075 {
			p.list = slices.DeleteFunc(p.list, func(i pcp.Instance) bool { return i.Inst == s.pid })
			*s = process{}
		}
	}
	for i := fixedProcs; i < len(p.slots); i++ {
		if p.slots[i].ordinal == 0 && p.rand.fraction() < 0.075 {
			p.begin(&p.slots[i], now)
		}
	}
}

func (p *processes) begin(s *process, now time.Time) {
	for taken := true; taken; {
		p.pid = p.pid%999 + 1
		taken = slices.ContainsFunc(p.list, func(i pcp.Instance) bool { return i.Inst == p.pid })
	}
	*s = process{pid: p.pid, ordinal: p.next, start: now, name: fmt.Sprintf("%04d %s", p.next, program(p.names))}
	p.next++
	p.names++
	p.list = append(p.list, pcp.Instance{Inst: s.pid, Name: s.name})
}

func (p *processes) find(pid int32) *process {
	for i := range p.slots {
		if s := &p.slots[i]; s.ordinal != 0 && s.pid == pid {
			return s
		}
	}
	return nil
}

func (a *Agent) procRows() []row {
	value := func(f func(p *process) pcp.Value) func(int32, int) (pcp.Value, error) {
		return func(inst int32, i int) (pcp.Value, error) {
			p := a.proc.find(inst)
			if p == nil {
				return noValue(inst, i)
			}
			return f(p), nil
		}
	}
	return []row{{Metric: pmda.Metric{
		Name: "proc.ordinal", Item: itemProcOrdinal, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: a.dom.proc,
		OneLine: "place of the process in the order in which they came",
		Help: `Counts the processes in the order in which the agent made them up, from 1. A
process that has gone does not give its number back.`,
		Value: value(func(p *process) pcp.Value { return pcp.Uint32Value(uint32(p.ordinal)) }),
	}}, {Metric: pmda.Metric{
		Name: "proc.exec", Item: itemProcExec, Type: pcp.TypeString, Sem: pcp.SemInstant, InDom: a.dom.proc,
		OneLine: "the name of the program",
		Help:    "The last part of the path in the instance's name.",
		Value: value(func(p *process) pcp.Value {
			if p.ordinal == 1 {
				return pcp.StringValue(p.name)
			}
			return pcp.StringValue(path.Base(p.name))
		}),
	}}, {Metric: pmda.Metric{
		Name: "proc.time", Item: itemProcTime, Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: a.dom.proc,
		Units:   pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0),
		OneLine: "milliseconds since the process started",
		Help:    `Elapsed time, not processor time. A new process starts at 0.`,
		Value: value(func(p *process) pcp.Value {
			return pcp.Uint64Value(uint64(time.Since(p.start).Milliseconds()))
		}),
	}}, {Metric: pmda.Metric{
		Name: "proc.reset", Item: 159, Type: pcp.Type32, Sem: pcp.SemInstant,
		OneLine: "starts the processes over",
		Help:    "A store of any value ends all of them. What comes then is always the same.",
		Value:   constant(pcp.Int32Value(0)),
	}, set: func(pcp.Value) error { a.proc.reset(); return nil }}}
}
