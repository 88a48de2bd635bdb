package ui

import "github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"

// A mouse has the places of the screen that react to it. They are collected while the screen is drawn.
type mouse struct {
	hits []hit
	held bool // the button is down on the line of the times
}

// A hit is a place that reacts to the mouse.
type hit struct {
	area  screen.Area
	click func()
	wheel func(n int)
	drag  func(x int) // to a column of the area, which the mouse may have left
}

// clear forgets all places.
func (m *mouse) clear() { m.hits = m.hits[:0] }

// on makes a place react to a click.
func (m *mouse) on(area screen.Area, click func()) {
	if area.W > 0 && area.H > 0 {
		m.hits = append(m.hits, hit{area: area, click: click})
	}
}

// onWheel makes a place react to the wheel.
func (m *mouse) onWheel(area screen.Area, wheel func(n int)) {
	m.hits = append(m.hits, hit{area: area, wheel: wheel})
}

// onDrag makes a place follow the mouse while its button is held. There is one such place on a screen.
func (m *mouse) onDrag(area screen.Area, drag func(x int)) {
	m.hits = append(m.hits, hit{area: area, drag: drag})
}

// press begins to follow the mouse if it is on a place that does so.
func (m *mouse) press(x, y int) {
	m.held = false
	for i := range m.hits {
		m.held = m.held || m.hits[i].drag != nil && m.hits[i].area.Has(x, y)
	}
}

// drag handles the movement of the mouse, whose button is held.
func (m *mouse) drag(x int) {
	for i := range m.hits {
		if h := &m.hits[i]; m.held && h.drag != nil {
			h.drag(max(0, min(h.area.W-1, x-h.area.X)))
			return
		}
	}
}

// wheelRows is how many lines the wheel moves.
const wheelRows = 3

// click handles a click at a place of the screen. The area drawn last is on top.
func (m *mouse) click(x, y int) {
	for i := len(m.hits) - 1; i >= 0; i-- {
		if h := &m.hits[i]; h.click != nil && h.area.Has(x, y) {
			h.click()
			return
		}
	}
}

// wheel handles the mouse wheel at a place of the screen, n being 1 for down and -1 for up.
func (m *mouse) wheel(x, y, n int) {
	for i := len(m.hits) - 1; i >= 0; i-- {
		if h := &m.hits[i]; h.wheel != nil && h.area.Has(x, y) {
			h.wheel(wheelRows * n)
			return
		}
	}
}
