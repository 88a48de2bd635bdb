package screen

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// An Input is a sample.
type Input struct {
	*sample.Deviation
	Time    float64
	Seconds float64 // since the sample before
	Boot    bool    // since the system was started
	Archive bool
}

// begin finds the fields of lines that the system has, when the first sample is shown.
func (p *Printer) begin(in *Input) {
	if p.begun {
		return
	}
	p.begun = true
	p.sortWidth = len(figure.Int(nil, 0, int64(len(in.System.CPUs))*100)) + 1
	for k := range layouts() {
		l := &layouts()[k]
		if own, ok := p.own[kind(k)]; ok {
			p.items[k] = own
			continue
		}
		p.items[k], _ = l.items(l.fieldsOf(p.Seven), l.own, in.System, p.Seven)
	}
}

// sorted puts the busiest resources first.
func (p *Printer) sorted(s *sample.System) {
	if p.NoSort {
		return
	}
	sortBy(s.CPUs, p.Max.CPU, func(a, b *sample.CPU) int { return cmp.Compare(a.Idle+a.Wait, b.Idle+b.Wait) })
	sortBy(s.GPUs, p.Max.GPU, func(a, b *sample.GPU) int {
		if a.Busy == -1 || b.Busy == -1 {
			return cmp.Compare(b.MemUsed, a.MemUsed)
		}
		return cmp.Compare(b.Busy, a.Busy)
	})
	byBusy := func(a, b *sample.Disk) int { return cmp.Compare(b.BusyMS, a.BusyMS) }
	sortBy(s.Volumes, p.Max.Volume, byBusy)
	sortBy(s.Arrays, p.Max.Array, byBusy)
	sortBy(s.Disks, p.Max.Disk, byBusy)
	sortBy(s.Interfaces, p.Max.Interface, compareInterfaces)
	sortBy(s.Ports, p.Max.Port, func(a, b *sample.Port) int { return cmp.Compare(b.InBytes+b.OutBytes, a.InBytes+a.OutBytes) })
	sortBy(s.Mounts, p.Max.Mount, func(a, b *sample.Mount) int { return cmp.Compare(used(b), used(a)) })
	sortBy(s.NodeMem, p.Max.Node, func(a, b *sample.NodeMemory) int { return cmp.Compare(b.Total-b.Free, a.Total-a.Free) })
	sortBy(s.Caches, p.Max.Cache, func(a, b *sample.Cache) int { return cmp.Compare(b.Local+b.Total, a.Local+a.Total) })
	sortBy(s.NodeCPU, p.Max.Node, func(a, b *sample.NodeCPU) int { return cmp.Compare(a.Idle+a.Wait, b.Idle+b.Wait) })
}

func sortBy[T any](list []T, most int, order func(a, b *T) int) {
	if most > 0 {
		slices.SortStableFunc(list, func(a, b T) int { return order(&a, &b) })
	}
}

// compareInterfaces sorts the busiest first, and those with unknown speed last.
func compareInterfaces(a, b *sample.Interface) int {
	busy := func(t *sample.Interface) sample.Count {
		switch {
		case t.Speed == 0:
			return t.InBytes + t.OutBytes
		case t.Duplex:
			return max(t.InBytes, t.OutBytes) * 10 / t.Speed
		}
		return (t.InBytes + t.OutBytes) * 10 / t.Speed
	}
	if (a.Speed == 0) == (b.Speed == 0) {
		return cmp.Compare(busy(b), busy(a))
	}
	if a.Speed != 0 {
		return -1
	}
	return 1
}

// Text appends a sample as text.
func (p *Printer) Text(b []byte, in *Input) []byte {
	p.b, p.canvas = b, nil
	p.begin(in)
	p.sorted(in.System)
	p.print("\n\n")
	p.top(in)
	x, o := p.upper(in)
	if in.Overflow > 0 {
		p.print(overflowed(in))
	} else if in.Boot {
		first, second := bootMessages(in.Archive)
		p.print(first)
		p.print(blanks(max(80-len(first)-len(second), 1)))
		p.print(second)
	}
	list, order := p.choose(in, o.order)
	if rows := len(list); rows > 0 {
		if p.threaded() {
			if rows = in.ActiveTasks; rows > 0 {
				list = p.withThreads(in, list, order)
			}
		}
		if rows > 0 {
			order = p.heads(1, 1+(len(list)-1)/rows, order)
			p.rows(x, list, order, in)
		}
	}
	return p.b
}

// overflowed returns the message about too many processes.
func overflowed(in *Input) string {
	s := fmt.Sprintf("Only %d exited processes handled -- %d skipped!", in.Exited, in.Overflow)
	return s[:min(len(s), 79)]
}

// bootMessages are the messages of the first sample of a live source.
func bootMessages(archive bool) (first, second string) {
	second = "Restricted view (unprivileged)"
	if archive {
		second = "Rawfile view"
	} else if os.Geteuid() == 0 {
		second = "Unrestricted view (privileged)"
	}
	return "*** System and Process Activity since Boot ***", second
}

// top prints the first line: host, time and the active switches.
func (p *Printer) top(in *Input) {
	elapsed := string(figure.Elapsed(nil, int32(in.Seconds)))
	node := p.s.Host.Node
	room := p.width() - 52 - len(elapsed) - len(node)
	first := room / 3
	second := room - first - first
	at := time.Unix(int64(in.Time), 0).In(p.Zone)
	flags := []byte("-----------------")
	for i, f := range []struct {
		on  bool
		key byte
	}{
		{p.Threads, 'y'},
		{p.SortThreads, 'Y'},
		{p.Fixed, 'f'},
		{p.NoSort, 'F'},
		{p.All, 'a'},
		{!p.Colors, 'x'},
		{p.Average, '1'},
		{p.s.Proportional, 'R'},
		{p.s.WaitChannels, 'W'},
		{p.NoExited, 'G'},
		{p.Select.Users != nil, 'U'},
		{p.Select.Name != nil, 'P'},
		{p.Select.Container != "", 'J'},
		{p.Select.PIDs != nil, 'I'},
		{p.Select.Command != nil, '/'},
		{p.Select.States != "", 'Q'},
		{p.Select.Volumes != nil || p.Select.Disks != nil || p.Select.Interfaces != nil, 'S'},
	} {
		if f.on {
			flags[i] = f.key
		}
	}
	// In C a negative width means blanks on the other side.
	gap := func(n int) string { return blanks(max(n, -n)) }
	p.print("ATOP - " + node + gap(first) + at.Format("2006/01/02  15:04:05") + gap(first) + string(flags) + gap(second) + elapsed + " elapsed")
	p.newline()
}

// upper prints the lines about the system.
func (p *Printer) upper(in *Input) (*line, *overview) {
	x := &line{
		p: p, s: in.System, b: make([]byte, 0, 32), seconds: in.Seconds, average: p.Average,
		procs: len(in.Procs), running: in.Running, sleeping: in.Sleeping, diskSleep: in.DiskSleep, zombies: in.Zombies,
		idle:   in.Idle,
		exited: in.Exited, overflow: in.Overflow,
	}
	for _, t := range in.Active {
		x.user, x.sys = x.user+t.User, x.sys+t.Sys
	}
	p.put(prcLine, x, "PRC", 0)
	order := p.Order
	if order == Auto {
		order = ByCPU
	}
	return x, p.system(x, order)
}

// threaded reports whether threads are shown.
func (p *Printer) threaded() bool {
	return p.Threads && p.List != Users && p.List != Programs && p.List != Container
}

// active reports whether only active processes are shown.
func (p *Printer) active() bool { return !p.All && p.List != Memory && p.Order != ByMemory }

// choose returns the processes, or sums of them, in the order shown.
func (p *Printer) choose(in *Input, auto byte) ([]*sample.Task, byte) {
	order := p.Order
	if order == Auto {
		order = auto
	}
	var list []*sample.Task
	switch p.List {
	case Users:
		list = p.sum(in, sample.ByUser, func(a, b *sample.Task) bool { return a.RUID == b.RUID }, func(to, t *sample.Task) { to.RUID = t.RUID })
	case Programs:
		list = p.sum(in, sample.ByName, func(a, b *sample.Task) bool { return a.Name == b.Name }, func(to, t *sample.Task) { to.Name = t.Name })
	case Container:
		list = p.sum(in, sample.ByContainer, func(a, b *sample.Task) bool { return a.Container == b.Container }, func(to, t *sample.Task) { to.Container = t.Container })
	default:
		list = in.Procs
		if p.active() {
			list = in.Active
		}
		if p.Select.tasks() || p.NoExited {
			chosen := p.list[:0]
			for _, t := range list {
				if !p.hidden(t) {
					chosen = append(chosen, t)
				}
			}
			p.list, list = chosen, chosen
		}
	}
	slices.SortStableFunc(list, orders[order])
	return list, order
}

// orders are the functions that sort processes.
var orders = map[byte]func(a, b *sample.Task) int{
	ByCPU: sample.ByCPU, ByMemory: sample.ByMemory, ByDisk: sample.ByDisk, ByNet: sample.ByNet, ByGPU: sample.ByGPU,
}

// hidden reports whether a process is left out.
func (p *Printer) hidden(t *sample.Task) bool {
	return p.Select.leavesOut(t) || t.State == 'E' && p.NoExited
}

// sum returns a row for each group of processes.
func (p *Printer) sum(in *Input, order func(a, b *sample.Task) int, same func(a, b *sample.Task) bool, name func(to, t *sample.Task)) []*sample.Task {
	list := in.Procs
	if !p.All {
		list = in.Active
	}
	slices.SortStableFunc(list, order)
	p.sums = slices.Grow(p.sums[:0], len(list))
	p.list = p.list[:0]
	var to *sample.Task
	for _, t := range list {
		if p.hidden(t) {
			continue
		}
		if to == nil || !same(to, t) {
			p.sums = append(p.sums, sample.Task{IsProcess: true})
			to = &p.sums[len(p.sums)-1]
			name(to, t)
			p.list = append(p.list, to)
		}
		p.accumulate(to, t)
	}
	return p.list
}

// accumulate adds a process to a sum, whose PID is the number of processes.
func (p *Printer) accumulate(to, t *sample.Task) {
	to.PID++
	to.Threads += t.Threads
	to.User, to.Sys = to.User+t.User, to.Sys+t.Sys
	if p.Seven {
		to.Switches, to.Preemptions = to.Switches+t.Switches, to.Preemptions+t.Preemptions
		to.RunDelay, to.BlockDelay = to.RunDelay+t.RunDelay, to.BlockDelay+t.BlockDelay
	}
	to.ReadIO += t.ReadSectors
	to.WriteIO += t.Written()
	to.ReadSectors, to.WriteSectors = to.ReadIO, to.WriteIO
	for _, f := range []struct {
		to *sample.Count
		n  sample.Count
	}{
		{&to.TCPSent, t.TCPSent},
		{&to.TCPReceived, t.TCPReceived},
		{&to.UDPSent, t.UDPSent},
		{&to.UDPReceived, t.UDPReceived},
		{&to.TCPSentBytes, t.TCPSentBytes},
		{&to.TCPReceivedBytes, t.TCPReceivedBytes},
		{&to.UDPSentBytes, t.UDPSentBytes},
		{&to.UDPReceivedBytes, t.UDPReceivedBytes},
	} {
		*f.to += f.n
	}
	if t.State == 'E' {
		return
	}
	switch {
	case p.Seven && t.Proportional == -1: // it is left out
	case t.Proportional == -1 || to.Proportional == -1:
		to.Proportional = -1
	default:
		to.Proportional += t.Proportional
	}
	to.Virtual, to.Resident, to.Libraries = to.Virtual+t.Virtual, to.Resident+t.Resident, to.Libraries+t.Libraries
	to.Data, to.Stack, to.Swapped, to.Locked = to.Data+t.Data, to.Stack+t.Stack, to.Swapped+t.Swapped, to.Locked+t.Locked
	to.ResidentGrowth, to.VirtualGrowth = to.ResidentGrowth+t.ResidentGrowth, to.VirtualGrowth+t.VirtualGrowth
	if t.GPU.State == 0 {
		return
	}
	g := &to.GPU
	g.State = 'A'
	if g.Busy += t.GPU.Busy; t.GPU.Busy == -1 {
		g.Busy = -1
	}
	if g.MemBusy += t.GPU.MemBusy; t.GPU.MemBusy == -1 {
		g.MemBusy = -1
	}
	g.MemNow += t.GPU.MemNow
	g.List |= t.GPU.List
	g.GPUs = 0
	for i := range min(p.s.Host.GPUs, 32) {
		if g.List&(1<<i) != 0 {
			g.GPUs++
		}
	}
}

// withThreads returns processes, each followed by its threads.
func (p *Printer) withThreads(in *Input, list []*sample.Task, order byte) []*sample.Task {
	of := make(map[int32][]int)
	for i := range in.Tasks {
		of[in.Tasks[i].TGID] = append(of[in.Tasks[i].TGID], i)
	}
	places := make(map[*sample.Task]int, len(list))
	for i := range in.Tasks {
		if in.Tasks[i].IsProcess {
			places[&in.Tasks[i]] = i
		}
	}
	p.zip = p.zip[:0]
	for _, t := range list {
		p.zip = append(p.zip, t)
		first := len(p.zip)
		if t.TGID != 0 {
			for _, i := range of[t.TGID] {
				if i > places[t] && (!p.active() || !in.Tasks[i].Inactive) {
					p.zip = append(p.zip, &in.Tasks[i])
				}
			}
		}
		if p.SortThreads && order != ByMemory {
			slices.SortStableFunc(p.zip[first:], orders[order])
		}
	}
	return p.zip
}

// heads prints the heads of the list. It returns the order, which changes if the list is not available.
func (p *Printer) heads(page, pages int, order byte) byte {
	if text := p.general(); text != p.generalText {
		p.generalText = text
		delete(p.listed, General)
		if p.List == Net && !p.s.NetIO {
			p.List, order = General, ByCPU
		}
	}
	if _, ok := p.listed[p.List]; !ok {
		switch p.List {
		case General:
			p.listed[General], _ = cells(p.generalText, "")
		case Own:
			p.listed[Own] = p.OwnRow
		default:
			p.listed[p.List], _ = cells(p.columnsOf(p.List), "")
		}
	}
	p.head(p.listed[p.List], page, pages, order, p.Order == Auto)
	return order
}

// rows prints processes.
func (p *Printer) rows(x *line, list []*sample.Task, order byte, in *Input) {
	r := &row{p: p, b: make([]byte, 0, 64), seconds: in.Seconds, average: p.Average}
	all := x.s.CPU.Total()
	var disk, net sample.Count
	for _, t := range in.Active {
		disk += t.ReadSectors + t.Written()
		net += t.NetBytes()
	}
	for _, t := range list {
		if p.onScreen() && p.canvas.row >= p.canvas.Rows {
			break
		}
		r.t = t
		percent := 0.0
		switch order {
		case ByCPU:
			if all != 0 {
				n := float64(len(x.s.CPUs))
				percent = float64(t.CPU()) * 100 / float64(all/max(int64(len(x.s.CPUs)), 1))
				percent = min(percent, 100*n)
				percent = min(percent, 100*float64(t.Threads))
			}
		case ByMemory:
			percent = share100(t.Resident, x.s.Mem.Total)
		case ByDisk:
			percent = share100(t.ReadSectors+t.Written(), disk)
		case ByNet:
			percent = share100(t.NetBytes(), net)
		case ByGPU:
			if g := &t.GPU; g.State != 0 {
				if percent = float64(g.Busy); g.Busy == -1 {
					total := sample.Count(0)
					for i := range x.s.GPUs {
						total += x.s.GPUs[i].MemTotal
					}
					percent = float64(divide(g.MemNow*100*int64(len(x.s.GPUs)), total))
				}
			}
		}
		p.row(r, percent)
	}
}

// share100 returns n in per cent of all, at most 100.
func share100(n, all sample.Count) float64 {
	if all == 0 {
		return 0
	}
	return min(float64(n)*100/float64(all), 100)
}

// A View is the part of a sample on a terminal, and how far the list is scrolled.
type View struct {
	First   int    // the index of the first process shown
	Offset  int    // how far command lines are scrolled
	Message string // for the line between system and processes
	Paused  bool

	Status  int // the line of the message
	Page    int // the maximum number of processes shown
	Listed  int // how many there are
	TooMany bool
}

// Screen draws a sample.
func (p *Printer) Screen(c *Canvas, in *Input, v *View) {
	p.canvas, p.offset = c, v.Offset
	defer func() { p.canvas = nil }()
	p.begin(in)
	p.sorted(in.System)
	x, o := p.drawUpper(in)
	if o.lines+4 > c.Rows {
		p.Max.Limit()
		x, o = p.drawUpper(in)
		if v.TooMany = o.lines+4 > c.Rows; v.TooMany {
			return
		}
		v.Message = "Number of variable resources limited to fit in this window"
	}
	v.Status = c.row
	p.drawStatus(in, v)
	list, order := p.choose(in, o.order)
	v.Page = c.Rows - v.Status - 2
	if v.Listed = len(list); v.Listed == 0 || v.Page <= 0 {
		return
	}
	if p.threaded() {
		list = p.withThreads(in, list, order)
		v.Listed = len(list)
	}
	v.First = min(v.First, v.Listed-1)
	c.move(v.Status+1, 0)
	c.style = style{reverse: true}
	order = p.heads(v.First/v.Page+1, (v.Listed-1)/v.Page+1, order)
	c.style = style{}
	p.rows(x, list[v.First:], order, in)
}

func (p *Printer) drawUpper(in *Input) (*line, *overview) {
	c := p.canvas
	c.clear(0)
	c.move(0, 0)
	c.style = style{reverse: true}
	p.top(in)
	c.style = style{}
	return p.upper(in)
}

func (p *Printer) drawStatus(in *Input, v *View) {
	c := p.canvas
	c.move(v.Status, 0)
	switch {
	case v.Message == "" && in.Overflow > 0:
		v.Message = overflowed(in)
		fallthrough
	case v.Message != "":
		p.styled(colorInfo, func() { p.print(strings.TrimSuffix(v.Message, "\n")) })
	case in.Boot:
		first, second := bootMessages(in.Archive)
		c.style.blink = true
		p.styled(colorInfo, func() { p.print(first) })
		p.print(blanks(max(c.Cols-len(first)-len(second), 1)))
		p.styled(colorAlmost, func() { p.print(second) })
		c.style = style{}
	}
	if v.Paused {
		c.move(v.Status, c.Cols-6)
		c.style = style{blink: true, reverse: true}
		p.print("PAUSED")
		c.style = style{}
	}
}
