package ui

import (
	"slices"
	"strconv"
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
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

// everywhereBut returns all views but one.
func everywhereBut(v View) viewSet { return (1<<numViews - 1) &^ (1 << v) }

// withProcesses are the views with a table of processes.
const withProcesses viewSet = 1<<Overview | 1<<Processes

// bindings is the table of keys, from which the help and the footer are made too. The first match counts.
func bindings() []binding {
	list := []binding{
		{keys: []string{"?", "h", "f1"}, show: "?", short: "Help", help: "this help", do: func(a *App) { a.dialogs.help.show() }},
		{keys: []string{"q", "f10", "ctrl+c"}, show: "q", help: "leave (also ctrl-C, F10); ctrl-Z goes to the shell", do: func(a *App) { a.quit = true }},
		{keys: []string{"ctrl+z"}, do: func(a *App) { a.suspend = true }},
		{keys: []string{"tab"}, show: "Tab, 1-8", help: "the next view; a view by its number", do: func(a *App) { a.setView((a.view + 1) % numViews) }},
		{keys: []string{"shift+tab"}, do: func(a *App) { a.setView((a.view + numViews - 1) % numViews) }},
		{keys: []string{"space", "p"}, show: "Space", short: "Pause", help: "pause, and go on", do: func(a *App) { a.play.toggle() }},
		{keys: []string{"left", ","}, show: "←→", short: "Step", help: "a sample back, forward", do: func(a *App) { a.play.step(-1) }},
		{keys: []string{"right", "."}, do: func(a *App) { a.play.step(1) }},
		{keys: []string{"shift+left", "["}, show: "[ ]", help: "ten samples back, forward", do: func(a *App) { a.play.step(-10) }},
		{keys: []string{"shift+right", "]"}, do: func(a *App) { a.play.step(10) }},
		{keys: []string{"b", "g"}, show: "b", short: "Time", help: "jump to a time: 14:30, -10min, +1h, start, end", do: func(a *App) { a.dialogs.ask(a.play.askTime()) }},
		{keys: []string{"+", "="}, show: "+ -", help: "faster, slower", do: func(a *App) { a.play.faster(1) }},
		{keys: []string{"-", "_"}, do: func(a *App) { a.play.faster(-1) }},
		{keys: []string{"}"}, show: "{ }", help: "shorter, longer steps of a replay", do: func(a *App) { a.play.longer(1) }},
		{keys: []string{"{"}, do: func(a *App) { a.play.longer(-1) }},
		{keys: []string{"i"}, show: "i", help: "type the interval, of a replay the step", do: func(a *App) { a.dialogs.ask(a.play.askInterval()) }},
		{keys: []string{"esc"}, show: "Esc", help: "close; clear filters; back to the newest sample", do: (*App).escape},

		{keys: []string{"up"}, show: "↑↓", help: "choose a line (also PgUp, PgDn, Home, End and the wheel)", do: func(a *App) { a.move(-1) }},
		{keys: []string{"down"}, do: func(a *App) { a.move(1) }},
		{keys: []string{"pgup"}, do: func(a *App) { a.move(-a.page()) }},
		{keys: []string{"pgdown"}, do: func(a *App) { a.move(a.page()) }},
		{keys: []string{"home"}, do: func(a *App) { a.move(-1 << 30) }},
		{keys: []string{"end"}, do: func(a *App) { a.move(1 << 30) }},

		{keys: []string{"enter"}, show: "Enter", help: "all about the process", in: withProcesses, do: func(a *App) { a.procs.open() }},
		{keys: []string{"enter"}, show: "Enter", short: "Processes", help: "the processes of the control group", in: only(CGroups), do: (*App).openCGroup},
		{keys: []string{"enter"}, show: "Enter", short: "Processes", help: "the processes of the container", in: only(Containers), do: (*App).openContainer},
		{keys: []string{"/", "\\", "f3", "f4"}, show: "/", short: "Filter", help: "only commands with a text, or one of several: ssh|cron", in: withProcesses, do: func(a *App) { a.dialogs.ask(a.procs.askFilter()) }},
		{keys: []string{"u"}, show: "u", short: "User", help: "only processes of a user", in: withProcesses, do: func(a *App) { a.dialogs.menu = a.procs.chooseOwner() }},
		{keys: []string{"t", "f5"}, show: "t", short: "Tree", help: "processes below their parents", in: withProcesses, do: func(a *App) { a.procs.sel.Tree = !a.procs.sel.Tree; a.procs.arrange() }},
		{keys: []string{"x"}, show: "x", help: "fold a branch of the tree, and unfold it", in: withProcesses, do: func(a *App) { a.procs.fold() }},
		{keys: []string{"s", "f6"}, show: "s", short: "Sort", help: "choose the column to sort by", in: withProcesses, do: func(a *App) { a.dialogs.menu = a.procs.chooseSort() }},
		{keys: []string{"<"}, show: "< >", help: "sort by the column on the left, on the right", in: withProcesses, do: func(a *App) { a.procs.sortBeside(-1, a.w, a.view == Processes) }},
		{keys: []string{">"}, in: withProcesses, do: func(a *App) { a.procs.sortBeside(1, a.w, a.view == Processes) }},
		{keys: []string{"R", "I"}, show: "R", help: "reverse the order", in: withProcesses, do: func(a *App) { a.procs.sel.Reverse = !a.procs.sel.Reverse; a.procs.arrange() }},
		{keys: []string{"P"}, show: "P M T N", help: "sort by processor, memory, time, PID", in: withProcesses, do: func(a *App) { a.procs.sortBy(model.ByCPU) }},
		{keys: []string{"M"}, in: withProcesses, do: func(a *App) { a.procs.sortBy(model.ByMemory) }},
		{keys: []string{"T"}, in: withProcesses, do: func(a *App) { a.procs.sortBy(model.ByTime) }},
		{keys: []string{"N"}, in: withProcesses, do: func(a *App) { a.procs.sortBy(model.ByPID) }},
		{keys: []string{"K"}, show: "K", help: "without threads of the kernel", in: withProcesses, do: func(a *App) { a.procs.sel.NoKernel = !a.procs.sel.NoKernel; a.procs.arrange() }},
		{keys: []string{"H"}, show: "H", help: "threads too; in the page of a process, its threads", in: withProcesses, do: func(a *App) { a.procs.toggleThreads() }},
		{keys: []string{"c"}, show: "c", help: "the name of the program, or the whole command", in: withProcesses, do: func(a *App) { a.procs.command = !a.procs.command }},
		{keys: []string{"k", "f9"}, show: "k", short: "Kill", help: "send a signal to the process, after a question", in: withProcesses, do: func(a *App) { a.dialogs.menu = a.acts.chooseSignal(a.question) }},
		{keys: []string{"r", "f7", "f8"}, show: "r", help: "change the nice value, after a question", in: withProcesses, do: func(a *App) {
			if p, ok := a.acts.askNice(a.question); ok {
				a.dialogs.ask(p)
			}
		}},

		{keys: []string{"m", "/", "enter"}, show: "m", short: "Metric", help: "chart a metric by its name; Tab completes it", in: only(Charts), do: func(a *App) { a.dialogs.ask(a.charts.ask()) }},
		{keys: []string{"d", "delete", "x"}, show: "d", short: "Drop", help: "take the chart away that is chosen", in: only(Charts), do: func(a *App) { a.charts.drop() }},

		{keys: []string{"D"}, show: "D", short: "Diagnose", help: "find which resource is short, what takes it and what changed", do: (*App).diagnose},
		{keys: []string{"d"}, in: everywhereBut(Charts), do: (*App).diagnose},
		{keys: []string{"w"}, show: "w", short: "Changed", help: "find which metrics changed most, compared with the time before", do: (*App).changed},
		{keys: []string{"E"}, show: "E", help: "save the screen in a new file as text, its table as .csv", do: func(a *App) { a.dialogs.ask(a.askExport()) }},
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
	switch {
	case name == "ctrl+c":
		a.quit = true
		return
	case name == "ctrl+z":
		a.suspend = true
		return
	case a.dialogs.key(name, text):
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

// Paste adds a text to the typed text.
func (a *App) Paste(text string) {
	if p := a.dialogs.prompt; p != nil {
		p.typed(text)
	}
}

// Click handles a click at a place of the screen.
func (a *App) Click(x, y int) {
	a.mouse.press(x, y)
	a.mouse.click(x, y)
	a.supply()
}

// Drag handles the movement of the mouse, whose button is held, to a column of the screen.
func (a *App) Drag(x int) { a.mouse.drag(x) }

// Release handles the end of a drag.
func (a *App) Release() {
	if a.mouse.held {
		a.mouse.held = false
		a.play.dropped()
	}
}

// Wheel handles the mouse wheel at a place of the screen, n being 1 for down and -1 for up.
func (a *App) Wheel(x, y, n int) { a.mouse.wheel(x, y, n) }

func (a *App) setView(v View) {
	a.view, a.procs.detail = v, 0
}

func (a *App) nextTheme() {
	names := screen.Themes()
	i := slices.Index(names, a.theme.Name)
	a.theme, _ = screen.NewTheme(names[(i+1)%len(names)])
	a.dialogs.note.say("colours: %s", a.theme.Name)
}

// escape closes the open page, or clears a filter or a selection, one at a time.
func (a *App) escape() {
	switch {
	case a.procs.escape():
	case a.film.past():
		a.play.resume()
	default:
		a.procs.first()
	}
}

// page is how far PgUp and PgDn move.
func (a *App) page() int { return max(1, a.h-8) }

// move moves the cursor of the view.
func (a *App) move(n int) {
	switch {
	case a.procs.detail != 0:
	case withProcesses&(1<<a.view) != 0:
		a.procs.moveRows(n)
	case a.view == Charts:
		a.charts.move(n)
	default:
		a.tables.move(a.view, n)
	}
}

// openCGroup shows the processes of the control group that is chosen.
func (a *App) openCGroup() {
	if g := a.tables.group(); g != nil {
		a.procs.within(g.Path)
		a.setView(Processes)
	}
}

// openContainer shows the processes of the container that is chosen.
func (a *App) openContainer() {
	c := a.tables.container()
	switch {
	case c == nil:
	case c.CGroup.Path == "":
		a.dialogs.note.say("the control group of %s is not known", c.Name)
	default:
		a.procs.within(c.CGroup.Path)
		a.setView(Processes)
	}
}

// question opens a question.
func (a *App) question(q *question) { a.dialogs.question = q }

// keyTable is bindings, made once.
var keyTable = sync.OnceValue(bindings)
