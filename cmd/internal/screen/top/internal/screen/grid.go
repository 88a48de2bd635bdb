package screen

import (
	"strings"
	"unicode/utf8"
)

// A Style is the role of a cell.
type Style uint8

// Styles.
const (
	Normal Style = iota
	Dim
	Bold
	Title
	Border
	Accent
	Good
	Warn
	Bad
	User // kinds of processor time and of memory
	System
	Nice
	Wait
	Cache
	Head     // of a table
	HeadSort // the column by which it is sorted
	Selected // row
	Key      // in the footer
	KeyText
	Tab
	TabOn
	Live
	Replay
	Paused
	Input
	In // traffic
	Out
	Level0 // of graphs, from low to high
	Level1
	Level2
	Level3
	Line0 // of charts
	Line1
	Line2
	Line3
	Line4
	Line5
	Line6
	Line7
	numStyles
)

// lines is how many styles of charts there are.
const lines = int(Line7-Line0) + 1

// LineStyle returns the style of the nth line of a chart.
func LineStyle(n int) Style { return Line0 + Style(n%lines) }

// A cell is one place. A character that takes two of them is followed by a cell without
// text.
type cell struct {
	r     rune // 0: the right half of the character before
	marks string
	style Style
}

// A Grid is a screen.
type Grid struct {
	w, h  int
	cells []cell
	ascii bool
	out   []byte
}

// New returns an empty Grid.
func New(w, h int) *Grid {
	g := &Grid{}
	g.Resize(w, h)
	return g
}

// maxSide is the largest width and height of a grid.
const maxSide = 10000

// Resize makes the grid empty, with another size.
func (g *Grid) Resize(w, h int) {
	g.w, g.h = max(0, min(w, maxSide)), max(0, min(h, maxSide))
	if n := g.w * g.h; n <= cap(g.cells) {
		g.cells = g.cells[:n]
	} else {
		g.cells = make([]cell, n)
	}
	for i := range g.cells {
		g.cells[i] = cell{r: ' '}
	}
}

// Trim takes empty rows at the end away.
func (g *Grid) Trim() {
	for g.h > 0 && g.end(g.h-1, func(c *cell) bool { return c.r == ' ' }) == 0 {
		g.h--
	}
	g.cells = g.cells[:g.w*g.h]
}

// SetASCII makes the grid draw bars, graphs and borders in ASCII.
func (g *Grid) SetASCII(on bool) { g.ascii = on }

// Size returns the width and the height.
func (g *Grid) Size() (w, h int) { return g.w, g.h }

// All returns the whole grid.
func (g *Grid) All() Area { return Area{g: g, W: g.w, H: g.h} }

// Plain returns the text of the grid, without spaces at the end of lines.
func (g *Grid) Plain() string {
	var b strings.Builder
	for y := range g.h {
		end := g.end(y, func(c *cell) bool { return c.r == ' ' })
		for _, c := range g.cells[y*g.w : y*g.w+end] {
			if c.r != 0 {
				b.WriteRune(c.r)
				b.WriteString(c.marks)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// end returns the start of the blanks at the end of a row.
func (g *Grid) end(y int, blank func(*cell) bool) int {
	x := g.w
	for x > 0 && blank(&g.cells[y*g.w+x-1]) {
		x--
	}
	return x
}

// Styled returns the grid with escape sequences for its styles, lines separated by newlines.
func (g *Grid) Styled(t *Theme) string {
	b := g.out[:0]
	for y := range g.h {
		if y > 0 {
			b = append(b, '\n')
		}
		end := g.end(y, func(c *cell) bool { return c.r == ' ' && !t.fills[c.style] })
		row := g.cells[y*g.w : y*g.w+end]
		for x := 0; x < len(row); {
			style := row[x].style
			b = append(b, t.open[style]...)
			for ; x < len(row) && row[x].style == style; x++ {
				if row[x].r != 0 {
					b = utf8.AppendRune(b, row[x].r)
					b = append(b, row[x].marks...)
				}
			}
			b = append(b, t.close[style]...)
		}
	}
	g.out = b
	return string(b)
}

// An Area is a part of a grid, with positions relative to its corner.
type Area struct {
	g    *Grid
	X, Y int // in the grid
	W, H int
}

// Part returns a part of an area, cut to the area.
func (a Area) Part(x, y, w, h int) Area {
	x, y = max(0, min(x, a.W)), max(0, min(y, a.H))
	return Area{g: a.g, X: a.X + x, Y: a.Y + y, W: max(0, min(w, a.W-x)), H: max(0, min(h, a.H-y))}
}

// Rows returns the rows of an area from one on.
func (a Area) Rows(from, n int) Area { return a.Part(0, from, a.W, n) }

// Has reports whether a place of the grid is in the area.
func (a Area) Has(x, y int) bool { return x >= a.X && x < a.X+a.W && y >= a.Y && y < a.Y+a.H }

// ASCII reports whether the grid is limited to ASCII.
func (a Area) ASCII() bool { return a.g.ascii }

// put sets a cell that is in the area.
func (a Area) put(x, y int, c cell) {
	if x < 0 || x >= a.W || y < 0 || y >= a.H {
		return
	}
	i := (a.Y+y)*a.g.w + a.X + x
	// A wide character whose other half is overwritten becomes a space.
	if a.g.cells[i].r == 0 && c.r != 0 && a.X+x > 0 {
		a.g.cells[i-1].r, a.g.cells[i-1].marks = ' ', ""
	}
	if a.X+x+1 < a.g.w && a.g.cells[i+1].r == 0 && c.r != 0 {
		a.g.cells[i+1].r = ' '
	}
	a.g.cells[i] = c
}

// Rune draws a character that takes one cell.
func (a Area) Rune(x, y int, style Style, r rune) { a.put(x, y, cell{r: r, style: style}) }

// Fill draws a character over a row of cells.
func (a Area) Fill(x, y, n int, style Style, r rune) {
	for i := range n {
		a.Rune(x+i, y, style, r)
	}
}

// Restyle changes the style of the cells of a row.
func (a Area) Restyle(y int, style Style) {
	if y < 0 || y >= a.H {
		return
	}
	row := a.g.cells[(a.Y+y)*a.g.w+a.X:][:a.W]
	for i := range row {
		row[i].style = style
	}
}

// Text draws a text in a row from x on, as far as there is room, and returns its end.
func (a Area) Text(x, y int, style Style, s string) int { return a.TextIn(x, y, a.W-x, style, s) }

// TextIn is Text in at most n cells. Text that does not fit is cut, with a mark in its place.
func (a Area) TextIn(x, y, n int, style Style, s string) int {
	n = min(n, a.W-x)
	if n <= 0 || y < 0 || y >= a.H {
		return x
	}
	start, last := x, -1 // last: where the character before began
	for rest := s; len(rest) > 0; {
		r, size := utf8.DecodeRuneInString(rest)
		r, width := printable(r, rest[:size])
		if width == 0 {
			if r != 0 && last >= 0 {
				a.mark(last, y, rest[:size])
			}
			rest = rest[size:]
			continue
		}
		rest = rest[size:]
		if a.g.ascii && r > '~' {
			r = '?'
		}
		if x+width > start+n || x+width == start+n && Width(rest, 1) > 0 {
			// It does not fit, or something else would not.
			for ; x < start+n-1; x++ {
				a.Rune(x, y, style, ' ')
			}
			a.Rune(x, y, style, a.glyph('…', '~'))
			return x + 1
		}
		a.put(x, y, cell{r: r, style: style})
		switch {
		case width == 2 && r == '?': // in ASCII
			a.put(x+1, y, cell{r: r, style: style})
		case width == 2:
			a.put(x+1, y, cell{style: style})
		}
		last = x
		x += width
	}
	return x
}

// TextRight draws a text so that it ends before x.
func (a Area) TextRight(x, y int, style Style, s string) {
	w := Width(s, a.W)
	a.Text(max(0, x-w), y, style, s)
}

// maxMarks limits the bytes of combining marks in a cell.
const maxMarks = 8

func (a Area) mark(x, y int, s string) {
	if x < 0 || x >= a.W {
		return
	}
	c := &a.g.cells[(a.Y+y)*a.g.w+a.X+x]
	if len(c.marks)+len(s) <= maxMarks && !a.g.ascii {
		c.marks += s
	}
}

func (a Area) glyph(unicode, ascii rune) rune {
	if a.g.ascii {
		return ascii
	}
	return unicode
}
