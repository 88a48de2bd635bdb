package ui

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// The least size of a useful screen.
const (
	leastWidth  = 20
	leastHeight = 5
)

// Draw draws the screen, and returns the position of the cursor, if it shows.
func (a *App) Draw(g *screen.Grid) (x, y int, shows bool) {
	g.Resize(a.w, a.h)
	g.SetASCII(a.cfg.ASCII)
	a.mouse.clear()
	all := g.All()
	if a.w < leastWidth || a.h < leastHeight {
		all.Text(0, 0, screen.Warn, "too small")
		return 0, 0, false
	}
	a.drawHeader(all.Rows(0, 1))
	a.drawTabs(all.Rows(1, 1))
	bottom := all.H - 1
	if a.cfg.Host.Archive || a.film.past() {
		bottom--
		a.play.drawTimeLine(all.Rows(bottom, 1), &a.mouse)
	}
	body := all.Rows(2, bottom-2)
	a.drawBody(body)
	footer := all.Rows(all.H-1, 1)
	if a.dialogs.prompt != nil {
		x, y = a.dialogs.prompt.draw(footer, body)
		shows = true
	} else if !a.dialogs.drawFooter(footer) {
		a.drawFooter(footer)
	}
	if a.dialogs.menu != nil {
		a.dialogs.drawMenu(body, &a.mouse)
	}
	if a.dialogs.report.open {
		a.dialogs.report.draw(body, &a.mouse)
	}
	if a.dialogs.help.open {
		a.dialogs.help.draw(body, a.film.now, &a.mouse)
	}
	return x, y, shows
}

func (a *App) drawBody(body screen.Area) {
	switch {
	case a.film.now == nil && a.play.lost != nil:
		a.drawLost(body)
	case a.film.now == nil && a.play.atEnd:
		body.Text(1, 1, screen.Warn, "The archive has nothing in this time window.")
	case a.film.now == nil && a.play.failed != "":
		body.Text(1, 1, screen.Bad, a.play.failed)
	case a.film.now == nil:
		body.Text(1, 1, screen.Dim, "The first sample is on its way.")
	case a.film.now.Empty():
		body.Text(1, 1, screen.Warn, "Nothing is recorded at this time.")
		body.Text(1, 3, screen.Dim, "Space, the arrows and b lead on; the line below shows where this is.")
	case a.procs.detail != 0:
		a.procs.drawDetail(body)
	default:
		a.drawView(body)
	}
}

func (a *App) drawView(body screen.Area) {
	switch a.view {
	case Overview:
		a.drawOverview(body)
	case Processes:
		a.drawProcessPage(body)
	case CGroups:
		a.tables.drawCGroups(body, a.openCGroup)
	case Containers:
		a.tables.drawContainers(body, a.openContainer)
	case Disks:
		a.tables.drawDisks(body)
	case Network:
		a.tables.drawNetwork(body)
	case Pressure:
		a.tables.drawPressure(body)
	case Charts:
		if a.tables.meters.text {
			textCharts(body, a.film.now)
		} else {
			a.charts.draw(body, a.play.pace.interval)
		}
	}
}

// drawOverview draws the totals of the host, and below them the processes.
func (a *App) drawOverview(body screen.Area) {
	n := a.tables.meters.draw(body)
	if body.H-n < 3 {
		return
	}
	rest := body.Rows(n, body.H-n)
	why := a.film.now.Absent(model.PanelProcesses)
	if why == "" {
		a.procs.drawTable(rest, false)
		return
	}
	// The parts shown instead.
	absent(rest, why)
	if a.tables.meters.text {
		return
	}
	half := min(len(a.film.now.Disks)+1, rest.H/2)
	if half > 1 {
		a.tables.diskTable(rest.Rows(1, half))
	}
	if a.film.now.Absent(model.PanelInterfaces) == "" {
		a.tables.interfaceTable(rest.Rows(1+half+min(1, half), rest.H))
	}
}

// drawProcessPage draws the totals in a few lines, and the processes.
func (a *App) drawProcessPage(body screen.Area) {
	s := a.film.now
	line := body.Rows(0, 1)
	half := max(20, body.W/3)
	cpuBar(line, 0, 0, half, &s.CPU, "CPU")
	memoryBar(&s.Memory, line, half+1, 0, half)
	if rest := body.W - 2*half - 2; rest > 10 {
		line.Text(2*half+2, 0, screen.Dim, fmt.Sprintf("%s tasks, %s running", count(s.Procs), count(s.Running)))
	}
	line = body.Rows(1, 1)
	chosen := a.procs.conditions()
	text := a.procs.counted()
	x := line.Text(0, 0, screen.Dim, text)
	if len(chosen) > 0 {
		x = line.Text(x, 0, screen.Warn, ": "+strings.Join(chosen, ", "))
	}
	switch {
	case a.procs.sel.Threads && s.Groups&model.Threads != 0 && s.NoThreads() != "":
		line.Text(x+2, 0, screen.Dim, s.NoThreads())
	case s.Groups&model.ProcessIO != 0 && s.Absent(model.PanelProcessIO) != "":
		line.Text(x+2, 0, screen.Dim, s.Absent(model.PanelProcessIO))
	case s.Unread() != "":
		line.Text(x+2, 0, screen.Dim, s.Unread())
	}
	a.procs.drawTable(body.Rows(2, body.H-2), true)
}

func (a *App) drawLost(body screen.Area) {
	body.Text(1, 1, screen.Bad, "The collector does not answer.")
	body.Text(1, 2, screen.Normal, a.play.lost.Error())
	body.Text(1, 4, screen.Dim, "It is tried again each second; q leaves.")
}

// drawHeader draws the name of the host, and how the screen follows it.
func (a *App) drawHeader(line screen.Area) {
	h := &a.cfg.Host
	end := a.play.drawState(line, a.tables.meters.text)
	left := line.Part(0, 0, end-1, 1)
	x := left.Text(0, 0, screen.Title, "pcp top ")
	x = left.Text(x, 0, screen.Bold, h.Name)
	var facts []string
	if a.film.now != nil {
		if u := a.film.now.Uptime; !math.IsNaN(u) {
			facts = append(facts, "up "+since(u))
		}
		if l := a.film.now.Load; !math.IsNaN(l[0]) {
			facts = append(facts, "load "+load(l[0])+" "+load(l[1])+" "+load(l[2]))
		}
	}
	if h.Kernel != "" {
		facts = append(facts, strings.TrimSpace(h.Kernel+" "+h.Machine))
	}
	for _, f := range facts {
		if x+2+screen.Width(f, left.W) > left.W {
			break
		}
		x = left.Text(x+2, 0, screen.Dim, f)
	}
}

// The least widths of a screen with the names of all views, short ones and long ones.
const (
	shortTabs = 78
	longTabs  = 91
)

// drawTabs draws the names of the views.
func (a *App) drawTabs(line screen.Area) {
	x := 0
	for v := range numViews {
		title := views[v].title
		switch {
		case line.W < shortTabs && v != a.view:
			title = title[:min(4, len(title))]
		case line.W < longTabs:
			title = views[v].short
		}
		text := fmt.Sprintf(" %d %s ", v+1, title)
		style := screen.Tab
		if v == a.view {
			style = screen.TabOn
		}
		end := line.Text(x, 0, style, text)
		a.mouse.on(line.Part(x, 0, end-x, 1), func() { a.setView(v) })
		x = end
	}
}

// drawFooter draws the most used keys.
func (a *App) drawFooter(line screen.Area) {
	x := 0
	width := 0
	var list []*binding
	for i := range keyTable() {
		b := &keyTable()[i]
		if b.short == "" || !b.fits(a.view) {
			continue
		}
		list = append(list, b)
		width += screen.Width(b.show, 20) + len(b.short) + 1
	}
	gap := 1
	if width > line.W-6 {
		gap = 0
	}
	leave := func(x int) {
		end := line.Text(x, 0, screen.Key, "q")
		end = line.Text(end, 0, screen.KeyText, "Quit")
		a.mouse.on(line.Part(x, 0, end-x, 1), func() { a.quit = true })
	}
	for _, b := range list {
		show := b.show
		if line.ASCII() {
			show = strings.NewReplacer("←→", "<-/->", "↑↓", "Up/Down").Replace(show)
		}
		n := screen.Width(show, 20) + len(b.short)
		if x+n+5+gap > line.W {
			break
		}
		end := line.Text(x, 0, screen.Key, show)
		end = line.Text(end, 0, screen.KeyText, b.short)
		a.mouse.on(line.Part(x, 0, end-x, 1), func() { b.do(a) })
		x = end + gap
	}
	leave(x)
}

// absent shows why an area is empty.
func absent(area screen.Area, why string) {
	if !strings.Contains(why, "\n") {
		area.Text(1, 0, screen.Dim, why)
		return
	}
	y := 0 // in full
	for line := range strings.Lines(why) {
		for _, part := range fill(strings.TrimSpace(line), area.W-2) {
			area.Text(1, y, screen.Dim, part)
			y++
		}
	}
}

// fill breaks a line between words into lines of a width, if that is possible.
func fill(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
