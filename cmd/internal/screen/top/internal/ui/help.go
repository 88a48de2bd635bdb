package ui

import (
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// A help is the page that describes the keys.
type help struct {
	open bool
	top  int // the first line shown
}

// show opens the page.
func (h *help) show() { h.open, h.top = true, 0 }

// key handles a key. Those that do not scroll close the page.
func (h *help) key(name string) {
	switch name {
	case "up":
		h.top = max(0, h.top-1)
	case "down":
		h.top++
	case "pgup":
		h.top = max(0, h.top-10)
	case "pgdown", "space":
		h.top += 10
	default:
		h.open = false
	}
}

// lacking returns the columns and views that have no source, each with the reason.
func lacking(now *model.Snapshot) (list [][2]string) {
	if now == nil {
		return nil
	}
	add := func(name string, p model.Panel, hint func(*model.Snapshot) string) {
		if !now.Lacks(p) {
			return
		}
		why := now.Absent(p)
		if hint != nil {
			why += "; " + hint(now)
		}
		list = append(list, [2]string{name, why})
	}
	for _, e := range extras {
		add(e.name, e.panel, e.hint)
	}
	if !now.None(model.PanelContainers) {
		add("Containers", model.PanelContainers, nil)
	}
	return list
}

// draw draws the page.
func (h *help) draw(body screen.Area, now *model.Snapshot, m *mouse) {
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
	section("Containers", func(b *binding) bool { return b.in == only(Containers) })
	section("Chart", func(b *binding) bool { return b.in == only(Charts) })
	all = append(all, line{"", "Colours of bars"})
	all = append(all, line{"CPU", "user, nice, system, interrupts, waiting for devices"}, line{"Mem", "programs, buffers, cache"})
	if list := lacking(now); len(list) > 0 {
		all = append(all, line{"", "Not shown"})
		for _, l := range list {
			for i, text := range fill(l[1], in.W-15) {
				if i > 0 {
					l[0] = " "
				}
				all = append(all, line{l[0], text})
			}
		}
	}
	h.top = max(0, min(h.top, len(all)-in.H))
	for y := 0; y < in.H && h.top+y < len(all); y++ {
		l := all[h.top+y]
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
	m.onWheel(frame, func(n int) { h.top = max(0, h.top+n) })
	m.on(frame, func() { h.open = false })
}
