package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/pcptime"
)

// maxTyped limits the length of a text in a prompt.
const maxTyped = 500

// A prompt is a line that the user types.
type prompt struct {
	label string
	text  string
	err   string
	// Accept is called with the text when the user is done; an error keeps the prompt open. Change, unless it is nil, is
	// called with each change, and with the original text if the user gives up.
	accept func(text string) error
	change func(text string)
	first  string

	complete bool     // names of metrics
	offered  []string // that fit
	at       int      // of offered, -1 for the typed text
}

// A menu is a list from which the user chooses.
type menu struct {
	title  string
	items  []string
	at     int
	accept func(i int)
}

// A question must be confirmed.
type question struct {
	text string
	yes  func()
}

// An Action is an action on a process of this host.
type Action struct {
	PID    int32
	Name   string  // of the program, which must not have changed
	Start  float64 // in seconds since the host started; NaN if that is not known
	Signal string  // "TERM", or "" for a nice value
	Nice   int
}

// Action returns, once, the action that the user has requested.
func (a *App) Action() (Action, bool) {
	if a.action == nil {
		return Action{}, false
	}
	act := *a.action
	a.action = nil
	return act, true
}

// Acted shows the result of an action.
func (a *App) Acted(act Action, err error) {
	what := "nice value of " + strconv.Itoa(int(act.PID))
	if act.Signal != "" {
		what = "SIG" + act.Signal + " to " + strconv.Itoa(int(act.PID))
	}
	a.refresh = true
	if err != nil {
		a.say("%s: %v", what, err)
		return
	}
	if act.Signal != "" {
		a.say("%s: sent", what)
	} else {
		a.say("%s: %d", what, act.Nice)
	}
}

func (a *App) ask(p prompt) {
	p.first, p.at = p.text, -1
	a.prompt = &p
	a.offer()
}

// Paste adds a text to the typed text.
func (a *App) Paste(text string) {
	if a.prompt != nil {
		a.typed(text)
	}
}

func (a *App) promptKey(name, text string) {
	p := a.prompt
	switch name {
	case "esc":
		a.prompt = nil
		if p.change != nil {
			p.change(p.first)
		}
		return
	case "enter":
		if p.at >= 0 && p.at < len(p.offered) {
			p.text = p.offered[p.at]
		}
		if err := p.accept(strings.TrimSpace(p.text)); err != nil {
			p.err = err.Error()
			return
		}
		if a.prompt == p {
			a.prompt = nil
		}
		return
	case "backspace", "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(p.text)
		p.text = p.text[:len(p.text)-n]
	case "ctrl+w":
		p.text = p.text[:strings.LastIndexAny(strings.TrimRight(p.text, " ."), " .")+1]
	case "ctrl+u":
		p.text = ""
	case "up":
		p.at = max(-1, p.at-1)
		return
	case "down":
		p.at = min(len(p.offered)-1, p.at+1)
		return
	case "tab":
		a.completeName()
		return
	default:
		if name == "space" && text == "" {
			text = " "
		}
		a.typed(text)
		return
	}
	a.changed()
}

// typed adds characters to a prompt, but no control characters.
func (a *App) typed(text string) {
	p := a.prompt
	added := false
	for _, r := range text {
		if unicode.IsPrint(r) && len(p.text) < maxTyped {
			p.text += string(r)
			added = true
		}
	}
	if added {
		a.changed()
	}
}

func (a *App) changed() {
	p := a.prompt
	p.err, p.at = "", -1
	if p.change != nil {
		p.change(p.text)
	}
	a.offer()
}

// maxOffered is how many names are offered.
const maxOffered = 200

// offer finds the names of metrics that match the typed text: first those that start with it, then those that
// contain it.
func (a *App) offer() {
	p := a.prompt
	if p == nil || !p.complete {
		return
	}
	if a.names == nil {
		a.wantNames = true
	}
	p.offered = p.offered[:0]
	word, _, _ := strings.Cut(p.text, "[")
	if strings.Contains(p.text, "[") {
		return
	}
	for _, name := range a.names {
		if strings.HasPrefix(name, word) && len(p.offered) < maxOffered {
			p.offered = append(p.offered, name)
		}
	}
	if word == "" {
		return
	}
	for _, name := range a.names {
		if len(p.offered) == maxOffered {
			break
		}
		if !strings.HasPrefix(name, word) && strings.Contains(name, word) {
			p.offered = append(p.offered, name)
		}
	}
}

// completeName completes the typed text to the longest common prefix of the names that start with it, or
// to the chosen name.
func (a *App) completeName() {
	p := a.prompt
	if !p.complete || len(p.offered) == 0 {
		return
	}
	if p.at >= 0 {
		p.text = p.offered[p.at]
		a.changed()
		return
	}
	common := ""
	for _, name := range p.offered {
		if !strings.HasPrefix(name, p.text) {
			break
		}
		if common == "" {
			common = name
			continue
		}
		n := 0
		for n < len(common) && n < len(name) && common[n] == name[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) > len(p.text) {
		p.text = common
		a.changed()
		return
	}
	p.at = min(len(p.offered)-1, p.at+1)
}

func (a *App) menuKey(name string) {
	m := a.menu
	switch name {
	case "esc", "q":
		a.menu = nil
	case "up":
		m.at = max(0, m.at-1)
	case "down":
		m.at = min(len(m.items)-1, m.at+1)
	case "pgup", "home":
		m.at = 0
	case "pgdown", "end":
		m.at = len(m.items) - 1
	case "enter":
		a.menu = nil
		m.accept(m.at)
	default:
		// The next item that starts with the letter.
		for i := range m.items {
			at := (m.at + 1 + i) % len(m.items)
			if len(name) == 1 && strings.HasPrefix(strings.ToLower(m.items[at]), strings.ToLower(name)) {
				m.at = at
				return
			}
		}
	}
}

func (a *App) answer(name string) {
	q := a.question
	a.question = nil
	if name == "y" || name == "Y" {
		q.yes()
	}
}

func (a *App) askTime() {
	a.ask(prompt{label: "Time", accept: func(text string) error {
		if text == "" {
			return nil
		}
		at, err := a.parseTime(text)
		if err != nil {
			return fmt.Errorf("%q is not a time; 14:30, -10min, start and end are", text)
		}
		a.jump(at)
		return nil
	}})
}

// maxInterval is the longest interval that can be typed.
const maxInterval = 366 * 24 * time.Hour

func (a *App) askInterval() {
	label := "Interval"
	if a.cfg.Host.Archive {
		label = "Step"
	}
	a.ask(prompt{label: label, accept: func(text string) error {
		if text == "" {
			return nil
		}
		d, err := pcptime.ParseInterval(text)
		if err != nil {
			return fmt.Errorf("%q is not an interval; 5, 500msec and 2min are", text)
		}
		if d < 100*time.Millisecond || d > maxInterval {
			return fmt.Errorf("%s is outside 100 milliseconds to a year", text)
		}
		a.setInterval(d)
		return nil
	}})
}

func (a *App) askFilter() {
	set := func(text string) { a.sel.Filter = text; a.arrange() }
	a.ask(prompt{label: "Filter", text: a.sel.Filter, change: set, accept: func(text string) error { set(text); return nil }})
}

func (a *App) chooseOwner() {
	if a.now == nil {
		return
	}
	var owners []string
	for i := range a.now.Processes {
		if o := a.now.Processes[i].Owner; o != "" && !slices.Contains(owners, o) {
			owners = append(owners, o)
		}
	}
	slices.Sort(owners)
	items := append([]string{"(all users)"}, owners...)
	a.menu = &menu{title: "User", items: items, at: max(0, slices.Index(items, a.sel.Owner)), accept: func(i int) {
		if a.sel.Owner = ""; i > 0 {
			a.sel.Owner = items[i]
		}
		a.arrange()
	}}
}

func (a *App) chooseSort() {
	var items []string
	var by []model.Column
	for _, c := range columns {
		if c.name != "" {
			items, by = append(items, c.name), append(by, c.by)
		}
	}
	at := max(0, slices.Index(by, a.sel.By))
	a.menu = &menu{title: "Sort by", items: items, at: at, accept: func(i int) { a.sortBy(by[i]) }}
}

// signals are those that are offered.
var signals = []string{"TERM", "KILL", "HUP", "INT", "QUIT", "STOP", "CONT", "USR1", "USR2", "ABRT", "ALRM"}

// target returns the chosen process, if actions on it are possible.
func (a *App) target() *model.Process {
	p := a.chosen()
	switch {
	case p == nil:
		a.say("no process is chosen")
	case a.cfg.Host.Archive:
		a.say("this is the past: nothing can be done to a process of it")
		return nil
	case !a.cfg.Local:
		a.say("the processes are those of %s: this works on the host itself", a.cfg.Host.Name)
		return nil
	case a.tapeAt >= 0:
		a.say("this is the past: Esc shows the present")
		return nil
	}
	return p
}

func (a *App) chooseSignal() {
	p := a.target()
	if p == nil {
		return
	}
	act := Action{PID: p.PID, Name: p.Name, Start: p.Start}
	a.menu = &menu{title: fmt.Sprintf("Signal to %d %s", p.PID, p.Name), items: signals, accept: func(i int) {
		act.Signal = signals[i]
		a.question = &question{text: fmt.Sprintf("Send SIG%s to %d (%s)?", act.Signal, act.PID, act.Name), yes: func() { a.action = &act }}
	}}
}

func (a *App) askNice() {
	p := a.target()
	if p == nil {
		return
	}
	act := Action{PID: p.PID, Name: p.Name, Start: p.Start}
	a.ask(prompt{label: fmt.Sprintf("Nice value of %d %s (now %d)", p.PID, p.Name, p.Nice), accept: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < -20 || n > 19 {
			return fmt.Errorf("%q is not a nice value, -20 to 19", text)
		}
		act.Nice = n
		a.question = &question{text: fmt.Sprintf("Give %d (%s) the nice value %d?", act.PID, act.Name, n), yes: func() { a.action = &act }}
		return nil
	}})
}

// maxCharts limits the number of charts.
const maxCharts = 8

func (a *App) askMetric() {
	a.ask(prompt{label: "Metric", complete: true, accept: func(text string) error {
		switch {
		case text == "":
			return nil
		case slices.Contains(a.specs, text):
			a.chartAt = slices.Index(a.specs, text)
			return nil
		case len(a.specs) == maxCharts:
			return fmt.Errorf("%d charts are enough; d takes one away", maxCharts)
		}
		name, _, _ := strings.Cut(text, "[")
		if _, known := slices.BinarySearch(a.names, name); !known && len(a.names) > 0 && !slices.Contains(a.names, name) {
			return fmt.Errorf("there is no metric %s", name)
		}
		a.specs = append(slices.Clip(a.specs), text)
		a.chartAt = len(a.specs) - 1
		return nil
	}})
}

func (a *App) dropChart() {
	if a.chartAt < len(a.specs) {
		a.specs = slices.Delete(slices.Clone(a.specs), a.chartAt, a.chartAt+1)
		a.chartAt = max(0, min(a.chartAt, len(a.specs)-1))
	}
}
