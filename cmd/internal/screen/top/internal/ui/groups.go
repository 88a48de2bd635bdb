package ui

import (
	"cmp"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// groupIOFrom is the least width of a table of control groups with the columns of their traffic.
const groupIOFrom = 110

// groupFields returns the columns with the values of control groups.
func groupFields(s *model.Snapshot, group func(i int) *model.CGroup) []field {
	of := func(value func(g *model.CGroup) float64) func(int) float64 {
		return func(i int) float64 { return value(group(i)) }
	}
	list := []field{
		{"CPU%", 6, false, 0, of(func(g *model.CGroup) float64 { return g.CPU }), nil},
		{"MEM", 6, false, 0, of(func(g *model.CGroup) float64 { return g.Memory }), nil},
		{"PROCS", 5, false, 0, of(func(g *model.CGroup) float64 { return float64(g.Processes) }), nil},
		{"cpu psi", 7, false, 80, of(func(g *model.CGroup) float64 { return g.PressCPU }), nil},
		{"mem psi", 7, false, 80, of(func(g *model.CGroup) float64 { return g.PressMem }), nil},
		{"io psi", 7, false, 80, of(func(g *model.CGroup) float64 { return g.PressIO }), nil},
		{"READ/s", 6, false, groupIOFrom, of(func(g *model.CGroup) float64 { return g.Read }), nil},
		{"WRIT/s", 6, false, groupIOFrom, of(func(g *model.CGroup) float64 { return g.Written }), nil},
		{"IN/s", 6, false, groupIOFrom, of(func(g *model.CGroup) float64 { return g.In }), nil},
		{"OUT/s", 6, false, groupIOFrom, of(func(g *model.CGroup) float64 { return g.Out }), nil},
	}
	const never = 1 << 20
	if s.Lacks(model.PanelProcessIO) {
		list[6].from, list[7].from = never, never
	}
	if s.Lacks(model.PanelProcessNet) && s.Lacks(model.PanelSockets) {
		list[8].from, list[9].from = never, never
	}
	return list
}

// putGroup draws the values of a control group, whose columns begin with a number.
func (t *table) putGroup(row screen.Area, first int, g *model.CGroup) {
	t.put(row, first, cpuStyle(&model.Process{CPU: g.CPU}), hundredths(g.CPU))
	t.put(row, first+1, screen.Normal, size(g.Memory))
	t.put(row, first+2, screen.Normal, fmt.Sprint(g.Processes))
	t.put(row, first+3, pressureStyle(g.PressCPU), percent(g.PressCPU))
	t.put(row, first+4, pressureStyle(g.PressMem), percent(g.PressMem))
	t.put(row, first+5, pressureStyle(g.PressIO), percent(g.PressIO))
	t.put(row, first+6, screen.In, perSecond(g.Read))
	t.put(row, first+7, screen.Out, perSecond(g.Written))
	t.put(row, first+8, screen.In, perSecond(g.In))
	t.put(row, first+9, screen.Out, perSecond(g.Out))
}

// container returns the container at the cursor, or nil.
func (v *tables) container() *model.Container {
	s, i := v.film.now, v.lists[Containers].row()
	if s == nil || i >= len(s.Containers) {
		return nil
	}
	return &s.Containers[i]
}

// drawContainers draws a line for each container, which opens with a second click.
func (v *tables) drawContainers(body screen.Area, open func()) {
	s := v.film.now
	if len(s.Containers) == 0 {
		in := body.Rule("Containers", "")
		why := s.Absent(model.PanelContainers)
		if why == "" || s.None(model.PanelContainers) {
			why = "there are no containers at this time"
		}
		absent(in, why)
		return
	}
	group := func(i int) *model.CGroup { return &s.Containers[i].CGroup }
	fields := append([]field{
		{"CONTAINER", 20, true, 0, nil, func(i int) string { return s.Containers[i].Name }},
		{"STATE", 10, true, 0, nil, func(i int) string { return s.Containers[i].State }},
	}, groupFields(s, group)...)
	t := newTable(body, &v.lists[Containers], v.mouse, fields)
	rest := t.rest()
	body.Text(rest, 0, screen.Head, "ENGINE, IMAGE")
	v.rows(t, len(s.Containers), func(row screen.Area, i int) {
		c := &s.Containers[i]
		style := screen.Normal
		if c.State != "running" {
			style = screen.Dim
		}
		t.put(row, 0, screen.Bold, c.Name)
		t.put(row, 1, style, cmp.Or(c.State, unknown))
		t.putGroup(row, 2, &c.CGroup)
		x := row.Text(rest, 0, screen.Dim, c.Engine)
		row.Text(x+1, 0, screen.Normal, c.Image)
	}, func(int) { open() })
}
