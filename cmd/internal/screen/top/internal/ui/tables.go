package ui

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// tables draws the views that are mostly plain tables, and has their cursors.
type tables struct {
	film   *film
	mouse  *mouse
	meters meters
	lists  [numViews]list
}

// move moves the cursor of a view.
func (v *tables) move(in View, n int) {
	l := &v.lists[in]
	l.cursor = max(0, l.cursor+max(-1<<20, min(1<<20, n)))
}

// group returns the control group at the cursor, or nil.
func (v *tables) group() *model.CGroup {
	s, i := v.film.now, v.lists[CGroups].row()
	if s == nil || i >= len(s.CGroups) {
		return nil
	}
	return &s.CGroups[i]
}

// A field is a column of a plain table.
type field struct {
	head  string
	width int
	left  bool
	from  int // the least width of the table to show it

	// Number or text is the value of a row by which it is sorted; a field without either does not sort.
	number func(i int) float64
	text   func(i int) string
}

// compare compares two rows by a field, so that the largest numbers and the first texts are first.
func (f *field) compare(a, b int) int {
	if f.number != nil {
		return cmp.Compare(f.number(b), f.number(a)) // an unknown number is less than any other
	}
	return strings.Compare(f.text(a), f.text(b))
}

// sorts reports whether rows can be sorted by the field.
func (f *field) sorts() bool { return f.number != nil || f.text != nil }

// A table draws rows of fields below a heading, with a cursor.
type table struct {
	area   screen.Area
	fields []field
	list   *list
	x      []int // of each field, -1 if it is not shown
}

// newTable draws the heading. A click on the head of a field sorts by it, and another one reverses the order.
func newTable(area screen.Area, l *list, m *mouse, fields []field) *table {
	t := &table{area: area, fields: fields, list: l}
	area.Fill(0, 0, area.W, screen.Head, ' ')
	x := 0
	for i, f := range fields {
		if area.W < f.from {
			t.x = append(t.x, -1)
			continue
		}
		t.x = append(t.x, x)
		cell := area.Part(x, 0, f.width, 1)
		style := screen.Head
		if l.by == i+1 && f.sorts() {
			style = screen.HeadSort
			cell.Fill(0, 0, cell.W, style, ' ')
		}
		if f.left {
			cell.Text(0, 0, style, f.head)
		} else {
			cell.TextRight(f.width, 0, style, f.head)
		}
		if m != nil && f.sorts() {
			m.on(cell, func() { l.sortBy(i + 1) })
		}
		x += f.width + 1
	}
	return t
}

// rest returns where the fields end.
func (t *table) rest() int {
	x := 0
	for i, f := range t.fields {
		if t.x[i] >= 0 {
			x = t.x[i] + f.width + 1
		}
	}
	return x
}

// put draws the text of a field.
func (t *table) put(row screen.Area, i int, style screen.Style, text string) {
	if t.x[i] < 0 {
		return
	}
	cell := row.Part(t.x[i], 0, t.fields[i].width, 1)
	if t.fields[i].left {
		cell.Text(0, 0, style, text)
	} else {
		cell.TextRight(cell.W, 0, style, text)
	}
}

// rows calls draw for each visible row, in the order of the list.
func (v *tables) rows(t *table, n int, draw func(row screen.Area, i int), open func(i int)) {
	body := t.area.Rows(1, t.area.H-1)
	t.list.arrange(n, t.fields)
	t.list.scroll(n, body.H)
	for y := 0; y < body.H && t.list.top+y < n; y++ {
		i := t.list.top + y
		row := body.Rows(y, 1)
		draw(row, t.list.order[i])
		if i == t.list.cursor && n > body.H || open != nil && i == t.list.cursor {
			row.Restyle(0, screen.Selected)
		}
		v.mouse.on(row, func() {
			again := t.list.cursor == i
			t.list.cursor = i
			if again && open != nil {
				open(i)
			}
		})
	}
	v.mouse.onWheel(body, func(k int) { t.list.cursor = max(0, min(n-1, t.list.cursor+k)) })
}

// drawDisks draws the disks and the file systems.
func (v *tables) drawDisks(body screen.Area) {
	s := v.film.now
	nf := len(s.Files)
	filesH := 0
	if s.Absent(model.PanelFiles) == "" && (body.H > 8 || v.meters.text) {
		filesH = nf + 2
		if !v.meters.text {
			filesH = min(filesH, max(4, body.H*2/5))
		}
	}
	upper := body.Rows(0, body.H-filesH)
	if why := s.Absent(model.PanelDisks); why != "" {
		absent(upper.Rule("Disks", ""), why)
	} else {
		if upper.H >= 14 && !v.meters.text {
			g := upper.Rows(0, min(8, upper.H/3)).Rule("All disks", fmt.Sprintf("%s/s read  %s/s written", perSecond(s.Disk.In), perSecond(s.Disk.Out)))
			v.meters.twoGraphs(g, model.DiskRead, model.DiskWritten, "read", "written")
			upper = upper.Rows(min(8, upper.H/3), upper.H)
		}
		v.diskTable(upper)
	}
	if filesH > 0 {
		drawFiles(s, body.Rows(body.H-filesH, filesH))
	}
}

// round rounds a number to two digits after the point.
func round(f float64) float64 { return math.Round(f*100) / 100 }

func busyStyle(f float64) screen.Style {
	switch {
	case f >= 0.8:
		return screen.Bad
	case f >= 0.4:
		return screen.Warn
	case f > 0:
		return screen.Good
	}
	return screen.Dim
}

// drawFiles draws a line for each file system.
func drawFiles(s *model.Snapshot, area screen.Area) {
	in := area.Rule("File systems", "")
	in.Fill(0, 0, in.W, screen.Head, ' ')
	barW := max(16, in.W/4)
	x := barW + 1
	in.Text(0, 0, screen.Head, "USED")
	in.TextRight(x+6, 0, screen.Head, "SIZE")
	in.TextRight(x+13, 0, screen.Head, "FREE")
	in.TextRight(x+20, 0, screen.Head, "INODES")
	in.Text(x+22, 0, screen.Head, "MOUNTED ON")
	for i := 0; i < len(s.Files) && i+1 < in.H; i++ {
		f := &s.Files[i]
		row := in.Rows(i+1, 1)
		if i+2 == in.H && len(s.Files) > i+1 {
			row.Text(0, 0, screen.Dim, fmt.Sprintf("and %d more", len(s.Files)-i))
			break
		}
		used := f.Used / (f.Used + f.Avail)
		row.Bar(0, 0, barW, []screen.Segment{{Share: used, Style: fullStyle(used)}}, percent(used), screen.Bold)
		row.TextRight(x+6, 0, screen.Normal, size(f.Size))
		row.TextRight(x+13, 0, screen.Normal, size(f.Avail))
		row.TextRight(x+20, 0, screen.Dim, percent(f.InodesUsed/f.Inodes))
		text := f.Mount
		if f.Mount == "" {
			text = f.Device
		} else if row.W > 90 {
			text += "  " + f.Device + " " + f.Type
		}
		row.Text(x+22, 0, screen.Normal, strings.TrimRight(text, " "))
	}
}

func fullStyle(f float64) screen.Style {
	switch {
	case f >= 0.9:
		return screen.Bad
	case f >= 0.75:
		return screen.Warn
	}
	return screen.Good
}

// drawNetwork draws the interfaces and the protocols.
func (v *tables) drawNetwork(body screen.Area) {
	s := v.film.now
	p := &s.Protocols
	protoH := 0
	if s.Absent(model.PanelProtocols) == "" && (body.H > 8 || v.meters.text) {
		protoH = 4
	}
	upper := body.Rows(0, body.H-protoH)
	if why := s.Absent(model.PanelInterfaces); why != "" {
		absent(upper.Rule("Interfaces", ""), why)
	} else {
		if upper.H >= 10 && !v.meters.text {
			n := min(12, upper.H/2)
			g := upper.Rows(0, n).Rule("All interfaces", fmt.Sprintf("%s/s in  %s/s out", perSecond(s.Net.In), perSecond(s.Net.Out)))
			v.meters.twoGraphs(g, model.NetIn, model.NetOut, "in", "out")
			upper = upper.Rows(n, upper.H)
		}
		v.interfaceTable(upper)
	}
	if protoH == 0 {
		return
	}
	in := body.Rows(body.H-protoH, protoH).Rule("Protocols", "")
	in.Text(0, 0, screen.Accent, "TCP")
	in.Text(5, 0, screen.Normal, fmt.Sprintf("%s established  %s/s out  %s/s accepted  %s/s segments in  %s/s out",
		count(p.Established), count(p.Active), count(p.Passive), count(p.SegsIn), count(p.SegsOut)))
	in.Text(5, 1, wrongStyle(p.Retrans+p.SegErrors), fmt.Sprintf("%s/s sent again  %s/s errors", count(p.Retrans), count(p.SegErrors)))
	in.Text(0, 2, screen.Accent, "UDP")
	in.Text(5, 2, screen.Normal, fmt.Sprintf("%s/s in  %s/s out  %s/s errors", count(p.DatagramsIn), count(p.DatagramsOut), count(p.DatagramErrors)))
}

// mostSpeed is more than the speed of any interface; the kernel reports larger numbers for unknown
// speeds.
const mostSpeed = 1e13

func wrongStyle(f float64) screen.Style {
	if f > 0 {
		return screen.Bad
	}
	return screen.Dim
}

// drawPressure draws how much work waits for each resource.
func (v *tables) drawPressure(body screen.Area) {
	s := v.film.now
	if why := s.Absent(model.PanelPressure); why != "" {
		in := body.Rule("Pressure", "")
		absent(in, why)
		in.Text(1, 2, screen.Dim, "The kernel measures how long work waits for a resource (PSI), from Linux 4.20 on, unless it was")
		in.Text(1, 3, screen.Dim, "started with psi=0 or made without it.")
		return
	}
	p := &s.Pressure
	rows := []struct {
		name   string
		st     *model.Stall
		full   bool
		series model.Series
	}{
		{"CPU", &p.CPU, false, model.PressCPU},
		{"Memory", &p.Memory, true, model.PressMemory},
		{"Disks", &p.IO, true, model.PressIO},
	}
	if p.IRQ.Full[0] >= 0 {
		rows = append(rows, struct {
			name   string
			st     *model.Stall
			full   bool
			series model.Series
		}{"Interrupts", &p.IRQ, true, model.PressIRQ})
	}
	h := body.H / len(rows)
	for i, r := range rows {
		n := h
		if i == len(rows)-1 {
			n = body.H - i*h
		}
		in := body.Rows(i*h, n).Rule(r.name, "")
		some := r.st.Some
		label := "some work waits"
		if r.series == model.PressIRQ {
			some, label = r.st.Full, "all work waits"
		}
		stallLine(in.Rows(0, 1), label, some)
		y := 1
		if r.full && r.series != model.PressIRQ {
			stallLine(in.Rows(1, 1), "all work waits", r.st.Full)
			y = 2
		}
		if v.meters.text {
			continue
		}
		g := in.Rows(y, in.H-y)
		most := g.Graph(v.film.values(r.series, "", g.W), 0.1, true, screen.Good)
		if g.H > 1 {
			g.Text(0, 0, screen.Dim, percent(most))
		}
	}
}

// stallLine draws the share of time in which work waits.
func stallLine(line screen.Area, label string, v [4]float64) {
	x := line.Text(0, 0, screen.Accent, label)
	x = max(x, 16)
	w := min(30, max(10, line.W/4))
	line.Bar(x, 0, w, []screen.Segment{{Share: v[0], Style: pressureStyle(v[0])}}, percent(v[0]), screen.Bold)
	line.Text(x+w+1, 0, screen.Dim, fmt.Sprintf("10s %s  1m %s  5m %s", percent(v[1]), percent(v[2]), percent(v[3])))
}

// drawCGroups draws a line for each control group, which opens with a second click.
func (v *tables) drawCGroups(body screen.Area, open func()) {
	s := v.film.now
	if len(s.CGroups) == 0 {
		in := body.Rule("Control groups", "")
		why := s.Absent(model.PanelCGroups)
		if why == "" {
			why = "there are no control groups at this time"
		}
		absent(in, why)
		return
	}
	l := &v.lists[CGroups]
	t := newTable(body, l, v.mouse, groupFields(s, func(i int) *model.CGroup { return &s.CGroups[i] }))
	rest := t.rest()
	body.Text(rest, 0, screen.Head, "CONTROL GROUP")
	v.rows(t, len(s.CGroups), func(row screen.Area, i int) {
		g := &s.CGroups[i]
		t.putGroup(row, 0, g)
		depth, name := 0, g.Path
		if g.Path != "/" && !l.sorted(t.fields) {
			depth = strings.Count(g.Path, "/")
			name = g.Path[strings.LastIndexByte(g.Path, '/')+1:]
			if i == 0 || !strings.HasPrefix(g.Path, strings.TrimSuffix(s.CGroups[i-1].Path, "/")+"/") && !siblingAbove(s, i) {
				name = g.Path // its parents are not listed
			}
		}
		row.Text(rest+2*min(depth, 20), 0, screen.Bold, name)
	}, func(int) { open() })
}

// siblingAbove reports whether the group above a control group is in the list.
func siblingAbove(s *model.Snapshot, i int) bool {
	path := s.CGroups[i].Path
	at := strings.LastIndexByte(path, '/')
	if at <= 0 {
		return true
	}
	for j := i - 1; j >= 0; j-- {
		if s.CGroups[j].Path == path[:at] {
			return true
		}
	}
	return false
}

// diskTable draws a line for each disk.
func (v *tables) diskTable(area screen.Area) {
	s := v.film.now
	of := func(value func(d *model.Disk) float64) func(int) float64 {
		return func(i int) float64 { return value(&s.Disks[i]) }
	}
	t := newTable(area, &v.lists[Disks], v.mouse, []field{
		{"DISK", 12, true, 0, nil, func(i int) string { return s.Disks[i].Name }},
		{"BUSY", 6, false, 0, of(func(d *model.Disk) float64 { return d.Busy }), nil},
		{"READ/s", 6, false, 0, of(func(d *model.Disk) float64 { return d.Read }), nil},
		{"WRIT/s", 6, false, 0, of(func(d *model.Disk) float64 { return d.Written }), nil},
		{"r/s", 5, false, 48, of(func(d *model.Disk) float64 { return d.Reads }), nil},
		{"w/s", 5, false, 48, of(func(d *model.Disk) float64 { return d.Writes }), nil},
		{"r_wait", 7, false, 66, of(func(d *model.Disk) float64 { return d.ReadWait }), nil},
		{"w_wait", 7, false, 66, of(func(d *model.Disk) float64 { return d.WriteWait }), nil},
		{"queue", 6, false, 72, of(func(d *model.Disk) float64 { return d.Queue }), nil},
	})
	rest := t.rest()
	if !v.meters.text {
		area.Text(rest, 0, screen.Head, "HISTORY OF BUSY")
	}
	v.rows(t, len(s.Disks), func(row screen.Area, i int) {
		d := &s.Disks[i]
		t.put(row, 0, screen.Bold, d.Name)
		t.put(row, 1, busyStyle(d.Busy), percent(d.Busy))
		t.put(row, 2, screen.In, perSecond(d.Read))
		t.put(row, 3, screen.Out, perSecond(d.Written))
		t.put(row, 4, screen.Normal, count(d.Reads))
		t.put(row, 5, screen.Normal, count(d.Writes))
		t.put(row, 6, screen.Normal, wait(d.ReadWait))
		t.put(row, 7, screen.Normal, wait(d.WriteWait))
		t.put(row, 8, screen.Normal, units(round(d.Queue), ""))
		if w := row.W - rest; w > 4 && !v.meters.text {
			row.Spark(rest, 0, w, v.film.values(model.DevBusy, d.Name, w), 1, screen.Good)
		}
	}, nil)
}

// interfaceTable draws a line for each interface of the network.
func (v *tables) interfaceTable(area screen.Area) {
	s := v.film.now
	of := func(value func(f *model.Interface) float64) func(int) float64 {
		return func(i int) float64 { return value(&s.Interfaces[i]) }
	}
	t := newTable(area, &v.lists[Network], v.mouse, []field{
		{"INTERFACE", 15, true, 0, nil, func(i int) string { return s.Interfaces[i].Name }},
		{"IN/s", 6, false, 0, of(func(f *model.Interface) float64 { return f.In }), nil},
		{"OUT/s", 6, false, 0, of(func(f *model.Interface) float64 { return f.Out }), nil},
		{"in p/s", 6, false, 48, of(func(f *model.Interface) float64 { return f.InPackets }), nil},
		{"outp/s", 6, false, 48, of(func(f *model.Interface) float64 { return f.OutPackets }), nil},
		{"errs/s", 6, false, 62, of(func(f *model.Interface) float64 { return f.InErrors + f.OutErrors }), nil},
		{"drop/s", 6, false, 62, of(func(f *model.Interface) float64 { return f.InDrops + f.OutDrops }), nil},
		{"SPEED", 7, false, 90, of(func(f *model.Interface) float64 { return f.Speed }), nil},
	})
	rest := t.rest()
	if !v.meters.text {
		area.Text(rest, 0, screen.Head, "HISTORY IN AND OUT")
	}
	v.rows(t, len(s.Interfaces), func(row screen.Area, i int) {
		f := &s.Interfaces[i]
		t.put(row, 0, screen.Bold, f.Name)
		t.put(row, 1, screen.In, perSecond(f.In))
		t.put(row, 2, screen.Out, perSecond(f.Out))
		t.put(row, 3, screen.Normal, count(f.InPackets))
		t.put(row, 4, screen.Normal, count(f.OutPackets))
		t.put(row, 5, wrongStyle(f.InErrors+f.OutErrors), count(f.InErrors+f.OutErrors))
		t.put(row, 6, wrongStyle(f.InDrops+f.OutDrops), count(f.InDrops+f.OutDrops))
		speed := unknown
		if f.Speed > 0 && f.Speed < mostSpeed {
			speed = count(f.Speed*8) + "b"
		}
		t.put(row, 7, screen.Dim, speed)
		if w := (row.W - rest - 1) / 2; w > 3 && !v.meters.text {
			row.Spark(rest, 0, w, v.film.values(model.IfIn, f.Name, w), 0, screen.In)
			row.Spark(rest+w+1, 0, w, v.film.values(model.IfOut, f.Name, w), 0, screen.Out)
		}
	}, nil)
}
