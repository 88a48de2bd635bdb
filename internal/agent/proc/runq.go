package proc

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of runqMetrics.
const (
	runqRunnable = iota
	runqBlocked
	runqSleeping
	runqStopped
	runqSwapped
	runqDefunct
	runqUnknown
	runqKernel
	numRunq
)

// runqFamily counts processes by their state. It reads the stat file of each
// process, which a fetch of proc.psinfo then need not read again.
func runqFamily(s *statSource) column.Family {
	b := column.NewBlocks(runqMetrics, column.Layout{Cols: numRunq})
	source := &column.Source{Name: "states of processes", Blocks: b, After: []*column.Source{s.source}, Read: func() error {
		b[0].Zero()
		cells := b[0].Row(0)
		for row := range s.stat.Insts() {
			s.source.Fill(row)
			cells[s.state(row)].Bits++
		}
		return nil
	}}
	return column.Family{Name: "runq", Metrics: runqMetrics, Sources: []*column.Source{source}}
}

// state returns the column of runqMetrics that a process is counted in.
func (s *statSource) state(row int) int {
	state := s.text.String(row, textState)
	if len(state) == 0 {
		return runqUnknown
	}
	virtual, ok := s.stat.Get(row, statVirtual)
	switch {
	case state[0] == 'Z':
		return runqDefunct
	case ok && virtual == 0:
		return runqSwapped
	}
	switch state[0] {
	case 'R':
		return runqRunnable
	case 'S':
		return runqSleeping
	case 'T', 't':
		return runqStopped
	case 'D', 'P':
		return runqBlocked
	}
	return runqUnknown
}

// runqMetrics count processes by their state.
var runqMetrics = []column.Metric{
	{Name: "proc.runq.runnable", Cluster: 13, Item: 0, Type: pcp.Type32, Sem: instant, Units: count, Col: runqRunnable, Help: "Processes that run or can run"},
	{Name: "proc.runq.blocked", Cluster: 13, Item: 1, Type: pcp.Type32, Sem: instant, Units: count, Col: runqBlocked, Help: "Processes that wait for a disk or the like"},
	{Name: "proc.runq.sleeping", Cluster: 13, Item: 2, Type: pcp.Type32, Sem: instant, Units: count, Col: runqSleeping, Help: "Processes that wait for an event"},
	{Name: "proc.runq.stopped", Cluster: 13, Item: 3, Type: pcp.Type32, Sem: instant, Units: count, Col: runqStopped, Help: "Processes that are stopped or traced"},
	{Name: "proc.runq.swapped", Cluster: 13, Item: 4, Type: pcp.Type32, Sem: instant, Units: count, Col: runqSwapped, Help: "Processes without memory of their own: threads of the kernel"},
	{Name: "proc.runq.defunct", Cluster: 13, Item: 5, Type: pcp.Type32, Sem: instant, Units: count, Col: runqDefunct, Help: "Processes that have ended and were not waited for"},
	{Name: "proc.runq.unknown", Cluster: 13, Item: 6, Type: pcp.Type32, Sem: instant, Units: count, Col: runqUnknown, Help: "Processes in other states, or that ended meanwhile"},
	{Name: "proc.runq.kernel", Cluster: 13, Item: 7, Type: pcp.Type32, Sem: instant, Units: count, Col: runqKernel, Help: "Threads of the kernel; 0, they are in proc.runq.swapped"},
}
