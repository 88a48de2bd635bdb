package perfevent

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// A sum is a derived metric.
type sum struct {
	name  string // in the configuration
	node  string // in the name space
	parts []addend
	block *column.Block
}

// An addend is an event of a sum.
type addend struct {
	event *event
	scale float64
}

// derive finds the events of a derived metric: those of the first group of which all are counted.
func (a *Agent) derive(m *machine, d derivation) (*sum, error) {
	missing := errors.New("it lists no events")
	for _, group := range d.groups {
		s := &sum{name: d.name, node: nodeName(d.name)}
		for _, setting := range group {
			e := a.find(setting.name)
			if e == nil {
				missing = fmt.Errorf("event %s is not counted", setting.name)
				s = nil
				break
			}
			if setting.on != group[0].on {
				return nil, fmt.Errorf("line %d: events are counted on different processors", setting.line)
			}
			p := addend{e, setting.scale}
			if setting.perfScale {
				if e.pmu == "" {
					return nil, fmt.Errorf("line %d: perf_scale is for events of a section [dynamic]", setting.line)
				}
				var err error
				if p.scale, err = m.scale(e.pmu, e.own); err != nil {
					return nil, err
				}
			}
			s.parts = append(s.parts, p)
		}
		if s != nil && len(s.parts) > 0 {
			return s, nil
		}
	}
	return nil, missing
}

// find returns the event that is counted under a name of the configuration, or nil.
func (a *Agent) find(name string) *event {
	for _, e := range a.events {
		if e.name == name && !e.idle() {
			return e
		}
	}
	return nil
}

// family returns the metric, n being its number behind those of events.
func (s *sum) family(n int) column.Family {
	first := s.parts[0].event
	names := make([]string, len(s.parts))
	after := make([]*column.Source, 0, len(s.parts))
	for i, p := range s.parts {
		names[i] = p.event.name
		after = append(after, p.event.source)
	}
	table := []column.Metric{{
		Name: "perfevent.derived." + s.node + ".value", Cluster: firstCluster + n, Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1},
		Help: "Sum of events, called " + s.name + " in perfevent.conf", Long: "The sum of the events below, each with its factor:\n" + strings.Join(names, "\n"),
	}}
	blocks := column.NewBlocks(table, column.Layout{Cols: 1, InDom: perCPU(n, first.counters), Lists: true})
	s.block = blocks[0]
	return column.Family{Name: s.name, Metrics: table, Sources: []*column.Source{{Name: "perf_event_open " + s.name, Read: s.read, Blocks: blocks, After: after}}}
}

// read adds the counts of each processor. A processor without a count of one of the events has no sum.
func (s *sum) read() error {
	s.block.Clear()
	for i, c := range s.parts[0].event.counters {
		row := s.block.AddNamed(int32(i), cpuName(c.cpu))
		total, ok := 0.0, true
		for _, p := range s.parts {
			v, has := p.event.count(c.cpu)
			total += float64(v) * p.scale
			ok = ok && has
		}
		if ok {
			s.block.Set(row, 0, math.Float64bits(total))
		}
	}
	return nil
}

// count returns the count of one processor.
func (e *event) count(cpu int) (uint64, bool) {
	for i := range e.counters {
		if c := &e.counters[i]; c.cpu == cpu {
			return c.total, c.ok
		}
	}
	return 0, false
}
