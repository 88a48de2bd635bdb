package screen

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A style is how a cell of a terminal looks.
type style struct {
	color                int // of the text, counted from 1; 0: the default
	bold, blink, reverse bool
}

// A spot is a cell of a terminal.
type spot struct {
	char  rune // 0: the right half of the character before
	style style
}

// A Canvas has the contents of a terminal screen.
type Canvas struct {
	Rows, Cols int

	spots    []spot
	row, col int
	style    style
}

// NewCanvas returns an empty one.
func NewCanvas(rows, cols int) *Canvas {
	c := &Canvas{Rows: rows, Cols: cols, spots: make([]spot, rows*cols)}
	c.clear(0)
	return c
}

// clear empties the lines from one on.
func (c *Canvas) clear(row int) {
	for i := max(row, 0) * c.Cols; i < len(c.spots); i++ {
		c.spots[i] = spot{char: ' '}
	}
}

func (c *Canvas) move(row, col int) { c.row, c.col = row, col }

// put writes text at the cursor. Text beyond the right edge continues in the next line. Fields are laid out by bytes,
// as in C, so that a text takes as many cells as it has bytes: cells that its characters do not fill are blank.
func (c *Canvas) put(s string) {
	left := len(s)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		r, n := glyph(r, s[:size])
		s = s[size:]
		left -= n
		if n == 0 {
			continue // a mark on the character before; a spot has no room for it
		}
		if n == 2 && c.col == c.Cols-1 {
			r = '?'
		}
		c.set(r)
		if n == 2 {
			if r == '?' {
				r = ' '
			} else {
				r = 0
			}
			c.set(r)
		}
	}
	for range left {
		c.set(' ')
	}
}

func (c *Canvas) set(r rune) {
	if c.col >= c.Cols {
		c.row, c.col = c.row+1, 0
	}
	if c.row >= 0 && c.row < c.Rows && c.col >= 0 {
		c.spots[c.row*c.Cols+c.col] = spot{r, c.style}
	}
	c.col++
}

// glyph returns the rune drawn for a character, and how many cells it takes.
func glyph(r rune, s string) (rune, int) {
	switch {
	case r >= ' ' && r < 0x7f:
		return r, 1
	case r == utf8.RuneError && len(s) <= 1, cli.Hidden(r):
		return '?', 1
	case r < 0x300:
		return r, 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return r, 0
	}
	return r, min(lipgloss.Width(s), 2)
}

// Say shows a message in place of a line.
func (c *Canvas) Say(row int, s string) {
	if row < 0 || row >= c.Rows {
		return
	}
	for i := range c.Cols {
		c.spots[row*c.Cols+i] = spot{char: ' '}
	}
	c.style = style{}
	c.move(row, 0)
	c.put(s)
}

// Text returns the contents, without colors, for tests.
func (c *Canvas) Text() string {
	var b []byte
	for row := range c.Rows {
		line := c.spots[row*c.Cols : (row+1)*c.Cols]
		end := len(line)
		for end > 0 && line[end-1].char == ' ' && line[end-1].style == (style{}) {
			end--
		}
		for _, s := range line[:end] {
			if s.char != 0 {
				b = utf8.AppendRune(b, s.char)
			}
		}
		b = append(b, '\n')
	}
	return string(b)
}

// Append appends the codes that make a terminal that shows before show c; nil means an empty terminal. The codes
// begin with esc.
func (c *Canvas) Append(b []byte, before *Canvas, esc string) []byte {
	if before != nil && (before.Rows != c.Rows || before.Cols != c.Cols) {
		before = nil
	}
	if before == nil {
		b = append(append(append(append(b, esc...), "[0m"...), esc...), "[2J"...)
	}
	now := style{}
	for row := range c.Rows {
		at := -1 // the column of the cursor, if it is in this line
		for col := range c.Cols {
			i := row*c.Cols + col
			s := c.spots[i]
			if before != nil && before.spots[i] == s || before == nil && s == (spot{char: ' '}) {
				continue
			}
			if s.char == 0 { // it was sent with the left half
				at = col + 1
				continue
			}
			if at != col {
				b = append(append(b, esc...), '[')
				b = strconv.AppendInt(b, int64(row+1), 10)
				b = append(b, ';')
				b = strconv.AppendInt(b, int64(col+1), 10)
				b = append(b, 'H')
			}
			if s.style != now {
				b = s.style.append(append(b, esc...))
				now = s.style
			}
			b = utf8.AppendRune(b, s.char)
			at = col + 1
		}
	}
	if now != (style{}) {
		b = append(append(b, esc...), "[0m"...)
	}
	return b
}

// append appends the code of the style after esc.
func (s style) append(b []byte) []byte {
	b = append(b, "[0"...)
	if s.bold {
		b = append(b, ";1"...)
	}
	if s.blink {
		b = append(b, ";5"...)
	}
	if s.reverse {
		b = append(b, ";7"...)
	}
	if s.color > 0 {
		b = append(b, ";3"...)
		b = append(b, byte('0'+s.color-1))
	}
	return append(b, 'm')
}
