package ui

import (
	"cmp"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// A report is the page with a diagnosis, or with what changed.
type report struct {
	open    bool
	changes bool // what changed, and not a diagnosis
	wanted  bool // it is requested, and not begun
	running bool
	number  int // of the request whose result is shown
	lines   []string
	top     int // the first line shown
}

// Diagnosing is a request for a diagnosis.
type Diagnosing struct {
	At      pcp.Timestamp // the time of the sample that is shown, of an archive
	Changes bool          // only of what changed
	number  int
}

// diagnose opens the page, and requests a diagnosis unless one is being made.
func (a *App) diagnose() { a.dialogs.report.show(false) }

// changed opens the page with what changed.
func (a *App) changed() { a.dialogs.report.show(true) }

func (r *report) show(changes bool) {
	r.open, r.top = true, 0
	if r.running && r.changes == changes {
		return
	}
	r.wanted, r.changes, r.lines = true, changes, nil
	r.number++
}

// Diagnosis returns, once, the requested diagnosis.
func (a *App) Diagnosis() (Diagnosing, bool) {
	r := &a.dialogs.report
	if !r.wanted {
		return Diagnosing{}, false
	}
	r.wanted, r.running = false, true
	d := Diagnosing{Changes: r.changes, number: r.number}
	if a.film.now != nil {
		d.At = a.film.now.Time
	}
	return d, true
}

// Diagnosed shows the result of the newest request, or the reason why there is none.
func (a *App) Diagnosed(d Diagnosing, text string, err error) {
	r := &a.dialogs.report
	if d.number != r.number {
		return
	}
	r.running = false
	switch {
	case err != nil && d.Changes:
		text = "It is not known what changed: " + err.Error()
	case err != nil:
		text = "There is no diagnosis: " + err.Error()
	}
	r.lines = strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// key handles a key: w shows what changed, others scroll or close the page.
func (r *report) key(name string) {
	switch name {
	case "up":
		r.top = max(0, r.top-1)
	case "down":
		r.top++
	case "pgup":
		r.top = max(0, r.top-10)
	case "pgdown", "space":
		r.top += 10
	case "home":
		r.top = 0
	case "end":
		r.top = 1 << 30
	case "w":
		for i, l := range r.lines {
			if strings.HasPrefix(l, "Changed from ") {
				r.top = i
			}
		}
	default:
		r.open = false
	}
}

// draw draws the page.
func (r *report) draw(body screen.Area, m *mouse) {
	body.Clear()
	title, keys := "Diagnosis", "↑↓ more, w what changed, any other key closes"
	if r.changes {
		title, keys = "What changed", "↑↓ more, any other key closes"
	}
	in := body.Box(title, keys)
	if r.lines == nil {
		in.Text(1, 0, screen.Dim, "Samples are taken. This may take some seconds; any other key leaves it to itself.")
	}
	width := max(in.W-2, 1)
	type line struct {
		text  string
		style screen.Style
	}
	var all []line
	at := 0
	for i, l := range r.lines {
		style := screen.Normal
		switch {
		case strings.HasPrefix(l, "ERROR "):
			style = screen.Bad
		case strings.HasPrefix(l, "WARNING "):
			style = screen.Warn
		case strings.HasPrefix(l, "Changed from "):
			style = screen.Title
		case strings.HasPrefix(l, "            "), strings.HasPrefix(l, "  Next: "):
			style = screen.Dim
		}
		if i == r.top {
			at = len(all)
		}
		rest := []rune(l)
		for first := true; first || len(rest) > 0; first = false {
			room := width
			indent := ""
			if !first {
				indent = "              "[:min(14, max(width-10, 0))]
				room -= len(indent)
			}
			n := min(len(rest), max(room, 1))
			if n < len(rest) { // at the last space, if there is one in the second half
				for k := n; k > n/2; k-- {
					if rest[k] == ' ' {
						n = k
						break
					}
				}
			}
			all = append(all, line{indent + string(rest[:n]), style})
			rest = rest[n:]
			if len(rest) > 0 && rest[0] == ' ' {
				rest = rest[1:]
			}
		}
	}
	r.top = min(r.top, max(len(r.lines)-1, 0))
	if at == 0 && r.top > 0 {
		at = len(all)
	}
	at = max(0, min(at, len(all)-in.H))
	for y := 0; y < in.H && at+y < len(all); y++ {
		in.Text(1, y, cmp.Or(all[at+y].style, screen.Normal), all[at+y].text)
	}
	m.onWheel(body, func(n int) { r.top = max(0, r.top+n) })
	m.on(body, func() { r.open = false })
}
