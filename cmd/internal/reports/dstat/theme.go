package dstat

// A theme holds the sequences that colour the output, all empty without colours.
type theme struct {
	title, frame, subtitle, fail, input string
	// Of figures: last is for the end of an interval, early for interim lines, which are
	// overwritten.
	last, early shades

	reset, line, save, restore, noWrap string
	ground                             string // ends a coloured text
}

// shades colour figures.
type shades struct {
	text, unit, done string
	colors           []string // in turn, as figures grow
}

// The sequences of a terminal as of ANSI X3.64.
const (
	escReset     = "\033[0;0m"
	escUnderline = "\033[4m"
	escClearLine = "\033[2K"
	escSave      = "\033[s"
	escRestore   = "\033[u"
	escNoWrap    = "\033[7l"

	black, darkRed, darkGreen       = "\033[0;30m", "\033[0;31m", "\033[0;32m"
	darkYellow, darkBlue            = "\033[0;33m", "\033[0;34m"
	darkMagenta, darkCyan, gray     = "\033[0;35m", "\033[0;36m", "\033[0;37m"
	darkGray                        = "\033[90m"
	red, green, yellow, blue        = "\033[1;31m", "\033[1;32m", "\033[1;33m", "\033[1;34m"
	magenta, cyan, white, redBehind = "\033[1;35m", "\033[1;36m", "\033[1;37m", "\033[41m"
)

// newTheme returns the colours for a dark or light terminal.
func newTheme(light bool) *theme {
	t := &theme{
		title: darkBlue, frame: darkBlue, fail: white + redBehind, input: darkGray, ground: escReset,
		reset: escReset, line: escClearLine, save: escSave, restore: escRestore, noWrap: escNoWrap,
		subtitle: blue + escUnderline,
		last: shades{
			text: gray, unit: darkGray, done: white,
			colors: []string{red, yellow, green, blue, cyan, white, darkRed, darkGreen},
		},
		early: shades{
			text: darkGray, unit: darkGray, done: gray,
			colors: []string{darkRed, darkYellow, darkGreen, darkBlue, darkCyan, gray, red, green},
		},
	}
	if light {
		t.subtitle = darkCyan + escUnderline
		t.last = shades{
			text: black, unit: black, done: black,
			colors: []string{darkRed, darkMagenta, darkGreen, darkBlue, darkCyan, black, red, green},
		}
		t.early = shades{
			text: darkGray, unit: darkGray, done: darkGray,
			colors: []string{red, magenta, green, blue, cyan, darkGray, darkRed, darkGreen},
		}
	}
	return t
}

// own passes each sequence through own.
func (t *theme) own(own func(string) string) {
	for _, s := range []*string{&t.title, &t.frame, &t.subtitle, &t.fail, &t.input, &t.reset, &t.line, &t.save, &t.restore, &t.noWrap, &t.ground} {
		*s = own(*s)
	}
	for _, s := range []*shades{&t.last, &t.early} {
		s.text, s.unit, s.done = own(s.text), own(s.unit), own(s.done)
		for i, c := range s.colors {
			s.colors[i] = own(c)
		}
	}
}

// noColors returns a theme without colours.
func noColors() *theme {
	none := shades{colors: []string{""}}
	return &theme{last: none, early: none}
}

// color returns the nth colour, in turn.
func (s *shades) color(n int) string {
	if n %= len(s.colors); n < 0 {
		n += len(s.colors)
	}
	return s.colors[n]
}
