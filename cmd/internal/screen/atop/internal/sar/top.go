package sar

import (
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// top prints the three processes that use most of a resource, of which total is all. Without zero,
// processes that use none are left out.
func (p *Printer) top(in *Input, order func(a, b *sample.Task) int, use func(*sample.Task) sample.Count, total sample.Count, zero bool) int {
	slices.SortStableFunc(in.Procs, order)
	for i := range 3 {
		if i > 0 {
			p.text(" | ")
		}
		if i >= len(in.Procs) || !zero && use(in.Procs[i]) <= 0 {
			p.right(19, " ")
			continue
		}
		t := in.Procs[i]
		p.d(5, int64(t.PID))
		p.text(" ")
		p.left(8, t.Name[:min(len(t.Name), 8)])
		p.text(" ")
		p.f(3, 0, float64(use(t))*100.0/float64(total))
		p.text("%")
	}
	p.text("\n")
	return 1
}

// tasksKnown reports whether a report about tasks is available, and prints a message if
// not.
func (p *Printer) tasksKnown(in *Input) bool {
	if !in.HasTasks {
		p.text("report not available.....\n")
	}
	return in.HasTasks
}

func topCPULine(p *Printer, in *Input) int {
	if !p.tasksKnown(in) {
		return 0
	}
	return p.top(in, sample.ByCPU, (*sample.Task).CPU, either(in.System.CPU.Total()/max(int64(len(in.System.CPUs)), 1)), false)
}

func topMemoryLine(p *Printer, in *Input) int {
	if !p.tasksKnown(in) {
		return 0
	}
	return p.top(in, sample.ByMemory, func(t *sample.Task) sample.Count { return t.Resident }, in.System.Mem.Total, true)
}

func topDiskLine(p *Printer, in *Input) int {
	if !p.tasksKnown(in) {
		return 0
	}
	if !in.DiskIO {
		p.text("no per-process disk counters available.....\n")
		return 0
	}
	use := func(t *sample.Task) sample.Count { return t.ReadIO + t.WriteIO }
	return p.top(in, sample.ByDisk, use, either(sum(in.Procs, use)), false)
}

func topNetLine(p *Printer, in *Input) int {
	if !p.tasksKnown(in) {
		return 0
	}
	if !in.NetIO {
		p.text("no per-process network counters available.....\n")
		return 0
	}
	return p.top(in, sample.ByNet, (*sample.Task).NetBytes, either(sum(in.Procs, (*sample.Task).NetBytes)), false)
}

func sum(tasks []*sample.Task, use func(*sample.Task) sample.Count) sample.Count {
	n := sample.Count(0)
	for _, t := range tasks {
		n += use(t)
	}
	return n
}
