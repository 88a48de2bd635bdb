package ui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// A hit is a place that reacts to the mouse.
type hit struct {
	area  screen.Area
	click func()
	wheel func(n int)
}

// on makes a place react to a click.
func (a *App) on(area screen.Area, click func()) {
	if area.W > 0 && area.H > 0 {
		a.hits = append(a.hits, hit{area: area, click: click})
	}
}

// onWheel makes a place react to the wheel.
func (a *App) onWheel(area screen.Area, wheel func(n int)) {
	a.hits = append(a.hits, hit{area: area, wheel: wheel})
}

// wheelRows is how many lines the wheel moves.
const wheelRows = 3

// Click handles a click at a place of the screen. The area drawn last is on top.
func (a *App) Click(x, y int) {
	for i := len(a.hits) - 1; i >= 0; i-- {
		if h := &a.hits[i]; h.click != nil && h.area.Has(x, y) {
			h.click()
			break
		}
	}
	a.supply()
}

// Wheel handles the mouse wheel at a place of the screen, n being 1 for down and -1 for up.
func (a *App) Wheel(x, y, n int) {
	for i := len(a.hits) - 1; i >= 0; i-- {
		if h := &a.hits[i]; h.wheel != nil && h.area.Has(x, y) {
			h.wheel(wheelRows * n)
			return
		}
	}
}

// The least size of a useful screen.
const (
	leastWidth  = 20
	leastHeight = 5
)

// Draw draws the screen, and returns the position of the cursor, if it shows.
func (a *App) Draw(g *screen.Grid) (x, y int, shows bool) {
	g.Resize(a.w, a.h)
	g.SetASCII(a.cfg.ASCII)
	a.hits = a.hits[:0]
	all := g.All()
	if a.w < leastWidth || a.h < leastHeight {
		all.Text(0, 0, screen.Warn, "too small")
		return 0, 0, false
	}
	a.drawHeader(all.Rows(0, 1))
	a.drawTabs(all.Rows(1, 1))
	bottom := all.H - 1
	if a.cfg.Host.Archive || a.tapeAt >= 0 {
		bottom--
		a.drawTimeLine(all.Rows(bottom, 1))
	}
	body := all.Rows(2, bottom-2)
	a.drawBody(body)
	footer := all.Rows(all.H-1, 1)
	if a.prompt != nil {
		x, y, shows = a.drawPrompt(footer, body)
	} else {
		a.drawFooter(footer)
	}
	if a.menu != nil {
		a.drawMenu(body)
	}
	if a.help {
		a.drawHelp(body)
	}
	return x, y, shows
}

func (a *App) drawBody(body screen.Area) {
	switch {
	case a.now == nil && a.lost != nil:
		a.drawLost(body)
	case a.now == nil && a.atEnd:
		body.Text(1, 1, screen.Warn, "The archive has nothing in this time window.")
	case a.now == nil && a.failed != "":
		body.Text(1, 1, screen.Bad, a.failed)
	case a.now == nil:
		body.Text(1, 1, screen.Dim, "The first sample is on its way.")
	case a.now.Empty():
		body.Text(1, 1, screen.Warn, "Nothing is recorded at this time.")
		body.Text(1, 3, screen.Dim, "Space, the arrows and b lead on; the line below shows where this is.")
	case a.detail != 0:
		a.drawDetail(body)
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
		a.drawCGroups(body)
	case Disks:
		a.drawDisks(body)
	case Network:
		a.drawNetwork(body)
	case Pressure:
		a.drawPressure(body)
	case Charts:
		a.drawCharts(body)
	}
}

func (a *App) drawLost(body screen.Area) {
	body.Text(1, 1, screen.Bad, "The collector does not answer.")
	body.Text(1, 2, screen.Normal, a.lost.Error())
	body.Text(1, 4, screen.Dim, "It is tried again each second; q leaves.")
}

// drawHeader draws the name of the host, and how the screen follows it.
func (a *App) drawHeader(line screen.Area) {
	h := &a.cfg.Host
	end := a.drawState(line)
	left := line.Part(0, 0, end-1, 1)
	x := left.Text(0, 0, screen.Title, "pcp top ")
	x = left.Text(x, 0, screen.Bold, h.Name)
	var facts []string
	if a.now != nil {
		if u := a.now.Uptime; !math.IsNaN(u) {
			facts = append(facts, "up "+since(u))
		}
		if l := a.now.Load; !math.IsNaN(l[0]) {
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

// drawState draws the time at the right end of the header, and returns its start.
func (a *App) drawState(line screen.Area) int {
	type part struct {
		style screen.Style
		text  string
	}
	var parts []part
	glyph := func(unicode, ascii string) string {
		if line.ASCII() {
			return ascii
		}
		return unicode
	}
	switch {
	case a.text:
	case a.lost != nil:
		parts = append(parts, part{screen.Bad, fmt.Sprintf("no answer for %s", interval(a.cfg.Now().Sub(a.lostAt).Round(time.Second)))})
	case a.failed != "":
		parts = append(parts, part{screen.Bad, a.failed})
	case a.cfg.Host.Archive && a.atEnd:
		parts = append(parts, part{screen.Paused, "end of archive"})
	case a.cfg.Host.Archive && a.paused:
		parts = append(parts, part{screen.Paused, fmt.Sprintf("%spaused %g/s", glyph("⏸ ", ""), speeds[a.speed])})
	case a.cfg.Host.Archive:
		parts = append(parts, part{screen.Replay, fmt.Sprintf("%s %g/s", glyph("▶", ">"), speeds[a.speed])})
	case a.tapeAt >= 0:
		parts = append(parts, part{screen.Paused, glyph("⏸ ", "") + "paused"})
	default:
		parts = append(parts, part{screen.Live, glyph("● ", "") + "live " + interval(a.interval)})
	}
	if a.cfg.Host.Archive {
		parts = append(parts, part{screen.Dim, "step " + interval(a.interval)})
	}
	if a.now != nil {
		at := a.now.Time.Time().In(a.cfg.Loc)
		layout := "15:04:05"
		if a.cfg.Host.Archive && line.W >= 100 || line.W >= 120 {
			layout = "2006-01-02 15:04:05 MST"
		} else if a.cfg.Host.Archive {
			layout = "01-02 15:04:05"
		}
		parts = append(parts, part{screen.Bold, at.Format(layout)})
	}
	width := 0
	for _, p := range parts {
		width += screen.Width(p.text, line.W) + 2
	}
	start := max(line.W/4, line.W-width+2)
	x := start
	for _, p := range parts {
		x = line.Text(x, 0, p.style, p.text) + 2
	}
	return start
}

// drawTabs draws the names of the views.
func (a *App) drawTabs(line screen.Area) {
	x := 0
	for v := range numViews {
		title := views[v].title
		if line.W < 77 && v != a.view {
			title = title[:min(4, len(title))]
		}
		text := fmt.Sprintf(" %d %s ", v+1, title)
		style := screen.Tab
		if v == a.view {
			style = screen.TabOn
		}
		end := line.Text(x, 0, style, text)
		a.on(line.Part(x, 0, end-x, 1), func() { a.setView(v) })
		x = end
	}
}

// drawTimeLine draws the position of the sample in the archive, or in the tape of a live source.
func (a *App) drawTimeLine(line screen.Area) {
	first, last := a.cfg.Host.First, a.cfg.Host.Last
	if !a.cfg.Host.Archive {
		first, last = a.tape.At(0).Time, a.tape.At(a.tape.Len()-1).Time
	}
	layout := "15:04:05"
	from, to := first.Time().In(a.cfg.Loc), last.Time().In(a.cfg.Loc)
	if last.Sub(first) > 86400 || from.Day() != to.Day() {
		layout = "01-02 15:04"
	}
	left, right := from.Format(layout), to.Format(layout)
	line.Text(0, 0, screen.Dim, left)
	line.TextRight(line.W, 0, screen.Dim, right)
	bar := line.Part(len(left)+1, 0, line.W-len(left)-len(right)-2, 1)
	if bar.W < 5 || a.now == nil {
		return
	}
	rule, knob, done := '─', '●', '━'
	if line.ASCII() {
		rule, knob, done = '-', 'O', '='
	}
	bar.Fill(0, 0, bar.W, screen.Border, rule)
	span := last.Sub(first)
	at := 0
	if span > 0 {
		at = int(math.Round(a.now.Time.Sub(first) / span * float64(bar.W-1)))
	}
	at = max(0, min(bar.W-1, at))
	bar.Fill(0, 0, at, screen.Accent, done)
	bar.Rune(at, 0, screen.Replay, knob)
	for x := range bar.W {
		a.on(bar.Part(x, 0, 1, 1), func() {
			a.jump(first.Add(seconds(span * float64(x) / float64(max(1, bar.W-1)))))
		})
	}
}

// seconds returns a number of seconds as a duration.
func seconds(f float64) time.Duration {
	const most = float64(1<<63-1) / float64(time.Second) / 2
	return time.Duration(max(-most, min(most, f)) * float64(time.Second))
}

// drawFooter draws the most used keys.
func (a *App) drawFooter(line screen.Area) {
	if a.question != nil {
		x := line.Text(0, 0, screen.Warn, a.question.text)
		x = line.Text(x+1, 0, screen.Key, "y")
		x = line.Text(x, 0, screen.KeyText, "Yes")
		x = line.Text(x+1, 0, screen.Key, "n")
		line.Text(x, 0, screen.KeyText, "No")
		return
	}
	if a.menu != nil {
		x := 0
		for _, k := range [][2]string{{"Up/Down", "Choose"}, {"Enter", "Take"}, {"Esc", "Close"}} {
			x = line.Text(x, 0, screen.Key, k[0])
			x = line.Text(x, 0, screen.KeyText, k[1]) + 1
		}
		return
	}
	if a.cfg.Now().Before(a.noteEnds) {
		line.Text(0, 0, screen.Warn, a.note)
		return
	}
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
		a.on(line.Part(x, 0, end-x, 1), func() { a.quit = true })
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
		a.on(line.Part(x, 0, end-x, 1), func() { b.do(a) })
		x = end + gap
	}
	leave(x)
}

// drawPrompt draws the typed text, and returns the position of the cursor.
func (a *App) drawPrompt(line, body screen.Area) (x, y int, shows bool) {
	p := a.prompt
	at := line.Text(0, 0, screen.Key, p.label+": ")
	text := p.text
	for screen.Width(text, line.W) > max(1, line.W-at-1) { // the end matters
		_, rest, _ := cutFirst(text)
		text = rest
	}
	end := line.Text(at, 0, screen.Bold, text)
	x, y, shows = line.X+min(end, line.W-1), line.Y, true
	if p.err != "" {
		line.Text(end+2, 0, screen.Bad, p.err)
	}
	if !p.complete {
		return x, y, shows
	}
	n := min(len(p.offered), max(1, min(10, body.H-2)))
	if a.names == nil {
		what := "looking for the names of metrics"
		if a.namesErr != nil {
			what = a.namesErr.Error()
		}
		line.Text(end+2, 0, screen.Dim, what)
	}
	top := max(0, p.at-n+1)
	w := min(body.W, 64)
	list := body.Part(0, body.H-n, w, n)
	list.Clear()
	for i := range n {
		style := screen.Normal
		if top+i == p.at {
			style = screen.Selected
			list.Fill(0, i, w, style, ' ')
		}
		list.Text(1, i, style, p.offered[top+i])
	}
	return x, y, shows
}

func cutFirst(s string) (first, rest string, ok bool) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:], true
		}
	}
	return s, "", false
}

// drawMenu draws a list to choose from.
func (a *App) drawMenu(body screen.Area) {
	m := a.menu
	w := screen.Width(m.title, 60) + 8
	for _, item := range m.items {
		w = max(w, screen.Width(item, 60)+4)
	}
	h := min(len(m.items)+2, body.H)
	x := min(4, max(0, body.W-w))
	frame := body.Part(x, 0, w, h)
	frame.Clear()
	in := frame.Box(m.title, "")
	top := max(0, m.at-in.H+1)
	for y := 0; y < in.H && top+y < len(m.items); y++ {
		i := top + y
		style := screen.Normal
		if i == m.at {
			style = screen.Selected
			in.Fill(0, y, in.W, style, ' ')
		}
		in.Text(1, y, style, m.items[i])
		a.on(in.Part(0, y, in.W, 1), func() { a.menu = nil; m.accept(i) })
	}
	a.onWheel(frame, func(n int) { m.at = max(0, min(len(m.items)-1, m.at+n/wheelRows)) })
}

// drawHelp draws a description of the keys.
func (a *App) drawHelp(body screen.Area) {
	w := min(body.W, 78)
	frame := body.Part((body.W-w)/2, 0, w, body.H)
	frame.Clear()
	in := frame.Box("Keys", "↑↓ more, any other key closes")
	type line struct{ key, text string }
	var all []line
	section := func(title string, takes func(b *binding) bool) {
		all = append(all, line{"", title})
		for i := range keyTable() {
			if b := &keyTable()[i]; b.help != "" && takes(b) {
				all = append(all, line{b.show, b.help})
			}
		}
	}
	section("Everywhere", func(b *binding) bool { return b.in == everywhere })
	section("Processes", func(b *binding) bool { return b.in == withProcesses })
	section("Cgroups", func(b *binding) bool { return b.in == only(CGroups) })
	section("Chart", func(b *binding) bool { return b.in == only(Charts) })
	all = append(all, line{"", "Colours of bars"})
	all = append(all, line{"CPU", "user, nice, system, interrupts, waiting for devices"}, line{"Mem", "programs, buffers, cache"})
	a.helpTop = max(0, min(a.helpTop, len(all)-in.H))
	for y := 0; y < in.H && a.helpTop+y < len(all); y++ {
		l := all[a.helpTop+y]
		if l.key == "" {
			in.Text(1, y, screen.Title, l.text)
			continue
		}
		show := l.key
		if in.ASCII() {
			show = strings.NewReplacer("←→", "<- ->", "↑↓", "Up Down").Replace(show)
		}
		in.TextIn(2, y, 11, screen.Bold, show)
		in.Text(14, y, screen.Normal, l.text)
	}
	a.onWheel(frame, func(n int) { a.helpTop = max(0, a.helpTop+n) })
	a.on(frame, func() { a.help = false })
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
