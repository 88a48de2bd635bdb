package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// processes has the table of processes: which are selected and in what order, and the one at the cursor, whose page
// may be open.
type processes struct {
	film  *film
	mouse *mouse
	loc   *time.Location
	say   func(format string, args ...any)

	sel     model.Selection
	order   model.Order
	rows    []model.Row     // of rowsOf
	rowsOf  *model.Snapshot // nil if the rows must be computed again
	list    list
	pid     int32 // the selected process, 0 for the first row
	detail  int32 // the process whose page is open, 0 if none is
	command bool  // show the name of a program and not the whole command
}

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

func dim(*model.Process) screen.Style { return screen.Dim }

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
	{model.ByIn, "received", "IN/s", 6, false, netFrom, func(p *model.Process, _ *model.Snapshot) string { return perSecond(p.In) }, netStyle},
	{model.ByOut, "sent", "OUT/s", 6, false, netFrom, func(p *model.Process, _ *model.Snapshot) string { return perSecond(p.Out) }, netStyle},
	{model.ByGPU, "graphics", "GPU%", 6, false, gpuFrom, func(p *model.Process, _ *model.Snapshot) string { return hundredths(p.GPU) }, gpuStyle},
	{model.ByGPUMemory, "graphics memory", "GMEM", 5, false, gpuFrom, func(p *model.Process, _ *model.Snapshot) string { return size(p.GPUMemory) }, dim},
	{model.ByTime, "time", "TIME+", 9, false, 60, func(p *model.Process, _ *model.Snapshot) string { return clock(p.Time) }, plain},
	{model.ByStart, "start", "AGE", 9, false, 150, func(p *model.Process, s *model.Snapshot) string { return age(p, s) }, dim},
	{model.ByCGroup, "control group", "CGROUP", 28, true, 170, func(p *model.Process, _ *model.Snapshot) string { return p.CGroup }, dim},
	{model.ByCommand, "command", "COMMAND", 0, true, 0, nil, plain},
}

// The least widths of a table that shows what processes read and write, send and receive, and have of graphics cards.
const (
	ioFrom  = 104
	netFrom = 116
	gpuFrom = 128
)

// An extra is columns that not every source has.
type extra struct {
	name    string // in the help
	columns []model.Column
	group   model.Group
	panel   model.Panel
	from    int
	hint    func(s *model.Snapshot) string // how the source may be had; nil for nothing to add
}

// extras are the columns that only show if the source has them.
var extras = []extra{
	{"READ WRIT", []model.Column{model.ByRead, model.ByWritten}, model.ProcessIO, model.PanelProcessIO, ioFrom, nil},
	{"IN OUT", []model.Column{model.ByIn, model.ByOut}, model.ProcessNet, model.PanelProcessNet, netFrom, (*model.Snapshot).NetHint},
	{"GPU GMEM", []model.Column{model.ByGPU, model.ByGPUMemory}, model.ProcessGPU, model.PanelProcessGPU, gpuFrom, func(*model.Snapshot) string { return "the agents drm and nvidia have them where there are cards" }},
}

// extraOf returns the extra that a column is of, or nil.
func extraOf(c model.Column) *extra {
	for i := range extras {
		if slices.Contains(extras[i].columns, c) {
			return &extras[i]
		}
	}
	return nil
}

// needs returns the groups of the extra columns that a page of processes shows or sorts by.
func (t *processes) needs(w int) (g model.Group) {
	for _, e := range extras {
		if w >= e.from || slices.Contains(e.columns, t.sel.By) {
			g |= e.group
		}
	}
	return g
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

func netStyle(p *model.Process) screen.Style {
	if p.In > 0 || p.Out > 0 {
		return screen.Accent
	}
	return screen.Dim
}

func gpuStyle(p *model.Process) screen.Style { return cpuStyle(&model.Process{CPU: p.GPU}) }

// arrange makes the rows be computed again.
func (t *processes) arrange() { t.rowsOf = nil }

// visible returns the rows of the snapshot shown. The cursor stays with the chosen process.
func (t *processes) visible() []model.Row {
	if t.film.now == nil {
		return nil
	}
	if t.rowsOf != t.film.now {
		t.rows, t.rowsOf = t.order.Rows(t.film.now, &t.sel), t.film.now
		if t.pid != 0 {
			found := false
			for i, r := range t.rows {
				if t.film.now.Processes[r.Index].PID == t.pid {
					t.list.cursor, found = i, true
					break
				}
			}
			if !found {
				t.pid = 0
			}
		} else {
			t.list.cursor = 0
		}
	}
	t.list.cursor = max(0, min(t.list.cursor, len(t.rows)-1))
	return t.rows
}

// chosen returns the process at the cursor, or nil.
func (t *processes) chosen() *model.Process {
	if t.detail != 0 {
		return process(t.film.now, t.detail)
	}
	rows := t.visible()
	if len(rows) == 0 {
		return nil
	}
	return &t.film.now.Processes[rows[t.list.cursor].Index]
}

func (t *processes) sortBy(c model.Column) {
	if t.sel.By == c {
		t.sel.Reverse = !t.sel.Reverse
	} else {
		t.sel.By, t.sel.Reverse = c, false
	}
	t.arrange()
}

// sortBeside sorts by another of the columns shown at a width.
func (t *processes) sortBeside(n, w int, io bool) {
	shown := t.shownColumns(w, io)
	for i := range shown {
		if shown[i].by != t.sel.By {
			continue
		}
		for j := i + n; j >= 0 && j < len(shown); j += n {
			if shown[j].by != t.sel.By {
				t.sel.By, t.sel.Reverse = shown[j].by, false
				t.arrange()
				return
			}
		}
		return
	}
	t.sortBy(model.ByCPU)
}

// fold hides the processes below a process in the tree, or shows them again.
func (t *processes) fold() {
	p := t.chosen()
	if p == nil || !t.sel.Tree {
		t.say("branches are folded in the tree: t")
		return
	}
	if t.sel.Folded == nil {
		t.sel.Folded = map[int32]bool{}
	}
	if rows := t.visible(); !t.sel.Folded[p.PID] && (t.list.cursor+1 >= len(rows) || rows[t.list.cursor+1].Depth <= rows[t.list.cursor].Depth) {
		t.say("nothing is below %d", p.PID)
		return
	}
	if t.sel.Folded[p.PID] {
		delete(t.sel.Folded, p.PID)
	} else {
		t.sel.Folded[p.PID] = true
	}
	t.pid = p.PID
	t.arrange()
}

func (t *processes) open() {
	if t.detail != 0 {
		t.detail = 0
		return
	}
	if p := t.chosen(); p != nil {
		t.detail, t.pid = p.PID, p.PID
		t.film.hist.Drop(model.Key{Kind: model.ProcCPU})
		t.film.hist.Drop(model.Key{Kind: model.ProcRSS})
	}
}

// shownColumns returns the columns that fit into a table of some width, with or without the extra ones.
func (t *processes) shownColumns(w int, io bool) []column {
	var list []column
	for _, c := range columns {
		switch e := extraOf(c.by); {
		case e != nil && (!io || t.film.now != nil && t.film.now.Lacks(e.panel)):
		case w >= c.from || c.by == t.sel.By && c.name != "":
			list = append(list, c)
		}
	}
	return list
}

// drawTable draws the table of processes.
func (t *processes) drawTable(area screen.Area, io bool) {
	if area.H < 2 || t.film.now == nil {
		return
	}
	if why := t.film.now.Absent(model.PanelProcesses); why != "" {
		absent(area, why)
		return
	}
	rows := t.visible()
	shown := t.shownColumns(area.W, io)
	t.drawHead(area, shown)
	body := area.Rows(1, area.H-1)
	t.list.scroll(len(rows), body.H)
	for y := 0; y < body.H && t.list.top+y < len(rows); y++ {
		i := t.list.top + y
		t.drawProcess(body, y, &rows[i], shown)
		if i == t.list.cursor {
			body.Restyle(y, screen.Selected)
		}
		t.mouse.on(body.Part(0, y, body.W, 1), func() { t.click(i) })
	}
	if len(rows) == 0 {
		body.Text(1, 0, screen.Dim, "no process fits; Esc clears the filter")
	}
	t.mouse.onWheel(body, t.moveRows)
}

// click chooses the process of a row, and opens it if it is chosen already.
func (t *processes) click(i int) {
	rows := t.visible()
	if i >= len(rows) {
		return
	}
	if pid := t.film.now.Processes[rows[i].Index].PID; t.pid == pid && t.list.cursor == i {
		t.open()
	} else {
		t.list.cursor, t.pid = i, pid
	}
}

func (t *processes) drawHead(area screen.Area, shown []column) {
	area.Fill(0, 0, area.W, screen.Head, ' ')
	x := 0
	for _, c := range shown {
		style, head := screen.Head, c.head
		if c.by == t.sel.By {
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
		t.mouse.on(cell, func() { t.sortBy(by) })
		x += w + 1
	}
}

func (t *processes) drawProcess(area screen.Area, y int, row *model.Row, shown []column) {
	p := &t.film.now.Processes[row.Index]
	x := 0
	for i := range shown {
		c := &shown[i]
		if c.text == nil {
			t.drawCommand(area, x, y, p, row)
			return
		}
		cell := area.Part(x, y, c.width, 1)
		if c.left {
			cell.Text(0, 0, c.style(p), c.text(p, t.film.now))
		} else {
			cell.TextRight(c.width, 0, c.style(p), c.text(p, t.film.now))
		}
		x += c.width + 1
	}
}

// drawCommand draws the command of a process, in a tree after its branches.
func (t *processes) drawCommand(area screen.Area, x, y int, p *model.Process, row *model.Row) {
	if t.sel.Tree && row.Depth > 0 {
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
	if t.command || text == "" {
		text = p.Name
	}
	if p.Kernel() {
		style = screen.Dim
	}
	area.Text(x, y, style, text)
}

// moveRows moves the cursor in the table of processes.
func (t *processes) moveRows(n int) {
	rows := t.visible()
	if len(rows) == 0 {
		return
	}
	t.list.cursor = max(0, min(len(rows)-1, t.list.cursor+n))
	t.pid = t.film.now.Processes[rows[t.list.cursor].Index].PID
	if t.list.cursor == 0 && n < 0 {
		t.pid = 0 // the first row, whatever its process
	}
}

// drawDetail draws the page of one process.
func (t *processes) drawDetail(area screen.Area) {
	p := process(t.film.now, t.detail)
	if p == nil {
		in := area.Rule(fmt.Sprintf("Process %d", t.detail), "Esc goes back")
		in.Text(1, 1, screen.Warn, fmt.Sprintf("There is no process %d at this time.", t.detail))
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
	if up := process(t.film.now, p.Parent); up != nil {
		parent += " (" + up.Name + ")"
	}
	line("parent", parent, screen.Normal)
	line("user", p.Owner, screen.Normal)
	line("state", stateName(p.State), stateStyle(p))
	line("threads", threads(p.Threads), screen.Normal)
	line("priority", fmt.Sprintf("%d, nice %d, on processor %d", p.Priority, p.Nice, p.Processor), screen.Normal)
	if !math.IsNaN(p.Start) && !math.IsNaN(t.film.now.Uptime) {
		started := t.film.now.Time.Time().Add(-seconds(t.film.now.Uptime - p.Start)).In(t.loc)
		line("started", started.Format("2006-01-02 15:04:05")+", "+age(p, t.film.now)+" ago", screen.Normal)
	}
	line("processor", fmt.Sprintf("%s now, %s in all", percent(p.CPU), clock(p.Time)), cpuStyle(p))
	line("memory", fmt.Sprintf("%s resident (%s of all), %s virtual", size(p.RSS), percent(p.RSS/t.film.now.Memory.Total), size(p.Size)), screen.Normal)
	if why := cmp.Or(t.film.now.Absent(model.PanelProcessIO), t.unread(p)); why != "" {
		line("disk", why, screen.Dim)
	} else {
		line("disk", fmt.Sprintf("%s/s read, %s/s written", perSecond(p.Read), perSecond(p.Written)), ioStyle(p))
	}
	if t.film.now.Absent(model.PanelProcessNet) == "" {
		line("network", fmt.Sprintf("%s/s received, %s/s sent", perSecond(p.In), perSecond(p.Out)), netStyle(p))
	}
	if t.film.now.Absent(model.PanelProcessGPU) == "" && !(math.IsNaN(p.GPU) && math.IsNaN(p.GPUMemory)) {
		line("graphics", fmt.Sprintf("%s of a card, %s memory", percent(p.GPU), size(p.GPUMemory)), gpuStyle(p))
	}
	line("terminal", p.TTY, screen.Normal)
	line("control group", p.CGroup, screen.Normal)
	y++
	if in.H-y < 4 {
		return
	}
	if t.sel.Threads {
		t.drawThreads(in.Rows(y, in.H-y), p)
		return
	}
	graphs := in.Rows(y, min(12, in.H-y))
	half := graphs.W / 2
	cpu := graphs.Part(0, 0, half, graphs.H).Rule("Processor", percent(p.CPU))
	cpu.Graph(t.film.values(model.ProcCPU, "", cpu.W), 0.1, true, screen.Good)
	mem := graphs.Part(half+1, 0, graphs.W-half-1, graphs.H).Rule("Memory", size(p.RSS))
	mem.Graph(t.film.values(model.ProcRSS, "", mem.W), 1, false, screen.Cache)
}

// unread returns why the I/O of a process is unknown, or "".
func (t *processes) unread(p *model.Process) string {
	if math.IsNaN(p.Read) && math.IsNaN(p.Written) {
		return t.film.now.Unread()
	}
	return ""
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

// process returns the process of a PID, or nil.
func process(s *model.Snapshot, pid int32) *model.Process {
	if s == nil {
		return nil
	}
	for i := range s.Processes {
		if s.Processes[i].PID == pid {
			return &s.Processes[i]
		}
	}
	return nil
}

// follow adds the values of the process whose page is open to the graphs of it.
func (t *processes) follow(s *model.Snapshot) {
	if t.detail == 0 {
		return
	}
	if p := process(s, t.detail); p != nil {
		t.film.hist.Put(model.Key{Kind: model.ProcCPU}, p.CPU)
		t.film.hist.Put(model.Key{Kind: model.ProcRSS}, p.RSS)
	}
}

// within shows the processes of a control group.
func (t *processes) within(cgroup string) {
	t.sel.CGroup = cgroup
	t.pid = 0
	t.arrange()
}

// escape closes the page of a process or clears the filters, and reports whether there was anything of both.
func (t *processes) escape() bool {
	switch {
	case t.detail != 0:
		t.detail = 0
	case t.sel.Filter != "" || t.sel.Owner != "" || t.sel.CGroup != "":
		t.sel.Filter, t.sel.Owner, t.sel.CGroup = "", "", ""
		t.arrange()
	default:
		return false
	}
	return true
}

// first moves the cursor to the first row, whatever its process.
func (t *processes) first() {
	if t.pid != 0 {
		t.pid, t.list = 0, list{}
	}
}

// conditions returns the parts of the selection as text.
func (t *processes) conditions() []string {
	var all []string
	if t.sel.Filter != "" {
		all = append(all, "filter "+t.sel.Filter)
	}
	if t.sel.Owner != "" {
		all = append(all, "user "+t.sel.Owner)
	}
	if t.sel.CGroup != "" {
		all = append(all, "cgroup "+t.sel.CGroup)
	}
	if t.sel.NoKernel {
		all = append(all, "without the kernel's")
	}
	if t.sel.Tree {
		all = append(all, "tree")
	}
	return all
}

// askFilter returns the prompt for a filter, which applies while it is typed.
func (t *processes) askFilter() prompt {
	set := func(text string) { t.sel.Filter = text; t.arrange() }
	return prompt{label: "Filter", text: t.sel.Filter, change: set, accept: func(text string) error { set(text); return nil }}
}

// chooseOwner returns the menu of users, or nil before the first sample.
func (t *processes) chooseOwner() *menu {
	if t.film.now == nil {
		return nil
	}
	var owners []string
	for i := range t.film.now.Processes {
		if o := t.film.now.Processes[i].Owner; o != "" && !slices.Contains(owners, o) {
			owners = append(owners, o)
		}
	}
	slices.Sort(owners)
	items := append([]string{"(all users)"}, owners...)
	return &menu{title: "User", items: items, at: max(0, slices.Index(items, t.sel.Owner)), accept: func(i int) {
		if t.sel.Owner = ""; i > 0 {
			t.sel.Owner = items[i]
		}
		t.arrange()
	}}
}

// chooseSort returns the menu of columns.
func (t *processes) chooseSort() *menu {
	var items []string
	var by []model.Column
	for _, c := range columns {
		if c.name != "" {
			items, by = append(items, c.name), append(by, c.by)
		}
	}
	at := max(0, slices.Index(by, t.sel.By))
	return &menu{title: "Sort by", items: items, at: at, accept: func(i int) { t.sortBy(by[i]) }}
}
