package sar

import (
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

func cpuLine(p *Printer, in *Input) int {
	s := in.System
	p.cpu(&s.CPU, "all", float64(len(s.CPUs)), 5)
	if len(s.CPUs) > 1 {
		for i := range s.CPUs {
			p.text(in.Stamp)
			p.text(" ")
			p.cpu(&s.CPUs[i], "", 1, i)
		}
		return 1 + len(s.CPUs)
	}
	return 1
}

// cpu prints a line about all processors, or about the one with the number nr.
func (p *Printer) cpu(c *sample.CPU, name string, times float64, nr int) {
	total := max(c.Total(), 1)
	if c.Total() < 0 {
		total = c.Total()
	}
	badness := uint32(0)
	if p.Limits.CPU != 0 {
		badness = unsigned((float64(total-c.Idle-c.Wait) * 100.0 / float64(total)) * 100 / float64(p.Limits.CPU))
	}
	p.before(badness)
	if name != "" {
		p.text(name)
	} else {
		p.d(4, int64(nr))
	}
	for i, n := range [...]sample.Count{c.User, c.Nice, c.Sys, c.IRQ, c.SoftIRQ, c.Steal, c.Guest, c.Wait, c.Idle} {
		v := float64(n) * 100.0 / float64(total)
		if name != "" {
			v *= times
		}
		p.text(" ")
		p.f([...]int{5, 5, 4, 4, 8, 7, 6, 6, 5}[i], 0, v)
	}
	p.after(badness)
}

func loadLine(p *Printer, in *Input) int {
	s, seconds := in.System, float64(in.Seconds)
	p.f(7, 0, float64(s.Switches)/seconds)
	p.text(" ")
	p.f(9, 0, float64(s.Interrupts)/seconds)
	p.text(" ")
	p.f(9, 2, float64(s.Forks)/seconds)
	p.text("  ")
	p.f(8, 2, float64(s.Load1))
	p.text(" ")
	p.f(8, 2, float64(s.Load5))
	p.text("  ")
	p.f(8, 2, float64(s.Load15))
	p.text("\n")
	return 1
}

func tasksLine(p *Printer, in *Input) int {
	if in.Tasks == 0 {
		p.text("report not available for live measurements.....\n")
		return 0
	}
	seconds := float64(in.Seconds)
	p.f(8, 2, float64(in.System.Forks)/seconds)
	p.text(" ")
	p.f(7, 2, float64(in.Exited)/seconds)
	p.text("  ")
	p.d(7, int64(len(in.Procs)-in.Exited))
	p.text(" ")
	p.d(7, int64(in.Zombies))
	switch {
	case in.HasTasks && p.Seven:
		for i, n := range [...]int{in.Running, in.Sleeping, in.DiskSleep, in.Idle} {
			p.text(" ")
			p.d([...]int{6, 6, 5, 5}[i], int64(n))
		}
	case in.HasTasks:
		p.text("    ")
		p.d(6, int64(in.Running))
		p.text(" ")
		p.d(7, int64(in.Sleeping))
		p.text(" ")
		p.d(7, int64(in.DiskSleep))
	}
	p.text("\n")
	return 1
}

func memoryLine(p *Printer, in *Input) int {
	m := &in.System.Mem
	memory, swap := uint32(0), uint32(0)
	if p.Limits.Memory != 0 {
		memory = unsigned((float64(m.Total-m.Free-m.Cached-m.Buffers+m.Shared) * 100.0 / float64(m.Total)) * 100 / float64(p.Limits.Memory))
	}
	if p.Limits.Swap != 0 {
		swap = unsigned(float64(m.SwapTotal-m.SwapFree) * 100.0 / float64(m.SwapTotal) * 100 / float64(p.Limits.Swap))
	}
	badness := max(memory, swap)
	p.before(badness)
	for i, n := range [...]sample.Count{m.Total, m.Free, m.Buffers, m.Cached, m.Dirty, m.Slab, m.SwapTotal, m.SwapFree} {
		p.text([...]string{"", " ", " ", " ", " ", " ", "  ", " "}[i])
		p.d([...]int{7, 6, 6, 5, 4, 6, 7, 6}[i], n/1024)
		p.text("M")
	}
	p.after(badness)
	return 1
}

func swapLine(p *Printer, in *Input) int {
	m, seconds := &in.System.Mem, float64(in.Seconds)
	outs := m.SwapOuts / in.Seconds
	badness := uint32(0)
	if p.Limits.Memory != 0 {
		badness = uint32(outs * int64(p.Limits.SwapOuts) * 100 / int64(p.Limits.Memory))
	}
	// One page a second is almost critical in any case.
	if outs > 0 && p.Limits.SwapOuts != 0 && p.Limits.Almost != 0 && badness < uint32(p.Limits.Almost) {
		badness = uint32(p.Limits.Almost)
	}
	if m.CommitLimit != 0 && m.Committed > m.CommitLimit {
		badness = 100
	}
	p.before(badness)
	p.f(10, 2, float64(m.Scans)/seconds)
	p.text(" ")
	p.f(9, 2, float64(m.SwapIns)/seconds)
	p.text(" ")
	p.f(9, 2, float64(m.SwapOuts)/seconds)
	p.text(" ")
	p.d(7, m.OOMKills)
	p.text(" ")
	p.d(9, m.Committed/1024)
	p.text("M ")
	p.d(9, m.CommitLimit/1024)
	p.text("M")
	p.after(badness)
	return 1
}

func pressureLine(p *Printer, in *Input) int {
	s := &in.System.Pressure
	if !s.Missing { // the wrong way round, as in C
		p.text("no PSI stats available for this interval...\n")
		return 1
	}
	per := max(in.Seconds*in.Hertz*10000/in.Hertz, 1)
	var share [5]uint32
	for i, r := range [...]*sample.Pressure{&s.CPUSome, &s.MemSome, &s.MemFull, &s.IOSome, &s.IOFull} {
		share[i] = min(uint32(r.Total/per), 100)
	}
	badness := uint32(0)
	if share[0] != 0 || share[1] != 0 || share[3] != 0 || share[4] != 0 {
		badness = 80
	}
	if share[2] != 0 {
		badness = 100
	}
	p.before(badness)
	for i, sep := range [...]string{"   ", "%       ", "%     ", "%      ", "%    "} {
		p.text(sep)
		p.d(3, int64(share[i]))
	}
	p.text("%")
	p.after(badness)
	return 1
}

func nfsServerLine(p *Printer, in *Input) int {
	s, seconds := &in.System.Server, float64(in.Seconds)
	for i, v := range [...]float64{
		float64(s.Calls) / seconds, float64(s.Reads) / seconds, float64(s.Writes) / seconds,
		float64(s.ReadBytes) / 1024.0 / 1024.0 / seconds, float64(s.WriteBytes) / 1024.0 / 1024.0 / seconds,
		float64(s.NetTCP) / seconds, float64(s.NetUDP) / seconds,
	} {
		if i > 0 {
			p.text(" ")
		}
		p.f([...]int{7, 10, 10, 6, 7, 9, 8}[i], 2, v)
	}
	p.text("\n")
	return 1
}

func tcpLine(p *Printer, in *Input) int {
	t, seconds := &in.System.Net.TCP, float64(in.Seconds)
	p.f(8, 1, float64(t.InSegs)/seconds)
	p.text(" ")
	p.f(9, 1, float64(t.OutSegs)/seconds)
	p.text("  ")
	p.f(9, 1, float64(t.ActiveOpens)/seconds)
	p.text(" ")
	p.f(9, 1, float64(t.PassiveOpens)/seconds)
	p.text("  ")
	p.d(7, t.CurrEstab)
	p.text("\n")
	return 1
}

func webLine(p *Printer, in *Input) int {
	w, seconds := &in.System.Web, float64(in.Seconds)
	p.f(10, 2, float64(w.Requests)/seconds)
	p.text("  ")
	p.f(8, 2, float64(w.KBytes)/seconds)
	p.text("  ")
	each := 0.0
	if w.Requests != 0 {
		each = float64(w.KBytes) * 1024 / float64(w.Requests)
	}
	p.f(9, 2, each)
	p.text("    ")
	p.d(11, int64(int32(w.Idle)))
	p.text(" ")
	p.d(11, int64(int32(w.Busy)))
	p.text("\n")
	return 1
}
