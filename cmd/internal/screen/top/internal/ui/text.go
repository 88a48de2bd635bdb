package ui

import (
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// TextNeeds returns the groups of metrics that Text shows.
func (a *App) TextNeeds(w int) model.Group {
	a.w = w
	return a.need()
}

// Text draws a snapshot as text of a width, without the parts that only a screen has, and with as many processes.
// The grid is made as high as the text.
func (a *App) Text(g *screen.Grid, s *model.Snapshot, w, processes int) {
	a.film.now, a.tables.meters.text, a.w = s, true, w
	a.mouse.clear()
	a.procs.arrange()
	n := 1 + a.textRows(processes)
	g.Resize(w, n)
	g.SetASCII(a.cfg.ASCII)
	all := g.All()
	a.drawHeader(all.Rows(0, 1))
	a.drawView(all.Rows(1, n-1))
	a.procs.arrange()
	g.Trim()
}

// textRows returns how many rows a view has.
func (a *App) textRows(processes int) int {
	s := a.film.now
	switch a.view {
	case Overview:
		return meterRows(s, a.w) + 1 + min(processes, len(a.procs.visible()))
	case Processes:
		return 3 + min(processes, len(a.procs.visible()))
	case CGroups:
		return 2 + len(s.CGroups)
	case Containers:
		return 2 + len(s.Containers)
	case Disks:
		n := 2 + len(s.Disks)
		if s.Absent(model.PanelFiles) == "" {
			n += 2 + len(s.Files)
		}
		return n
	case Network:
		n := 2 + len(s.Interfaces)
		if s.Absent(model.PanelProtocols) == "" {
			n += 4
		}
		return n
	case Pressure:
		if s.Pressure.IRQ.Full[0] >= 0 {
			return 12
		}
		return 9
	}
	n := 2
	for i := range s.Charts {
		n += 1 + max(1, len(s.Charts[i].Lines))
	}
	return n
}

// textCharts draws the values of the charts, a line each.
func textCharts(area screen.Area, s *model.Snapshot) {
	y := 0
	for i := range s.Charts {
		c := &s.Charts[i]
		area.Rows(y, 1).Rule(c.Spec, c.Units)
		y++
		if c.Err != nil {
			absent(area.Rows(y, 1), c.Err.Error())
			y++
		}
		for _, l := range c.Lines {
			area.TextIn(1, y, area.W-16, screen.Normal, l.Name)
			area.TextRight(area.W, y, screen.Bold, units(l.Value, c.Units))
			y++
		}
	}
}

// AllColumns is a width at which a table has all its columns.
const AllColumns = 1000
