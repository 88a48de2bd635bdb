package screen

import (
	"strconv"
	"unicode/utf8"
)

// A style is how a cell of a terminal looks.
type style struct {
	color                int // of the text, counted from 1; 0: the usual one
	bold, blink, reverse bool
}

// A spot is a cell of a terminal.
type spot struct {
	char  rune
	style style
}

// A Canvas is what a terminal is to show.
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

// put writes text where the cursor is. What is beyond the right edge goes on in the next line.
func (c *Canvas) put(s string) {
	for _, r := range s {
		if r == utf8.RuneError || r < ' ' {
			r = '?'
		}
		if c.col >= c.Cols {
			c.row, c.col = c.row+1, 0
		}
		if c.row >= 0 && c.row < c.Rows && c.col >= 0 {
			c.spots[c.row*c.Cols+c.col] = spot{r, c.style}
		}
		c.col++
	}
}

// Say shows a message in a line instead of what is there.
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

// Text returns what is shown, without colors, for tests.
func (c *Canvas) Text() string {
	var b []byte
	for row := range c.Rows {
		line := c.spots[row*c.Cols : (row+1)*c.Cols]
		end := len(line)
		for end > 0 && line[end-1].char == ' ' && line[end-1].style == (style{}) {
			end--
		}
		for _, s := range line[:end] {
			b = utf8.AppendRune(b, s.char)
		}
		b = append(b, '\n')
	}
	return string(b)
}

// Append appends the codes that make a terminal that shows before show c; nil is one that shows nothing.
func (c *Canvas) Append(b []byte, before *Canvas) []byte {
	if before != nil && (before.Rows != c.Rows || before.Cols != c.Cols) {
		before = nil
	}
	if before == nil {
		b = append(b, "\x1b[0m\x1b[2J"...)
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
			if at != col {
				b = append(b, "\x1b["...)
				b = strconv.AppendInt(b, int64(row+1), 10)
				b = append(b, ';')
				b = strconv.AppendInt(b, int64(col+1), 10)
				b = append(b, 'H')
			}
			if s.style != now {
				b = s.style.append(b)
				now = s.style
			}
			b = utf8.AppendRune(b, s.char)
			at = col + 1
		}
	}
	if now != (style{}) {
		b = append(b, "\x1b[0m"...)
	}
	return b
}

func (s style) append(b []byte) []byte {
	b = append(b, "\x1b[0"...)
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
