package dstat

import "slices"

// A screen has the plugins that fit on the terminal, and decides when their headings are due.
type screen struct {
	term     terminal
	theme    *theme
	headings bool // repeat them

	visible    []*plugin
	rows, cols int
	showHead   bool // before the next line
}

// layout determines the plugins that fit, behind a margin, and whether headings are due. It reports whether some plugins
// have been left out.
func (s *screen) layout(plugins []*plugin, margin int, p *pace) bool {
	if !s.term.is {
		s.visible = plugins
		return false
	}
	before, cols := s.visible, s.cols
	s.rows, s.cols = s.term.size()
	if cols != s.cols {
		width := margin
		s.visible = nil
		for _, p := range plugins {
			w := width + p.lineWidth() + 1
			last := len(s.visible) == len(plugins)-1 && slices.Equal(s.visible, plugins[:len(s.visible)])
			if w <= s.cols || last && w < s.cols {
				s.visible = append(s.visible, p)
				width = w
			}
		}
	}
	if s.headings && s.rows >= 6 {
		switch {
		case !slices.Equal(before, s.visible):
			s.showHead = true
		case !p.update && p.loop%(s.rows-2) == 0, p.update && p.step == 1 && p.loop%(s.rows-1) == 0:
			s.showHead = true
		}
	}
	return len(s.visible) < len(plugins)
}
