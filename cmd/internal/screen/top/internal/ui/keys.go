package ui

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/pcptime"
)

// A binding maps a key to an action.
type binding struct {
	keys  []string // as terminals name them
	show  string   // in the help and the footer
	short string   // in the footer, "" if it is not there
	help  string   // "" if it is not in the help
	in    viewSet  // where
	do    func(a *App)
}

// A viewSet has views by bit.
type viewSet uint

const everywhere viewSet = 0

func only(list ...View) (s viewSet) {
	for _, v := range list {
		s |= 1 << v
	}
	return s
}

// withProcesses are the views with a table of processes.
const withProcesses viewSet = 1<<Overview | 1<<Processes

// bindings is the table of keys, from which the help and the footer are made too. The first match counts.
func bindings() []binding {
	list := []binding{
		{keys: []string{"?", "h", "f1"}, show: "?", short: "Help", help: "this help", do: func(a *App) { a.help, a.helpTop = true, 0 }},
		{keys: []string{"q", "f10", "ctrl+c"}, show: "q", help: "leave (also ctrl-C, F10); ctrl-Z goes to the shell", do: func(a *App) { a.quit = true }},
		{keys: []string{"ctrl+z"}, do: func(a *App) { a.suspend = true }},
		{keys: []string{"tab"}, show: "Tab, 1-7", help: "the next view; a view by its number", do: func(a *App) { a.setView((a.view + 1) % numViews) }},
		{keys: []string{"shift+tab"}, do: func(a *App) { a.setView((a.view + numViews - 1) % numViews) }},
		{keys: []string{"space", "p"}, show: "Space", short: "Pause", help: "pause, and go on", do: (*App).togglePause},
		{keys: []string{"left", ","}, show: "←→", short: "Step", help: "a sample back, forward", do: func(a *App) { a.step(-1) }},
		{keys: []string{"right", "."}, do: func(a *App) { a.step(1) }},
		{keys: []string{"shift+left", "["}, show: "[ ]", help: "ten samples back, forward", do: func(a *App) { a.step(-10) }},
		{keys: []string{"shift+right", "]"}, do: func(a *App) { a.step(10) }},
		{keys: []string{"b", "g"}, show: "b", short: "Time", help: "jump to a time: 14:30, -10min, +1h, start, end", do: (*App).askTime},
		{keys: []string{"+", "="}, show: "+ -", help: "faster, slower", do: func(a *App) { a.faster(1) }},
		{keys: []string{"-", "_"}, do: func(a *App) { a.faster(-1) }},
		{keys: []string{"}"}, show: "{ }", help: "shorter, longer steps of a replay", do: func(a *App) { a.longer(1) }},
		{keys: []string{"{"}, do: func(a *App) { a.longer(-1) }},
		{keys: []string{"i"}, show: "i", help: "type the interval, of a replay the step", do: (*App).askInterval},
		{keys: []string{"esc"}, show: "Esc", help: "close; clear filters; back to the newest sample", do: (*App).escape},

		{keys: []string{"up"}, show: "↑↓", help: "choose a line (also PgUp, PgDn, Home, End and the wheel)", do: func(a *App) { a.move(-1) }},
		{keys: []string{"down"}, do: func(a *App) { a.move(1) }},
		{keys: []string{"pgup"}, do: func(a *App) { a.move(-a.page()) }},
		{keys: []string{"pgdown"}, do: func(a *App) { a.move(a.page()) }},
		{keys: []string{"home"}, do: func(a *App) { a.move(-1 << 30) }},
		{keys: []string{"end"}, do: func(a *App) { a.move(1 << 30) }},

		{keys: []string{"enter"}, show: "Enter", help: "all about the process", in: withProcesses, do: (*App).open},
		{keys: []string{"enter"}, show: "Enter", short: "Processes", help: "the processes of the control group", in: only(CGroups), do: (*App).openCGroup},
		{keys: []string{"/", "\\", "f3", "f4"}, show: "/", short: "Filter", help: "only commands with a text, or one of several: ssh|cron", in: withProcesses, do: (*App).askFilter},
		{keys: []string{"u"}, show: "u", short: "User", help: "only processes of a user", in: withProcesses, do: (*App).chooseOwner},
		{keys: []string{"t", "f5"}, show: "t", short: "Tree", help: "processes below their parents", in: withProcesses, do: func(a *App) { a.sel.Tree = !a.sel.Tree; a.arrange() }},
		{keys: []string{"x"}, show: "x", help: "fold a branch of the tree, and unfold it", in: withProcesses, do: (*App).fold},
		{keys: []string{"s", "f6"}, show: "s", short: "Sort", help: "choose the column to sort by", in: withProcesses, do: (*App).chooseSort},
		{keys: []string{"<"}, show: "< >", help: "sort by the column on the left, on the right", in: withProcesses, do: func(a *App) { a.sortBeside(-1) }},
		{keys: []string{">"}, in: withProcesses, do: func(a *App) { a.sortBeside(1) }},
		{keys: []string{"R", "I"}, show: "R", help: "reverse the order", in: withProcesses, do: func(a *App) { a.sel.Reverse = !a.sel.Reverse; a.arrange() }},
		{keys: []string{"P"}, show: "P M T N", help: "sort by processor, memory, time, PID", in: withProcesses, do: func(a *App) { a.sortBy(model.ByCPU) }},
		{keys: []string{"M"}, in: withProcesses, do: func(a *App) { a.sortBy(model.ByMemory) }},
		{keys: []string{"T"}, in: withProcesses, do: func(a *App) { a.sortBy(model.ByTime) }},
		{keys: []string{"N"}, in: withProcesses, do: func(a *App) { a.sortBy(model.ByPID) }},
		{keys: []string{"K"}, show: "K", help: "without threads of the kernel", in: withProcesses, do: func(a *App) { a.sel.NoKernel = !a.sel.NoKernel; a.arrange() }},
		{keys: []string{"c"}, show: "c", help: "the name of the program, or the whole command", in: withProcesses, do: func(a *App) { a.command = !a.command }},
		{keys: []string{"k", "f9"}, show: "k", short: "Kill", help: "send a signal to the process, after a question", in: withProcesses, do: (*App).chooseSignal},
		{keys: []string{"r", "f7", "f8"}, show: "r", help: "change the nice value, after a question", in: withProcesses, do: (*App).askNice},

		{keys: []string{"m", "/", "enter"}, show: "m", short: "Metric", help: "chart a metric by its name; Tab completes it", in: only(Charts), do: (*App).askMetric},
		{keys: []string{"d", "delete", "x"}, show: "d", short: "Drop", help: "take the chart away that is chosen", in: only(Charts), do: (*App).dropChart},

		{keys: []string{"C", "f2"}, show: "C", help: "other colours", do: (*App).nextTheme},
		{keys: []string{"ctrl+l"}, do: func(*App) {}},
	}
	for v := range numViews {
		list = append(list, binding{keys: []string{strconv.Itoa(int(v) + 1)}, do: func(a *App) { a.setView(v) }})
	}
	return list
}

// fits reports whether a binding is for a view.
func (b *binding) fits(v View) bool { return b.in == everywhere || b.in&(1<<v) != 0 }

// Key handles a key. The name is that of Bubble Tea, as "a", "enter" or "ctrl+c"; text is the text that it
// types.
func (a *App) Key(name, text string) {
	if name == "ctrl+c" {
		a.quit = true
		return
	}
	if name == "ctrl+z" {
		a.suspend = true
		return
	}
	switch {
	case a.question != nil:
		a.answer(name)
	case a.prompt != nil:
		a.promptKey(name, text)
	case a.menu != nil:
		a.menuKey(name)
	case a.help:
		a.helpKey(name)
	default:
		for _, b := range keyTable() {
			if b.fits(a.view) && slices.Contains(b.keys, name) {
				b.do(a)
				break
			}
		}
	}
	a.supply()
}

func (a *App) helpKey(name string) {
	switch name {
	case "up":
		a.helpTop = max(0, a.helpTop-1)
	case "down":
		a.helpTop++
	case "pgup":
		a.helpTop = max(0, a.helpTop-10)
	case "pgdown", "space":
		a.helpTop += 10
	default:
		a.help = false
		if name == "q" {
			return
		}
	}
}

func (a *App) setView(v View) {
	a.view, a.detail = v, 0
}

func (a *App) nextTheme() {
	names := screen.Themes()
	i := slices.Index(names, a.theme.Name)
	a.theme, _ = screen.NewTheme(names[(i+1)%len(names)])
	a.say("colours: %s", a.theme.Name)
}

// escape closes the open page, or clears a filter or a selection, one at a time.
func (a *App) escape() {
	switch {
	case a.detail != 0:
		a.detail = 0
	case a.sel.Filter != "" || a.sel.Owner != "" || a.sel.CGroup != "":
		a.sel.Filter, a.sel.Owner, a.sel.CGroup = "", "", ""
		a.arrange()
	case a.tapeAt >= 0:
		a.resume()
	case a.pid != 0:
		a.pid, a.procs = 0, list{}
	}
}

// togglePause pauses or resumes the display.
func (a *App) togglePause() {
	if a.paused || a.tapeAt >= 0 {
		a.resume()
		return
	}
	if a.cfg.Host.Archive && a.atEnd {
		a.say("the archive ends here")
		return
	}
	a.paused = true
	if a.cfg.Host.Archive {
		a.due = time.Time{}
		return
	}
	a.tapeAt = a.tape.Len() - 1
	a.show()
}

func (a *App) resume() {
	a.paused, a.tapeAt = false, -1
	if a.cfg.Host.Archive {
		if !a.inflight {
			a.schedule()
		}
		return
	}
	a.show()
}

// step shows the sample n steps away, and pauses.
func (a *App) step(n int) {
	if a.now == nil {
		return
	}
	if !a.cfg.Host.Archive {
		a.stepTape(n)
		return
	}
	a.paused, a.due = true, time.Time{}
	if a.inflight {
		return
	}
	switch n {
	case 1:
		a.want = OpNext
	case -1:
		a.want = OpBack
	default:
		a.seek(a.now.Time.Add(time.Duration(n) * a.interval))
	}
}

func (a *App) stepTape(n int) {
	if a.tape.Len() == 0 {
		return
	}
	newest := a.tape.Len() - 1
	at := a.tapeAt
	if at < 0 {
		at = newest
	}
	switch at += n; {
	case at < 0:
		at = 0
		a.say("nothing older is kept; archives have more: pcp replay -1h top")
	case at > newest:
		at = newest
	}
	a.tapeAt, a.paused = at, true
	a.show()
}

// seek makes a replay jump.
func (a *App) seek(at pcp.Timestamp) {
	h := &a.cfg.Host
	if at.Compare(h.Last) > 0 {
		at = h.Last
	}
	if at.Compare(h.First) < 0 {
		at = h.First
	}
	a.want, a.seekAt, a.past = OpSeek, at, true
}

// jump shows the sample of a time.
func (a *App) jump(at pcp.Timestamp) {
	if a.cfg.Host.Archive {
		a.atEnd = false
		a.seek(at)
		return
	}
	if a.tape.Len() == 0 {
		return
	}
	a.tapeAt, a.paused = a.tape.Find(at), true
	if at.Compare(a.tape.At(0).Time) < 0 {
		a.say("nothing older is kept; archives have more: pcp replay -1h top")
	}
	a.show()
}

func (a *App) faster(n int) {
	if a.cfg.Host.Archive {
		a.speed = max(0, min(len(speeds)-1, a.speed+n))
		if !a.inflight && a.want == OpNone && a.playing() {
			a.schedule()
		}
		return
	}
	a.setInterval(beside(liveIntervals, a.interval, -n))
}

func (a *App) longer(n int) {
	if !a.cfg.Host.Archive {
		a.faster(-n)
		return
	}
	a.setInterval(beside(replayIntervals, a.interval, n))
}

// beside returns the value of a list that is n places after d, or the nearest.
func beside(list []time.Duration, d time.Duration, n int) time.Duration {
	i, found := slices.BinarySearch(list, d)
	if !found && n > 0 {
		i--
	}
	return list[max(0, min(len(list)-1, i+n))]
}

func (a *App) setInterval(d time.Duration) {
	a.interval = d
	if a.cfg.Host.Archive {
		if a.now != nil {
			a.want, a.seekAt, a.past = OpSeek, a.now.Time, true
		}
		return
	}
	a.started = a.cfg.Now()
	if !a.inflight && a.want == OpNone && a.lost == nil {
		a.schedule()
	}
}

// parseTime reads a time as users type it, relative to the time shown.
func (a *App) parseTime(text string) (pcp.Timestamp, error) {
	h := &a.cfg.Host
	first, last := h.First, h.Last
	if !h.Archive && a.tape.Len() > 0 {
		first, last = a.tape.At(0).Time, a.tape.At(a.tape.Len()-1).Time
	}
	now := last
	if a.now != nil {
		now = a.now.Time
	}
	text = strings.TrimSpace(text)
	switch text {
	case "start", "begin":
		return first, nil
	case "end", "now":
		return last, nil
	}
	if sign, rest := text[:min(1, len(text))], text[min(1, len(text)):]; sign == "+" || sign == "-" {
		d, err := pcptime.ParseInterval(rest)
		if err != nil {
			return now, err
		}
		if sign == "-" {
			d = -d
		}
		return now.Add(d), nil
	}
	// A time of day is on the day shown.
	if clock, err := time.ParseInLocation("15:04:05", text, a.cfg.Loc); err == nil {
		return onDay(now, clock, a.cfg.Loc), nil
	}
	if clock, err := time.ParseInLocation("15:04", text, a.cfg.Loc); err == nil {
		return onDay(now, clock, a.cfg.Loc), nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, a.cfg.Loc); err == nil {
			return pcp.TimestampOf(t), nil
		}
	}
	return pcptime.ParseTime("@"+strings.TrimPrefix(text, "@"), first, last, a.cfg.Loc)
}

func onDay(day pcp.Timestamp, clock time.Time, loc *time.Location) pcp.Timestamp {
	d := day.Time().In(loc)
	return pcp.TimestampOf(time.Date(d.Year(), d.Month(), d.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, loc))
}

// keyTable is bindings, made once.
var keyTable = sync.OnceValue(bindings)
