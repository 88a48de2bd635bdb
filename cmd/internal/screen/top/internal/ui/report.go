package ui

import (
	"cmp"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// A report is the page with a diagnosis.
type report struct {
	open    bool
	wanted  bool // it is requested, and not begun
	running bool
	lines   []string
	top     int // the first line shown
}

// Diagnosing is a request for a diagnosis.
type Diagnosing struct {
	At pcp.Timestamp // the time of the sample that is shown, of an archive
}

// diagnose opens the page, and requests a diagnosis unless one is being made.
func (a *App) diagnose() {
	r := &a.dialogs.report
	r.open, r.top = true, 0
	if !r.running {
		r.wanted, r.lines = true, nil
	}
}

// Diagnosis returns, once, the requested diagnosis.
func (a *App) Diagnosis() (Diagnosing, bool) {
	r := &a.dialogs.report
	if !r.wanted {
		return Diagnosing{}, false
	}
	r.wanted, r.running = false, true
	var d Diagnosing
	if a.film.now != nil {
		d.At = a.film.now.Time
	}
	return d, true
}

// Diagnosed shows a diagnosis, or the reason why there is none.
func (a *App) Diagnosed(text string, err error) {
	r := &a.dialogs.report
	r.running = false
	if err != nil {
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
	in := body.Box("Diagnosis", "↑↓ more, w what changed, any other key closes")
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
