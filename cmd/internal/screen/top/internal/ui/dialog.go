package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// dialogs has the parts of the screen that take keys before a view does. At most one of them is in front: a question,
// a prompt, a menu, the help, a diagnosis, in this order. Without any there may be a note in the footer.
type dialogs struct {
	question *question
	prompt   *prompt
	menu     *menu
	help     help
	report   report
	note     note
}

// A question must be confirmed.
type question struct {
	text string
	yes  func()
}

// key handles a key, and reports whether a dialog takes it.
func (d *dialogs) key(name, text string) bool {
	switch {
	case d.question != nil:
		q := d.question
		d.question = nil
		if name == "y" || name == "Y" {
			q.yes()
		}
	case d.prompt != nil:
		if p := d.prompt; p.key(name, text) && d.prompt == p {
			d.prompt = nil
		}
	case d.menu != nil:
		if m := d.menu; m.key(name) {
			d.choose(m, name == "enter")
		}
	case d.help.open:
		d.help.key(name)
	case d.report.open:
		d.report.key(name)
	default:
		return false
	}
	return true
}

// choose closes a menu, and takes its item.
func (d *dialogs) choose(m *menu, take bool) {
	d.menu = nil
	if take {
		m.accept(m.at)
	}
}

// ask opens a prompt. If it is for a metric, it offers names.
func (d *dialogs) ask(p prompt) {
	p.first, p.at = p.text, -1
	d.prompt = &p
	p.offer()
}

// drawFooter draws the question, the keys of the menu or the note, and reports whether there is any.
func (d *dialogs) drawFooter(line screen.Area) bool {
	switch {
	case d.question != nil:
		x := line.Text(0, 0, screen.Warn, d.question.text)
		x = line.Text(x+1, 0, screen.Key, "y")
		x = line.Text(x, 0, screen.KeyText, "Yes")
		x = line.Text(x+1, 0, screen.Key, "n")
		line.Text(x, 0, screen.KeyText, "No")
	case d.menu != nil:
		x := 0
		for _, k := range [][2]string{{"Up/Down", "Choose"}, {"Enter", "Take"}, {"Esc", "Close"}} {
			x = line.Text(x, 0, screen.Key, k[0])
			x = line.Text(x, 0, screen.KeyText, k[1]) + 1
		}
	default:
		return d.note.draw(line)
	}
	return true
}

// drawMenu draws the list to choose from.
func (d *dialogs) drawMenu(body screen.Area, on *mouse) {
	m := d.menu
	in, frame := m.draw(body)
	top := max(0, m.at-in.H+1)
	for y := 0; y < in.H && top+y < len(m.items); y++ {
		i := top + y
		on.on(in.Part(0, y, in.W, 1), func() { m.at = i; d.choose(m, true) })
	}
	on.onWheel(frame, func(n int) { m.move(n / wheelRows) })
}

// A note is a message shown for some seconds.
type note struct {
	clock func() time.Time
	text  string
	ends  time.Time
}

// say shows a message.
func (n *note) say(format string, args ...any) {
	n.text = fmt.Sprintf(format, args...)
	n.ends = n.clock().Add(5 * time.Second)
}

// draw draws the message, if there is one.
func (n *note) draw(line screen.Area) bool {
	if !n.clock().Before(n.ends) {
		return false
	}
	line.Text(0, 0, screen.Warn, n.text)
	return true
}

// A menu is a list from which the user chooses.
type menu struct {
	title  string
	items  []string
	at     int
	accept func(i int)
}

// move moves the cursor.
func (m *menu) move(n int) { m.at = max(0, min(len(m.items)-1, m.at+n)) }

// key handles a key, and reports whether it closes the menu.
func (m *menu) key(name string) bool {
	switch name {
	case "esc", "q", "enter":
		return true
	case "up":
		m.move(-1)
	case "down":
		m.move(1)
	case "pgup", "home":
		m.at = 0
	case "pgdown", "end":
		m.at = len(m.items) - 1
	default:
		// The next item that starts with the letter.
		for i := range m.items {
			at := (m.at + 1 + i) % len(m.items)
			if len(name) == 1 && strings.HasPrefix(strings.ToLower(m.items[at]), strings.ToLower(name)) {
				m.at = at
				break
			}
		}
	}
	return false
}

// draw draws the list in a frame, and returns the inner area and the frame.
func (m *menu) draw(body screen.Area) (in, frame screen.Area) {
	w := screen.Width(m.title, 60) + 8
	for _, item := range m.items {
		w = max(w, screen.Width(item, 60)+4)
	}
	h := min(len(m.items)+2, body.H)
	x := min(4, max(0, body.W-w))
	frame = body.Part(x, 0, w, h)
	frame.Clear()
	in = frame.Box(m.title, "")
	top := max(0, m.at-in.H+1)
	for y := 0; y < in.H && top+y < len(m.items); y++ {
		style := screen.Normal
		if top+y == m.at {
			style = screen.Selected
			in.Fill(0, y, in.W, style, ' ')
		}
		in.Text(1, y, style, m.items[top+y])
	}
	return in, frame
}

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

	names   *names   // of metrics that are offered; nil for none
	offered []string // that fit
	at      int      // of offered, -1 for the typed text
}

// key handles a key, and reports whether it closes the prompt.
func (p *prompt) key(name, text string) bool {
	switch name {
	case "esc":
		if p.change != nil {
			p.change(p.first)
		}
		return true
	case "enter":
		if p.at >= 0 && p.at < len(p.offered) {
			p.text = p.offered[p.at]
		}
		if err := p.accept(strings.TrimSpace(p.text)); err != nil {
			p.err = err.Error()
			return false
		}
		return true
	case "backspace", "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(p.text)
		p.text = p.text[:len(p.text)-n]
	case "ctrl+w":
		p.text = p.text[:strings.LastIndexAny(strings.TrimRight(p.text, " ."), " .")+1]
	case "ctrl+u":
		p.text = ""
	case "up":
		p.at = max(-1, p.at-1)
		return false
	case "down":
		p.at = min(len(p.offered)-1, p.at+1)
		return false
	case "tab":
		p.complete()
		return false
	default:
		if name == "space" && text == "" {
			text = " "
		}
		p.typed(text)
		return false
	}
	p.changed()
	return false
}

// typed adds characters to the text, but no control characters.
func (p *prompt) typed(text string) {
	added := false
	for _, r := range text {
		if unicode.IsPrint(r) && len(p.text) < maxTyped {
			p.text += string(r)
			added = true
		}
	}
	if added {
		p.changed()
	}
}

// changed offers names again after a change of the text.
func (p *prompt) changed() {
	p.err, p.at = "", -1
	if p.change != nil {
		p.change(p.text)
	}
	p.offer()
}

// offer finds the names of metrics that match the text.
func (p *prompt) offer() {
	if p.names != nil {
		p.offered = p.names.matching(p.offered[:0], p.text)
	}
}

// complete completes the typed text to the longest common prefix of the names that start with it, or
// to the chosen name.
func (p *prompt) complete() {
	if len(p.offered) == 0 {
		return
	}
	if p.at >= 0 {
		p.text = p.offered[p.at]
		p.changed()
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
		p.changed()
		return
	}
	p.at = min(len(p.offered)-1, p.at+1)
}

// draw draws the text, and the offered names above it. It returns the position of the cursor.
func (p *prompt) draw(line, body screen.Area) (x, y int) {
	at := line.Text(0, 0, screen.Key, p.label+": ")
	text := p.text
	for screen.Width(text, line.W) > max(1, line.W-at-1) { // the end matters
		_, rest, _ := cutFirst(text)
		text = rest
	}
	end := line.Text(at, 0, screen.Bold, text)
	x, y = line.X+min(end, line.W-1), line.Y
	if p.err != "" {
		line.Text(end+2, 0, screen.Bad, p.err)
	}
	if p.names == nil {
		return x, y
	}
	n := min(len(p.offered), max(1, min(10, body.H-2)))
	if p.names.list == nil {
		why := "looking for the names of metrics"
		if p.names.err != nil {
			why = p.names.err.Error()
		}
		line.Text(end+2, 0, screen.Dim, why)
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
	return x, y
}

func cutFirst(s string) (first, rest string, ok bool) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:], true
		}
	}
	return s, "", false
}

// names are the names of all metrics, once they were needed.
type names struct {
	list   []string
	wanted bool  // they must be requested
	err    error // of the request
}

// maxOffered is how many names are offered.
const maxOffered = 200

// matching appends the names that match a text, and requests them if there are none: first those that start with
// the text, then those that contain it.
func (n *names) matching(dst []string, text string) []string {
	if n.list == nil {
		n.wanted = true
	}
	word, _, instance := strings.Cut(text, "[")
	if instance {
		return dst
	}
	for _, name := range n.list {
		if strings.HasPrefix(name, word) && len(dst) < maxOffered {
			dst = append(dst, name)
		}
	}
	if word == "" {
		return dst
	}
	for _, name := range n.list {
		if len(dst) == maxOffered {
			break
		}
		if !strings.HasPrefix(name, word) && strings.Contains(name, word) {
			dst = append(dst, name)
		}
	}
	return dst
}

// lacks reports whether a name is certainly not that of a metric.
func (n *names) lacks(name string) bool {
	if _, known := slices.BinarySearch(n.list, name); known {
		return false
	}
	return len(n.list) > 0 && !slices.Contains(n.list, name)
}
