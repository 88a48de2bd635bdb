package screen

import "math"

// eighths are the blocks of graphs, from an eighth to a whole.
var eighths = [...]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// dots are the characters of sparklines in ASCII.
var dots = [...]rune{'_', '.', ',', '-', '~', '=', '+', '#'}

// A Segment is a part of a bar.
type Segment struct {
	Share float64 // of the whole bar
	Style Style
}

// Bar draws a bar of segments with a text at its right end: "[■■■■      34%]".
func (a Area) Bar(x, y, w int, segments []Segment, text string, style Style) {
	w = min(w, a.W-x)
	if w < 4 {
		return
	}
	a.Rune(x, y, Border, '[')
	a.Rune(x+w-1, y, Border, ']')
	inner := w - 2
	at, sum := 0, 0.0
	for _, s := range segments {
		if s.Share > 0 {
			sum += min(s.Share, 1)
		}
		end := min(inner, int(math.Round(sum*float64(inner))))
		for ; at < end; at++ {
			a.Rune(x+1+at, y, s.Style, a.glyph('■', '|'))
		}
	}
	for ; at < inner; at++ {
		a.Rune(x+1+at, y, Border, a.glyph('·', ' '))
	}
	if n := Width(text, inner); n > 0 && n <= inner {
		a.Text(x+1+inner-n, y, style, text)
	}
}

// Spark draws values as a line of blocks, the newest at the right. The largest of them, or most if that is
// larger, is a whole block.
func (a Area) Spark(x, y, w int, values []float64, most float64, style Style) {
	w = min(w, a.W-x)
	if w <= 0 || y < 0 || y >= a.H {
		return
	}
	if len(values) > w {
		values = values[len(values)-w:]
	}
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	blocks := &eighths
	if a.g.ascii {
		blocks = &dots
	}
	x += w - len(values)
	for i, v := range values {
		if math.IsNaN(v) || most <= 0 {
			continue
		}
		level := int(math.Ceil(v / most * 8))
		if level <= 0 {
			a.Rune(x+i, y, Border, blocks[0])
			continue
		}
		a.Rune(x+i, y, style, blocks[min(level, 8)-1])
	}
}

// Graph draws values as columns of blocks over the whole area, the newest at the right, and returns the value at the
// top. Most is the least value at the top. With levels the colour depends on the height, otherwise it is style.
func (a Area) Graph(values []float64, most float64, levels bool, style Style) float64 {
	if len(values) > a.W {
		values = values[len(values)-a.W:]
	}
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	if most <= 0 || a.W <= 0 || a.H <= 0 {
		return most
	}
	left := a.W - len(values)
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		height := int(math.Round(v / most * float64(8*a.H)))
		if v > 0 && height == 0 {
			height = 1
		}
		for row := range a.H {
			n := min(8, height-8*row)
			if n <= 0 {
				if row == 0 {
					a.Rune(left+i, a.H-1, Border, a.glyph('▁', '_'))
				}
				break
			}
			s := style
			if levels {
				s = Level0 + Style(min(3, (4*row)/max(1, a.H)))
			}
			r := eighths[n-1]
			if a.g.ascii {
				r = dots[n-1]
			}
			a.Rune(left+i, a.H-1-row, s, r)
		}
	}
	return most
}

// A Plot draws lines over an area, with twice as many places across and four times as many down as there are cells.
type Plot struct {
	Area Area
	Min  float64
	Max  float64
	bits []uint8
	styl []Style
}

// braille has the dots of a cell by row and column.
var braille = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// Places returns how many values fit next to each other.
func (p *Plot) Places() int {
	if p.Area.g.ascii {
		return p.Area.W
	}
	return 2 * p.Area.W
}

// Line draws values, the newest at the right.
func (p *Plot) Line(values []float64, style Style) {
	a := p.Area
	if a.W <= 0 || a.H <= 0 || !(p.Max > p.Min) {
		return
	}
	if p.bits == nil {
		p.bits, p.styl = make([]uint8, a.W*a.H), make([]Style, a.W*a.H)
	}
	wide, tall := p.Places(), 4*a.H
	if a.g.ascii {
		tall = a.H
	}
	if len(values) > wide {
		values = values[len(values)-wide:]
	}
	left := wide - len(values)
	before := -1
	for i, v := range values {
		if math.IsNaN(v) {
			before = -1
			continue
		}
		y := int(math.Round((v - p.Min) / (p.Max - p.Min) * float64(tall-1)))
		y = tall - 1 - max(0, min(tall-1, y))
		from, to := y, y
		if before >= 0 { // up or down from there
			switch {
			case before < y:
				from = before + 1
			case before > y:
				to = before - 1
			}
		}
		for yy := min(from, to); yy <= max(from, to); yy++ {
			p.dot(left+i, yy, style)
		}
		before = y
	}
}

func (p *Plot) dot(x, y int, style Style) {
	a := p.Area
	if a.g.ascii {
		p.styl[y*a.W+x], p.bits[y*a.W+x] = style, 1
		return
	}
	at := y/4*a.W + x/2
	p.bits[at] |= braille[y%4][x%2]
	p.styl[at] = style
}

// Draw puts the lines on the grid.
func (p *Plot) Draw() {
	for i, b := range p.bits {
		if b == 0 {
			continue
		}
		r := rune(0x2800) + rune(b)
		if p.Area.g.ascii {
			r = '*'
		}
		p.Area.Rune(i%p.Area.W, i/p.Area.W, p.styl[i], r)
	}
}

// Rule draws the title of a section over a line, and returns the area below it.
func (a Area) Rule(title, right string) Area {
	if a.H == 0 {
		return a
	}
	a.Fill(0, 0, a.W, Border, a.glyph('─', '-'))
	end := 0
	if title != "" {
		end = a.TextIn(1, 0, a.W-2, Title, " "+title+" ")
	}
	if n := Width(right, a.W); right != "" && end+n+3 < a.W {
		a.Text(a.W-n-3, 0, Dim, " "+right+" ")
	}
	return a.Rows(1, a.H-1)
}

// Box draws a frame with a title, and returns the area inside.
func (a Area) Box(title, right string) Area {
	if a.H < 2 || a.W < 4 {
		return a
	}
	corners := [...]rune{'╭', '╮', '╰', '╯', '─', '│'}
	if a.g.ascii {
		corners = [...]rune{'+', '+', '+', '+', '-', '|'}
	}
	a.Fill(0, 0, a.W, Border, corners[4])
	a.Fill(0, a.H-1, a.W, Border, corners[4])
	for y := 1; y < a.H-1; y++ {
		a.Rune(0, y, Border, corners[5])
		a.Rune(a.W-1, y, Border, corners[5])
	}
	a.Rune(0, 0, Border, corners[0])
	a.Rune(a.W-1, 0, Border, corners[1])
	a.Rune(0, a.H-1, Border, corners[2])
	a.Rune(a.W-1, a.H-1, Border, corners[3])
	end := 0
	if title != "" {
		end = a.TextIn(2, 0, a.W-4, Title, " "+title+" ")
	}
	if n := Width(right, a.W); right != "" && end+n+4 < a.W {
		a.Text(a.W-n-4, 0, Dim, " "+right+" ")
	}
	return a.Part(1, 1, a.W-2, a.H-2)
}

// Clear makes an area empty, for a box on top of other contents.
func (a Area) Clear() {
	for y := range a.H {
		a.Fill(0, y, a.W, Normal, ' ')
	}
}
