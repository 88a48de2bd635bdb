package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// typing presses keys at dialogs; those in quotes are typed.
func typing(d *dialogs, keys ...string) {
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			for _, r := range text {
				d.key(string(r), string(r))
			}
			continue
		}
		d.key(k, "")
	}
}

func TestPrompt(t *testing.T) {
	var d dialogs
	var changes, accepted []string
	d.ask(prompt{
		text: "old", change: func(text string) { changes = append(changes, text) },
		accept: func(text string) error {
			if text == "bad" {
				return errors.New("it is bad")
			}
			accepted = append(accepted, text)
			return nil
		},
	})
	typing(&d, "ctrl+u", "'bad", "enter")
	if d.prompt == nil || d.prompt.err != "it is bad" {
		t.Fatal("a bad text is accepted")
	}
	typing(&d, "backspace", "'\x07é x", "ctrl+w")
	if got := d.prompt.text; got != "baé " || d.prompt.err != "" {
		t.Errorf("the text is %q, the error %q", got, d.prompt.err)
	}
	typing(&d, "enter")
	if d.prompt != nil || !slices.Equal(accepted, []string{"baé"}) {
		t.Errorf("accepted is %q", accepted)
	}
	d.ask(prompt{text: "first", change: func(text string) { changes = append(changes, text) }})
	typing(&d, "'!", "esc")
	if n := len(changes); d.prompt != nil || !slices.Equal(changes[n-2:], []string{"first!", "first"}) {
		t.Errorf("the changes are %q", changes)
	}
}

// TestNames completes names of metrics.
func TestNames(t *testing.T) {
	var d dialogs
	var n names
	var accepted string
	ask := func() {
		d.ask(prompt{names: &n, accept: func(text string) error { accepted = text; return nil }})
	}
	ask()
	if !n.wanted || len(d.prompt.offered) != 0 {
		t.Error("the names are not requested")
	}
	n.list = []string{"disk.all.read", "disk.all.read_bytes", "disk.dev.read", "mem.free"}
	typing(&d, "'disk.a", "tab")
	if d.prompt.text != "disk.all.read" {
		t.Errorf("completed to %q", d.prompt.text)
	}
	typing(&d, "down", "down", "tab", "enter")
	if accepted != "disk.all.read_bytes" {
		t.Errorf("accepted is %q", accepted)
	}
	ask()
	typing(&d, "'read")
	if !slices.Equal(d.prompt.offered, n.list[:3]) {
		t.Errorf("offered is %q", d.prompt.offered)
	}
	typing(&d, "'[")
	if len(d.prompt.offered) != 0 {
		t.Errorf("for an instance %q is offered", d.prompt.offered)
	}
	if n.lacks("mem.free") || !n.lacks("mem.used") || (&names{}).lacks("x") {
		t.Error("lacks is wrong")
	}
}

// TestDialogs has a menu open a question.
func TestDialogs(t *testing.T) {
	var d dialogs
	if d.key("a", "a") {
		t.Error("a key is taken without a dialog")
	}
	done := 0
	open := func() {
		d.menu = &menu{items: []string{"alpha", "beta", "gamma", "bravo"}, accept: func(i int) {
			d.question = &question{text: "sure?", yes: func() { done += i }}
		}}
	}
	open()
	typing(&d, "b", "b", "b", "down", "enter")
	if d.menu != nil || d.question == nil {
		t.Fatal("the menu has no effect")
	}
	typing(&d, "n")
	if d.question != nil || done != 0 {
		t.Error("no is yes")
	}
	open()
	typing(&d, "end", "enter", "y")
	if done != 3 {
		t.Errorf("chosen is %d", done)
	}
	open()
	typing(&d, "esc")
	d.help.show()
	typing(&d, "down", "pgup")
	if d.menu != nil || !d.help.open {
		t.Error("the help has closed, or the menu has not")
	}
	if typing(&d, "x"); d.help.open {
		t.Error("the help stays open")
	}
}

func TestNote(t *testing.T) {
	now := time.Unix(1000, 0)
	n := note{clock: func() time.Time { return now }}
	n.say("%d rows", 3)
	g := screen.New(20, 1)
	if !n.draw(g.All()) || !strings.Contains(g.Plain(), "3 rows") {
		t.Errorf("the note is %q", g.Plain())
	}
	now = now.Add(5 * time.Second)
	if n.draw(g.All()) {
		t.Error("the note stays")
	}
}

func TestMouseParts(t *testing.T) {
	var m mouse
	all := screen.New(10, 10).All()
	var got []string
	m.on(all, func() { got = append(got, "below") })
	m.on(all.Part(2, 2, 3, 3), func() { got = append(got, "above") })
	m.on(all.Part(0, 0, 0, 5), func() { got = append(got, "empty") })
	m.onWheel(all, func(n int) {
		if n == -wheelRows {
			got = append(got, "wheel")
		}
	})
	m.click(3, 3)
	m.click(0, 0)
	m.wheel(3, 3, -1)
	m.click(50, 50)
	if want := []string{"above", "below", "wheel"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.clear()
	if m.click(3, 3); len(got) != 3 {
		t.Error("a place is left")
	}
}

// TestActions asks for actions where they are refused, and then where they are allowed.
func TestActions(t *testing.T) {
	f := newFilm()
	said := ""
	procs := processes{film: f, say: func(string, ...any) {}}
	c := actions{host: &model.Host{}, film: f, procs: &procs, say: func(format string, _ ...any) { said = format }}
	refused := func(why string) {
		t.Helper()
		said = ""
		if c.target() != nil || !strings.Contains(said, why) {
			t.Errorf("said %q, want %q", said, why)
		}
	}
	refused("no process")
	s := taken(1)
	s.Processes = []model.Process{{PID: 7, Name: "sh", CPU: 0.5}, {PID: 8, Name: "top", CPU: 0.1}}
	f.push(s)
	refused("on the host itself")
	c.local, c.host.Archive = true, true
	refused("nothing can be done")
	c.host.Archive = false
	f.show(0)
	refused("Esc shows the present")
	f.show(-1)

	var q *question
	ask := func(x *question) { q = x }
	m := c.chooseSignal(ask)
	m.accept(slices.Index(m.items, "HUP"))
	if _, ok := c.take(); ok {
		t.Error("an action without a confirmation")
	}
	q.yes()
	if act, ok := c.take(); !ok || act.PID != 7 || act.Signal != "HUP" || q.text != "Send SIGHUP to 7 (sh)?" {
		t.Errorf("the action is %+v, %t; asked %q", act, ok, q.text)
	}
	if _, ok := c.take(); ok {
		t.Error("the action is taken twice")
	}
	procs.moveRows(1)
	p, _ := c.askNice(ask)
	for _, bad := range []string{"", "20", "-21", "x"} {
		if p.accept(bad) == nil {
			t.Errorf("%q is a nice value", bad)
		}
	}
	if err := p.accept("5"); err != nil {
		t.Fatal(err)
	}
	q.yes()
	if act, _ := c.take(); act.PID != 8 || act.Nice != 5 || act.Signal != "" {
		t.Errorf("the action is %+v", act)
	}
}

// TestCharts adds and drops charts.
func TestCharts(t *testing.T) {
	h := charts{film: newFilm()}
	h.film.push(taken(1))
	add := func(text string) error { return h.ask().accept(text) }
	for _, text := range []string{"a", "b", "a", ""} {
		if err := add(text); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(h.specs, []string{"a", "b"}) || h.at != 0 || h.taken() {
		t.Errorf("charts %q at %d", h.specs, h.at)
	}
	h.film.now.Charts = []model.Chart{{Spec: "b"}, {Spec: "a"}}
	if !h.taken() {
		t.Error("the sample has all metrics")
	}
	h.names.list = []string{"c", "d", "e", "f", "g", "h", "i"}
	if add("x[1]") == nil || add("c[1]") != nil {
		t.Error("known names are refused, or others are not")
	}
	for _, name := range h.names.list[1:6] {
		if err := add(name); err != nil {
			t.Error(err)
		}
	}
	if add("i") == nil {
		t.Errorf("%d charts", len(h.specs)+1)
	}
	h.move(100)
	h.drop()
	h.drop()
	h.move(-100)
	h.drop()
	if !slices.Equal(h.specs, []string{"b", "c[1]", "d", "e", "f"}) || h.at != 0 {
		t.Errorf("charts %q at %d", h.specs, h.at)
	}
}

// TestReport requests a diagnosis once, and shows it.
func TestReport(t *testing.T) {
	a := New(Config{Now: func() time.Time { return time.Unix(1e9, 0) }, Loc: time.UTC})
	a.Resize(60, 12)
	a.Key("d", "d")
	first, ok := a.Diagnosis()
	if !ok || first.Changes {
		t.Fatal("no diagnosis is requested")
	}
	a.Key("x", "x")
	a.Key("D", "D")
	if _, ok := a.Diagnosis(); ok {
		t.Error("a second diagnosis is requested while the first is made")
	}
	shows := func() string {
		g := screen.New(60, 12)
		a.Draw(g)
		return g.Plain()
	}
	if s := shows(); !strings.Contains(s, "Samples are taken.") {
		t.Errorf("while it is made the screen is\n%s", s)
	}
	long := strings.Repeat("word ", 20)
	a.Diagnosed(first, "Host a.\n\nERROR cpu.busy: \x1b[2J\n  Evidence: "+long+"\n"+strings.Repeat("more\n", 20)+"Changed from 1 to 2:\n  kernel.all.load: 5\n", nil)
	if s := shows(); !strings.Contains(s, "ERROR cpu.busy: ·[2J") || strings.Count(s, "word") != 20 {
		t.Errorf("the diagnosis is\n%s", s)
	}
	a.Key("w", "w")
	if s := shows(); !strings.Contains(s, "kernel.all.load: 5") || strings.Contains(s, "ERROR") {
		t.Errorf("what changed is\n%s", s)
	}
	a.Key("home", "")
	for range 100 {
		a.Key("down", "")
	}
	if s := shows(); !strings.Contains(s, "kernel.all.load: 5") {
		t.Errorf("the end is\n%s", s)
	}
	a.Key("esc", "")
	if s := shows(); strings.Contains(s, "kernel.all.load: 5") {
		t.Errorf("after its end the screen is\n%s", s)
	}
	a.Key("D", "D")
	second, _ := a.Diagnosis()
	a.Diagnosed(second, "", errors.New("no rules"))
	if s := shows(); !strings.Contains(s, "There is no diagnosis: no rules") {
		t.Errorf("without a diagnosis the screen is\n%s", s)
	}
	// What changed is another page, whose result only shows there.
	a.Key("esc", "")
	a.Key("D", "D")
	second, _ = a.Diagnosis()
	a.Key("esc", "")
	a.Key("w", "w")
	changed, ok := a.Diagnosis()
	if !ok || !changed.Changes {
		t.Errorf("requested is %+v, %v", changed, ok)
	}
	a.Diagnosed(second, "Nothing is short.\n", nil)
	if s := shows(); !strings.Contains(s, "What changed") || strings.Contains(s, "Nothing is short") {
		t.Errorf("what changed is\n%s", s)
	}
	a.Diagnosed(changed, "Changed from 1 to 2:\n  disk.dev.read[sda]: 5/s, before 1/s\n", nil)
	if s := shows(); !strings.Contains(s, "disk.dev.read[sda]: 5/s, before 1/s") {
		t.Errorf("what changed is\n%s", s)
	}
}

// TestExport asks for a file, and shows the result.
func TestExport(t *testing.T) {
	a := New(Config{Now: func() time.Time { return time.Unix(1e9, 0) }, Loc: time.UTC})
	a.Key("E", "E")
	a.Key("enter", "")
	if path, ok := a.Export(); !ok || path != "pcp-top-20010909-014640.txt" {
		t.Errorf("the file is %q", path)
	}
	if _, ok := a.Export(); ok {
		t.Error("it is saved twice")
	}
	a.Exported("a.txt", nil)
	if a.dialogs.note.text != "saved in a.txt" {
		t.Errorf("the note is %q", a.dialogs.note.text)
	}
	a.Exported("a.txt", errors.New("open a.txt: file exists"))
	if a.dialogs.note.text != "open a.txt: file exists" {
		t.Errorf("the note is %q", a.dialogs.note.text)
	}
}
