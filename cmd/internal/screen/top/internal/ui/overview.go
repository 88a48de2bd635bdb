package ui

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// meters draws the totals of the host, with graphs unless it is a text.
type meters struct {
	film *film
	text bool
}

// draw draws the totals at the top of an area, and returns the number of their rows.
func (t *meters) draw(body screen.Area) int {
	switch {
	case t.text:
		n := meterRows(t.film.now, body.W)
		half := body.W/2 - 1
		t.drawCPU(body.Part(0, 0, half, n))
		t.drawSums(body.Part(half+2, 0, body.W-half-2, n))
		return n
	case body.H < 10:
		drawBrief(t.film.now, body.Rows(0, 2))
		return 2
	case body.W < 116 || body.H < 26:
		cores := len(t.film.now.CPUs)
		n := min(max(7, 2+(cores+1)/2), max(7, body.H/2))
		top := body.Rows(0, n)
		half := body.W/2 - 1
		t.drawCPU(top.Part(0, 0, half, n))
		t.drawSums(top.Part(half+1, 0, body.W-half-1, n))
		return n
	}
	n := min(16, body.H*2/5)
	w := body.W / 3
	cpuW := body.W - 2*w
	t.drawCPUBox(body.Part(0, 0, cpuW, n))
	t.drawMemoryBox(body.Part(cpuW, 0, w, n))
	t.drawTrafficBox(body.Part(cpuW+w, 0, w, n))
	return n
}

// drawBrief draws the totals in two lines.
func drawBrief(s *model.Snapshot, area screen.Area) {
	half := area.W / 2
	cpuBar(area, 0, 0, half, &s.CPU, "CPU")
	memoryBar(&s.Memory, area, half+1, 0, area.W-half-1)
	area.Text(0, 1, screen.Dim, fmt.Sprintf("disk %s/s read %s/s written  net %s/s in %s/s out",
		perSecond(s.Disk.In), perSecond(s.Disk.Out), perSecond(s.Net.In), perSecond(s.Net.Out)))
}

// cpuBar draws the shares of one processor's time.
func cpuBar(area screen.Area, x, y, w int, c *model.CPU, label string) {
	at := area.Text(x, y, screen.Accent, label) + 1
	style := screen.Bold
	if math.IsNaN(c.Busy()) {
		style = screen.Dim
	}
	area.Bar(at, y, w-(at-x), []screen.Segment{
		{Share: c.Nice, Style: screen.Nice},
		{Share: c.User, Style: screen.User},
		{Share: c.Sys, Style: screen.System},
		{Share: c.IRQ + c.Steal, Style: screen.Warn},
		{Share: c.Wait, Style: screen.Wait},
	}, percent(c.Busy()), style)
}

func memoryBar(m *model.Memory, area screen.Area, x, y, w int) {
	at := area.Text(x, y, screen.Accent, "Mem") + 1
	area.Bar(at, y, w-(at-x), []screen.Segment{
		{Share: m.Used() / m.Total, Style: screen.User}, {Share: m.Buffers / m.Total, Style: screen.Nice}, {Share: m.Cached / m.Total, Style: screen.Cache},
	}, size(m.Used())+"/"+size(m.Total), screen.Bold)
}

func swapBar(m *model.Memory, area screen.Area, x, y, w int) {
	at := area.Text(x, y, screen.Accent, "Swp") + 1
	if m.SwapTotal == 0 {
		area.Bar(at, y, w-(at-x), nil, "none", screen.Dim)
		return
	}
	area.Bar(at, y, w-(at-x), []screen.Segment{{Share: m.SwapUsed / m.SwapTotal, Style: screen.System}}, size(m.SwapUsed)+"/"+size(m.SwapTotal), screen.Bold)
}

// drawCPU draws a bar for all processors, a graph and a bar for each.
func (t *meters) drawCPU(area screen.Area) {
	if why := t.film.now.Absent(model.PanelCPU); why != "" {
		absent(area, why)
		return
	}
	cpuBar(area, 0, 0, area.W, &t.film.now.CPU, "CPU")
	c := &t.film.now.CPU
	cores := coreRows(t.film.now, area.W)
	graph := max(1, min(area.H-2-cores, area.H-2))
	if t.film.now.Absent(model.PanelCPUs) != "" {
		graph = area.H - 2
	}
	if t.text {
		graph = 0
	}
	g := area.Rows(1, graph)
	g.Graph(t.film.values(model.CPUBusy, "", g.W), 1, true, screen.Good)
	area.Text(0, 1+graph, screen.Dim, fmt.Sprintf("us %s ni %s sy %s wa %s st %s", whole(c.User), whole(c.Nice), whole(c.Sys), whole(c.Wait), whole(c.Steal)))
	drawCores(t.film.now, area.Rows(2+graph, area.H-2-graph))
}

// coreWidth is the least width of the bar of a processor.
const coreWidth = 19

// coreRows returns the number of rows for the bars of the processors.
func coreRows(s *model.Snapshot, w int) int {
	columns := max(1, w/coreWidth)
	return (len(s.CPUs) + columns - 1) / columns
}

// drawCores draws a bar for each processor, or if there is no room a block.
func drawCores(s *model.Snapshot, area screen.Area) {
	n := len(s.CPUs)
	if n == 0 || area.H <= 0 || area.W < 10 {
		return
	}
	columns := max(1, min(n, area.W/coreWidth))
	if rows := (n + columns - 1) / columns; rows > area.H {
		drawCoreBlocks(s, area)
		return
	}
	w := area.W / columns
	rows := (n + columns - 1) / columns
	for i := range s.CPUs {
		x, y := i/rows*w, i%rows
		width := w
		if i/rows < columns-1 {
			width--
		}
		cpuBar(area, x, y, width, &s.CPUs[i], fmt.Sprintf("%3d", i))
	}
}

// drawCoreBlocks draws a block for each processor, whose height is its use.
func drawCoreBlocks(s *model.Snapshot, area screen.Area) {
	for i := range s.CPUs {
		x, y := i%area.W, i/area.W
		if y >= area.H {
			area.TextRight(area.W, area.H-1, screen.Dim, fmt.Sprintf(" and %d more", len(s.CPUs)-i))
			return
		}
		busy := s.CPUs[i].Busy()
		style := screen.Level0 + screen.Style(max(0, min(3, int(zero(busy)*4))))
		area.Spark(x, y, 1, []float64{busy}, 1, style)
	}
}

func zero(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// drawSums draws memory, tasks, traffic and pressure, a line each.
func (t *meters) drawSums(area screen.Area) {
	s := t.film.now
	y := 0
	if why := s.Absent(model.PanelMemory); why != "" {
		absent(area.Rows(y, 1), why)
	} else {
		memoryBar(&t.film.now.Memory, area, 0, y, area.W)
	}
	y++
	if s.Absent(model.PanelSwap) == "" {
		swapBar(&t.film.now.Memory, area, 0, y, area.W)
		y++
	}
	area.Text(0, y, screen.Accent, "Tasks")
	area.Text(6, y, screen.Normal, fmt.Sprintf("%s, %s running, %s blocked", count(s.Procs), count(s.Running), count(s.Blocked)))
	y++
	spark := func(label, text string, p model.Panel, kinds ...model.Series) {
		if y >= area.H {
			return
		}
		area.Text(0, y, screen.Accent, label)
		if why := s.Absent(p); why != "" {
			area.Text(6, y, screen.Dim, why)
			y++
			return
		}
		end := area.Text(6, y, screen.Normal, text)
		if w := area.W - end - 1; w > 3 && !t.text {
			w = min(w, 16)
			area.Spark(area.W-w, y, w, t.film.sum(w, kinds...), 0, screen.In)
		}
		y++
	}
	spark("Net", fmt.Sprintf("%5s in %5s out", perSecond(s.Net.In), perSecond(s.Net.Out)), model.PanelNet, model.NetIn, model.NetOut)
	spark("Disk", fmt.Sprintf("%5s rd %5s wr", perSecond(s.Disk.In), perSecond(s.Disk.Out)), model.PanelDisk, model.DiskRead, model.DiskWritten)
	if y < area.H {
		area.Text(0, y, screen.Accent, "Wait")
		pressureLine(t.film.now, area.Part(6, y, area.W-6, 1))
		y++
	}
	if y < area.H {
		area.Text(0, y, screen.Accent, "Sys")
		area.Text(6, y, screen.Normal, fmt.Sprintf("%s switches %s forks", count(s.Switches), count(s.Forks)))
	}
}

// pressureLine draws how much work waits for each resource.
func pressureLine(s *model.Snapshot, area screen.Area) {
	if why := s.Absent(model.PanelPressure); why != "" {
		absent(screen.Area(area), why)
		return
	}
	x := 0
	p := &s.Pressure
	for _, r := range []struct {
		name string
		v    float64
	}{{"cpu", p.CPU.Some[0]}, {"mem", p.Memory.Some[0]}, {"io", p.IO.Some[0]}} {
		x = area.Text(x, 0, screen.Dim, r.name+" ")
		x = area.Text(x, 0, pressureStyle(r.v), percent(r.v)) + 2
	}
}

func pressureStyle(v float64) screen.Style {
	switch {
	case v >= 0.4:
		return screen.Bad
	case v >= 0.1:
		return screen.Warn
	case v > 0:
		return screen.Good
	}
	return screen.Dim
}

// drawCPUBox draws processors in a frame, with a graph.
func (t *meters) drawCPUBox(area screen.Area) {
	s := t.film.now
	right := fmt.Sprintf("load %s %s %s", load(s.Load[0]), load(s.Load[1]), load(s.Load[2]))
	in := area.Box("CPU "+percent(s.CPU.Busy()), right)
	if why := s.Absent(model.PanelCPU); why != "" {
		absent(in, why)
		return
	}
	cores := min(coreRows(t.film.now, in.W), max(1, in.H/2))
	graph := in.Rows(0, in.H-cores-2)
	graph.Graph(t.film.values(model.CPUBusy, "", graph.W), 1, true, screen.Good)
	cpuBar(in, 0, in.H-cores-2, in.W, &s.CPU, "all")
	c := &s.CPU
	form := "user %s nice %s sys %s irq %s wait %s steal %s"
	if in.W < 62 {
		form = "us %s ni %s sy %s ir %s wa %s st %s"
	}
	in.Text(0, in.H-cores-1, screen.Dim, fmt.Sprintf(form,
		percent(c.User), percent(c.Nice), percent(c.Sys), percent(c.IRQ), percent(c.Wait), percent(c.Steal)))
	if why := s.Absent(model.PanelCPUs); why != "" {
		absent(in.Rows(in.H-cores, cores), why)
		return
	}
	drawCores(t.film.now, in.Rows(in.H-cores, cores))
}

// drawMemoryBox draws memory, tasks and pressure in a frame.
func (t *meters) drawMemoryBox(area screen.Area) {
	s := t.film.now
	m := &s.Memory
	in := area.Box("Memory "+percent(m.Used()/m.Total), fmt.Sprintf("%s available", size(m.Available)))
	if why := s.Absent(model.PanelMemory); why != "" {
		absent(in, why)
		return
	}
	y := 0
	memoryBar(&t.film.now.Memory, in, 0, y, in.W)
	y++
	if s.Absent(model.PanelSwap) == "" {
		swapBar(&t.film.now.Memory, in, 0, y, in.W)
		y++
	}
	in.Text(0, y, screen.Dim, fmt.Sprintf("buffers %s  cache %s  dirty %s", size(m.Buffers), size(m.Cached), size(m.Dirty)))
	y++
	in.Text(0, y, screen.Dim, fmt.Sprintf("tasks %s, %s running, %s blocked", count(s.Procs), count(s.Running), count(s.Blocked)))
	y++
	in.Text(0, y, screen.Dim, fmt.Sprintf("%s switches %s interrupts %s forks", count(s.Switches), count(s.Interrupts), count(s.Forks)))
	y++
	if y < in.H {
		in.Text(0, y, screen.Accent, "waiting")
		pressureLine(t.film.now, in.Part(9, y, in.W-9, 1))
		y++
	}
	if in.H-y >= 1 {
		g := in.Rows(y, in.H-y)
		g.Graph(t.film.values(model.MemoryUsed, "", g.W), 1, false, screen.Cache)
	}
}

// drawTrafficBox draws network and disks in two frames above each other.
func (t *meters) drawTrafficBox(area screen.Area) {
	s := t.film.now
	half := area.H / 2
	net := area.Rows(0, half).Box("Network", fmt.Sprintf("%s/s in  %s/s out", perSecond(s.Net.In), perSecond(s.Net.Out)))
	if why := s.Absent(model.PanelNet); why != "" {
		absent(net, why)
	} else {
		t.twoGraphs(net, model.NetIn, model.NetOut, "in", "out")
	}
	disk := area.Rows(half, area.H-half).Box("Disks", fmt.Sprintf("%s/s read  %s/s written", perSecond(s.Disk.In), perSecond(s.Disk.Out)))
	if why := s.Absent(model.PanelDisk); why != "" {
		absent(disk, why)
	} else {
		t.twoGraphs(disk, model.DiskRead, model.DiskWritten, "read", "written")
	}
}

// twoGraphs draws two series next to each other, to one scale.
func (t *meters) twoGraphs(area screen.Area, in, out model.Series, inName, outName string) {
	w := (area.W - 1) / 2
	most := 1024.0
	for _, k := range []model.Series{in, out} {
		for _, v := range t.film.values(k, "", w) {
			if v > most {
				most = v
			}
		}
	}
	for i, g := range []struct {
		kind  model.Series
		name  string
		style screen.Style
	}{{in, inName, screen.In}, {out, outName, screen.Out}} {
		part := area.Part(i*(w+1), 0, w, area.H)
		part.Graph(t.film.values(g.kind, "", w), most, false, g.style)
		part.Text(0, 0, screen.Dim, g.name+", top "+size(most)+"/s")
	}
}

// meterRows returns the number of rows of the totals in a text.
func meterRows(s *model.Snapshot, w int) int {
	half := w/2 - 1
	return max(8, 3+coreRows(s, half))
}
