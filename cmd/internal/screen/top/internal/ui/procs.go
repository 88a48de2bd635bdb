package ui

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// A column of the table of processes.
type column struct {
	by    model.Column
	name  string // in the menu
	head  string
	width int
	left  bool // else the text ends at the right
	from  int  // the least width of the table to show it
	text  func(p *model.Process, s *model.Snapshot) string
	style func(p *model.Process) screen.Style
}

func plain(*model.Process) screen.Style { return screen.Normal }
func dim(*model.Process) screen.Style   { return screen.Dim }

// columns are the columns of the table, the command last, which takes the remaining
// width.
var columns = []column{
	{model.ByPID, "PID", "PID", 7, false, 0, func(p *model.Process, _ *model.Snapshot) string { return strconv.Itoa(int(p.PID)) }, plain},
	{model.ByOwner, "user", "USER", 9, true, 50, func(p *model.Process, _ *model.Snapshot) string { return p.Owner }, dim},
	{model.ByNice, "nice value", "NI", 3, false, 110, func(p *model.Process, _ *model.Snapshot) string { return strconv.Itoa(int(p.Nice)) }, niceStyle},
	{model.ByThreads, "threads", "THR", 4, false, 100, func(p *model.Process, _ *model.Snapshot) string { return threads(p.Threads) }, dim},
	{model.BySize, "size", "VIRT", 5, false, 120, func(p *model.Process, _ *model.Snapshot) string { return size(p.Size) }, dim},
	{model.ByMemory, "memory", "RES", 5, false, 30, func(p *model.Process, _ *model.Snapshot) string { return size(p.RSS) }, plain},
	{model.ByMemory, "", "MEM%", 5, false, 90, func(p *model.Process, s *model.Snapshot) string { return hundredths(p.RSS / s.Memory.Total) }, memStyle},
	{model.ByState, "state", "S", 1, true, 40, func(p *model.Process, _ *model.Snapshot) string { return stateText(p.State) }, stateStyle},
	{model.ByCPU, "processor", "CPU%", 6, false, 0, func(p *model.Process, _ *model.Snapshot) string { return hundredths(p.CPU) }, cpuStyle},
	{model.ByRead, "read", "READ/s", 6, false, ioFrom, func(p *model.Process, _ *model.Snapshot) string { return perSecond(p.Read) }, ioStyle},
	{model.ByWritten, "written", "WRIT/s", 6, false, ioFrom, func(p *model.Process, _ *model.Snapshot) string { return perSecond(p.Written) }, ioStyle},
	{model.ByTime, "time", "TIME+", 9, false, 60, func(p *model.Process, _ *model.Snapshot) string { return clock(p.Time) }, plain},
	{model.ByStart, "start", "AGE", 9, false, 150, func(p *model.Process, s *model.Snapshot) string { return age(p, s) }, dim},
	{model.ByCGroup, "control group", "CGROUP", 28, true, 170, func(p *model.Process, _ *model.Snapshot) string { return p.CGroup }, dim},
	{model.ByCommand, "command", "COMMAND", 0, true, 0, nil, plain},
}

// ioFrom is the least width of a table that shows the bytes that processes read and
// write.
const ioFrom = 104

// showsIO reports whether the bytes that processes read and write are shown or sorted by.
func (a *App) showsIO() bool {
	return a.view == Processes && (a.w >= ioFrom || a.sel.By == model.ByRead || a.sel.By == model.ByWritten)
}

func threads(n int32) string {
	if n == 0 {
		return unknown
	}
	return strconv.Itoa(int(n))
}

func age(p *model.Process, s *model.Snapshot) string {
	if s.Uptime < p.Start {
		return "0:00.00"
	}
	return since(s.Uptime - p.Start)
}

// states are the results of stateText, so that none is made for each process.
var states = map[byte]string{'R': "R", 'S': "S", 'D': "D", 'Z': "Z", 'T': "T", 't': "t", 'I': "I", 'X': "X", 'W': "W"}

func stateText(state byte) string {
	if s, ok := states[state]; ok {
		return s
	}
	if state == 0 {
		return unknown
	}
	return "?"
}

func stateStyle(p *model.Process) screen.Style {
	switch p.State {
	case 'R':
		return screen.Good
	case 'D':
		return screen.Wait
	case 'Z', 'T', 't':
		return screen.Bad
	}
	return screen.Dim
}

func cpuStyle(p *model.Process) screen.Style {
	switch {
	case p.CPU >= 0.9:
		return screen.Bad
	case p.CPU >= 0.5:
		return screen.Warn
	case p.CPU >= 0.0005:
		return screen.Good
	}
	return screen.Dim
}

func memStyle(*model.Process) screen.Style { return screen.Cache }

func niceStyle(p *model.Process) screen.Style {
	switch {
	case p.Nice < 0:
		return screen.Bad
	case p.Nice > 0:
		return screen.Nice
	}
	return screen.Dim
}

func ioStyle(p *model.Process) screen.Style {
	if p.Read > 0 || p.Written > 0 {
		return screen.Accent
	}
	return screen.Dim
}

// arrange makes the rows be computed again.
func (a *App) arrange() { a.rowsOf = nil }

// processRows returns the rows of the snapshot shown. The cursor stays with the chosen process.
func (a *App) processRows() []model.Row {
	if a.now == nil {
		return nil
	}
	if a.rowsOf != a.now {
		a.rows, a.rowsOf = a.order.Rows(a.now, &a.sel), a.now
		if a.pid != 0 {
			found := false
			for i, r := range a.rows {
				if a.now.Processes[r.Index].PID == a.pid {
					a.procs.cursor, found = i, true
					break
				}
			}
			if !found {
				a.pid = 0
			}
		} else {
			a.procs.cursor = 0
		}
	}
	a.procs.cursor = max(0, min(a.procs.cursor, len(a.rows)-1))
	return a.rows
}

// chosen returns the process at the cursor, or nil.
func (a *App) chosen() *model.Process {
	if a.detail != 0 {
		return process(a.now, a.detail)
	}
	rows := a.processRows()
	if len(rows) == 0 {
		return nil
	}
	return &a.now.Processes[rows[a.procs.cursor].Index]
}

func (a *App) sortBy(c model.Column) {
	if a.sel.By == c {
		a.sel.Reverse = !a.sel.Reverse
	} else {
		a.sel.By, a.sel.Reverse = c, false
	}
	a.arrange()
}

// sortBeside sorts by another of the columns shown.
func (a *App) sortBeside(n int) {
	shown := a.shownColumns(a.w)
	for i := range shown {
		if shown[i].by != a.sel.By {
			continue
		}
		for j := i + n; j >= 0 && j < len(shown); j += n {
			if shown[j].by != a.sel.By {
				a.sel.By, a.sel.Reverse = shown[j].by, false
				a.arrange()
				return
			}
		}
		return
	}
	a.sortBy(model.ByCPU)
}

// fold hides the processes below a process in the tree, or shows them again.
func (a *App) fold() {
	p := a.chosen()
	if p == nil || !a.sel.Tree {
		a.say("branches are folded in the tree: t")
		return
	}
	if a.sel.Folded == nil {
		a.sel.Folded = map[int32]bool{}
	}
	if rows := a.processRows(); !a.sel.Folded[p.PID] && (a.procs.cursor+1 >= len(rows) || rows[a.procs.cursor+1].Depth <= rows[a.procs.cursor].Depth) {
		a.say("nothing is below %d", p.PID)
		return
	}
	if a.sel.Folded[p.PID] {
		delete(a.sel.Folded, p.PID)
	} else {
		a.sel.Folded[p.PID] = true
	}
	a.pid = p.PID
	a.arrange()
}

func (a *App) open() {
	if a.detail != 0 {
		a.detail = 0
		return
	}
	if p := a.chosen(); p != nil {
		a.detail, a.pid = p.PID, p.PID
		a.hist.Drop(model.Key{Kind: model.ProcCPU})
		a.hist.Drop(model.Key{Kind: model.ProcRSS})
	}
}

// shownColumns returns the columns that fit into a table of some width.
func (a *App) shownColumns(w int) []column {
	var list []column
	for _, c := range columns {
		io := c.by == model.ByRead || c.by == model.ByWritten
		switch {
		case io && a.view != Processes:
		case w >= c.from || c.by == a.sel.By && c.name != "":
			list = append(list, c)
		}
	}
	return list
}

// drawProcesses draws the table of processes.
func (a *App) drawProcesses(area screen.Area) {
	if area.H < 2 || a.now == nil {
		return
	}
	if why := a.now.Absent(model.PanelProcesses); why != "" {
		absent(area, why)
		return
	}
	rows := a.processRows()
	shown := a.shownColumns(area.W)
	a.drawHead(area, shown)
	body := area.Rows(1, area.H-1)
	a.procs.scroll(len(rows), body.H)
	for y := 0; y < body.H && a.procs.top+y < len(rows); y++ {
		i := a.procs.top + y
		a.drawProcess(body, y, &rows[i], shown)
		if i == a.procs.cursor {
			body.Restyle(y, screen.Selected)
		}
		a.on(body.Part(0, y, body.W, 1), func() { a.click(i) })
	}
	if len(rows) == 0 {
		body.Text(1, 0, screen.Dim, "no process fits; Esc clears the filter")
	}
	a.onWheel(body, a.moveRows)
}

// click chooses the process of a row, and opens it if it is chosen already.
func (a *App) click(i int) {
	rows := a.processRows()
	if i >= len(rows) {
		return
	}
	if pid := a.now.Processes[rows[i].Index].PID; a.pid == pid && a.procs.cursor == i {
		a.open()
	} else {
		a.procs.cursor, a.pid = i, pid
	}
}

func (a *App) drawHead(area screen.Area, shown []column) {
	area.Fill(0, 0, area.W, screen.Head, ' ')
	x := 0
	for _, c := range shown {
		style, head := screen.Head, c.head
		if c.by == a.sel.By {
			style = screen.HeadSort
			if c.by == model.ByCommand {
				head += " "
			}
		}
		w := c.width
		if w == 0 {
			w = area.W - x
		}
		cell := area.Part(x, 0, w, 1)
		if style == screen.HeadSort {
			cell.Fill(0, 0, min(w, max(c.width, len(head))), style, ' ')
		}
		if c.left {
			cell.Text(0, 0, style, head)
		} else {
			cell.TextRight(w, 0, style, head)
		}
		by := c.by
		a.on(cell, func() { a.sortBy(by) })
		x += w + 1
	}
}

func (a *App) drawProcess(area screen.Area, y int, row *model.Row, shown []column) {
	p := &a.now.Processes[row.Index]
	x := 0
	for i := range shown {
		c := &shown[i]
		if c.text == nil {
			a.drawCommand(area, x, y, p, row)
			return
		}
		cell := area.Part(x, y, c.width, 1)
		if c.left {
			cell.Text(0, 0, c.style(p), c.text(p, a.now))
		} else {
			cell.TextRight(c.width, 0, c.style(p), c.text(p, a.now))
		}
		x += c.width + 1
	}
}

// drawCommand draws the command of a process, in a tree after its branches.
func (a *App) drawCommand(area screen.Area, x, y int, p *model.Process, row *model.Row) {
	if a.sel.Tree && row.Depth > 0 {
		parts := [...]string{"│ ", "  ", "├─", "└─"}
		if area.ASCII() {
			parts = [...]string{"| ", "  ", "|-", "`-"}
		}
		for d := range row.Depth {
			last := row.Last>>d&1 == 1
			part := parts[0]
			switch {
			case d == row.Depth-1 && last:
				part = parts[3]
			case d == row.Depth-1:
				part = parts[2]
			case last:
				part = parts[1]
			}
			x = area.Text(x, y, screen.Border, part)
		}
	}
	if row.Below > 0 {
		x = area.Text(x, y, screen.Warn, fmt.Sprintf("[+%d] ", row.Below))
	}
	text, style := p.Args, screen.Normal
	if a.command || text == "" {
		text = p.Name
	}
	if p.Kernel() {
		style = screen.Dim
	}
	area.Text(x, y, style, text)
}

// scroll scrolls the cursor into view.
func (l *list) scroll(rows, height int) {
	l.cursor = max(0, min(l.cursor, rows-1))
	if l.cursor < l.top {
		l.top = l.cursor
	}
	if l.cursor >= l.top+height {
		l.top = l.cursor - height + 1
	}
	l.top = max(0, min(l.top, rows-height))
}

// moveRows moves the cursor in the table of processes.
func (a *App) moveRows(n int) {
	rows := a.processRows()
	if len(rows) == 0 {
		return
	}
	a.procs.cursor = max(0, min(len(rows)-1, a.procs.cursor+n))
	a.pid = a.now.Processes[rows[a.procs.cursor].Index].PID
	if a.procs.cursor == 0 && n < 0 {
		a.pid = 0 // the first row, whatever its process
	}
}

// page is how far PgUp and PgDn move.
func (a *App) page() int { return max(1, a.h-8) }

func (a *App) move(n int) {
	switch {
	case a.detail != 0:
	case withProcesses&(1<<a.view) != 0:
		a.moveRows(n)
	case a.view == Charts:
		a.chartAt = max(0, min(len(a.specs)-1, a.chartAt+n))
	default:
		l := &a.lists[a.view]
		l.cursor = max(0, l.cursor+max(-1<<20, min(1<<20, n)))
	}
}

// drawDetail draws the page of one process.
func (a *App) drawDetail(area screen.Area) {
	p := process(a.now, a.detail)
	if p == nil {
		in := area.Rule(fmt.Sprintf("Process %d", a.detail), "Esc goes back")
		in.Text(1, 1, screen.Warn, fmt.Sprintf("There is no process %d at this time.", a.detail))
		return
	}
	in := area.Rule(fmt.Sprintf("Process %d", p.PID), "Esc goes back")
	y := 0
	line := func(label, text string, style screen.Style) {
		in.Text(1, y, screen.Dim, label)
		in.Text(15, y, style, text)
		y++
	}
	line("program", p.Name, screen.Bold)
	// A long command takes some lines.
	in.Text(1, y, screen.Dim, "command")
	for rest, n := p.Args, 0; rest != "" && n < max(1, in.H/4); n++ {
		part := fit(rest, in.W-16)
		in.Text(15, y, screen.Normal, part)
		rest = rest[len(part):]
		y++
	}
	if p.Args == "" {
		y++
	}
	parent := strconv.Itoa(int(p.Parent))
	if up := process(a.now, p.Parent); up != nil {
		parent += " (" + up.Name + ")"
	}
	line("parent", parent, screen.Normal)
	line("user", p.Owner, screen.Normal)
	line("state", stateName(p.State), stateStyle(p))
	line("threads", threads(p.Threads), screen.Normal)
	line("priority", fmt.Sprintf("%d, nice %d, on processor %d", p.Priority, p.Nice, p.Processor), screen.Normal)
	if !math.IsNaN(p.Start) && !math.IsNaN(a.now.Uptime) {
		started := a.now.Time.Time().Add(-seconds(a.now.Uptime - p.Start)).In(a.cfg.Loc)
		line("started", started.Format("2006-01-02 15:04:05")+", "+age(p, a.now)+" ago", screen.Normal)
	}
	line("processor", fmt.Sprintf("%s now, %s in all", percent(p.CPU), clock(p.Time)), cpuStyle(p))
	line("memory", fmt.Sprintf("%s resident (%s of all), %s virtual", size(p.RSS), percent(p.RSS/a.now.Memory.Total), size(p.Size)), screen.Normal)
	if why := a.now.Absent(model.PanelProcessIO); why != "" {
		line("disk", why, screen.Dim)
	} else {
		line("disk", fmt.Sprintf("%s/s read, %s/s written", perSecond(p.Read), perSecond(p.Written)), ioStyle(p))
	}
	line("terminal", p.TTY, screen.Normal)
	line("control group", p.CGroup, screen.Normal)
	y++
	if in.H-y < 4 {
		return
	}
	graphs := in.Rows(y, min(12, in.H-y))
	half := graphs.W / 2
	cpu := graphs.Part(0, 0, half, graphs.H).Rule("Processor", percent(p.CPU))
	cpu.Graph(a.values(model.ProcCPU, "", cpu.W), 0.1, true, screen.Good)
	mem := graphs.Part(half+1, 0, graphs.W-half-1, graphs.H).Rule("Memory", size(p.RSS))
	mem.Graph(a.values(model.ProcRSS, "", mem.W), 1, false, screen.Cache)
}

// fit returns the longest beginning of a text that fits into n cells, at least a
// character.
func fit(s string, n int) string {
	end := 0
	for end < len(s) {
		_, size := utf8.DecodeRuneInString(s[end:])
		if end > 0 && screen.Width(s[:end+size], n) > n {
			break
		}
		end += size
	}
	return s[:end]
}

func stateName(state byte) string {
	switch state {
	case 'R':
		return "R running"
	case 'S':
		return "S sleeping"
	case 'D':
		return "D waiting for a device"
	case 'Z':
		return "Z ended, its parent has not looked"
	case 'T', 't':
		return "T stopped"
	case 'I':
		return "I idle thread of the kernel"
	}
	return stateText(state)
}
