package screen

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// A column is a figure of a process.
type column struct {
	name  string // in an atoprc
	head  string
	width int // 0: as wide as there is room
	// active puts the figure of a running process, exited that of an ended one; without exited both are the
	// same.
	active func(x *row)
	exited func(x *row)
}

// A row is the input of columns.
type row struct {
	p       *Printer
	t       *sample.Task
	b       []byte
	seconds float64
	average bool
}

// div is the interval for averages, 0 for totals.
func (x *row) div() int {
	if x.average {
		return int(x.seconds)
	}
	return 0
}

func (x *row) text(s string) { x.b = append(x.b, s...) }

// always returns an exited that puts the same.
func always(s string) func(x *row) { return func(x *row) { x.text(s) } }

// pidWidth marks columns that are as wide as the numbers of processes.
const pidWidth = -1

// sortWidth marks the column of the share by which processes are sorted.
const sortWidth = -2

// A cell is a column in a list, with its priority.
type cell struct {
	*column
	priority int
}

// cells finds the columns of a list. An error is in the words of C.
func cells(text, what string) ([]cell, error) {
	list, err := pairs(text, what)
	if err != nil {
		return nil, err
	}
	var found []cell
	all := columns()
	for _, p := range list {
		i := slices.IndexFunc(all, func(c column) bool { return c.name == p.name })
		if i < 0 {
			//lint:ignore ST1005 these are the words of the C program, to the user
			return nil, fmt.Errorf("atoprc - ownprocline: item %s invalid!", p.name)
		}
		found = append(found, cell{&all[i], p.priority})
	}
	return found, nil
}

// columnWidth returns the width of a column.
func (p *Printer) columnWidth(c *column) int {
	switch c.width {
	case pidWidth:
		return p.pidWidth
	case sortWidth:
		return p.sortWidth
	}
	return c.width
}

// fit leaves out the columns of the least priority until the others fit, and returns the space after each.
func (p *Printer) fit(list []cell) ([]cell, []int) {
	width := p.width()
	list = slices.Clone(list)
	sum, wide := 0, 0
	for _, c := range list {
		sum += p.columnWidth(c.column)
		if c.width == 0 {
			wide++
		}
	}
	if len(list) == 1 {
		return list, []int{0}
	}
	for sum+len(list)-1+12*wide > width && len(list) > 0 {
		least := 0
		for i := range list {
			if list[i].priority < list[least].priority {
				least = i
			}
		}
		if sum -= p.columnWidth(list[least].column); list[least].width == 0 {
			wide--
		}
		list = slices.Delete(list, least, least+1)
	}
	spaces := make([]int, len(list))
	switch {
	case wide > 0:
		for i := range spaces {
			spaces[i] = 1
		}
		p.wideWidth = width - sum - (len(list) - 1)
	case len(list) > 1:
		over := float64(width-sum) / float64(len(list)-1)
		todo := over
		for i := range len(list) - 1 {
			spaces[i] = int(float64(int(todo)) + 0.5)
			todo += over - float64(spaces[i])
		}
	}
	return list, spaces
}

// head prints the heads of columns, and on a terminal the page.
func (p *Printer) head(list []cell, page, pages int, order byte, auto bool) {
	p.fitted, p.spaces = p.fit(list)
	if !p.onScreen() {
		p.print("\n")
	}
	b := p.tmp[:0]
	limit := p.width() + 1 // C's buffer has two more
	room := func() { b = b[:min(len(b), limit)] }
	for i, c := range p.fitted {
		if c.width == sortWidth {
			if p.onScreen() {
				b = right(b, p.sortWidth-3, mark(auto))
			} else {
				b = append(b, mark(auto)...)
			}
			b = append(b, orderNames[order]...)
		} else {
			b = append(b, p.columnHead(c.column)...)
		}
		if p.onScreen() {
			b = right(b, p.spaces[i], "")
		} else {
			b = append(b, ' ')
		}
		room()
	}
	if p.onScreen() {
		where := fmt.Sprintf("%d/%d", page, pages)
		where = where[:min(len(where), 9)]
		switch free := p.width() - len(b) - len(where); {
		case free >= 0:
			b = right(b, free+len(where), where)
		case len(b)+free >= 0:
			b = append(b[:len(b)+free], where...)
		}
	}
	p.printBytes(b)
	p.tmp = b
	p.newline()
}

// mark returns the mark of an order of processes that was chosen automatically.
func mark(auto bool) string {
	if auto {
		return "A"
	}
	return " "
}

// columnHead returns the head of a column.
func (p *Printer) columnHead(c *column) string {
	if p.Seven && c.name == "CID" {
		return "CID/POD     "
	}
	if c.width == pidWidth && len(c.head) < p.pidWidth {
		return string(right(nil, p.pidWidth, c.head))
	}
	return c.head
}

// row prints the line of a process.
func (p *Printer) row(x *row, percent float64) {
	style := colorNone
	bold := false
	if p.onScreen() && p.Threads {
		if p.colored() && !x.t.IsProcess {
			style = colorThread
		}
		bold = !p.colored() && x.t.IsProcess
	}
	p.thread(style, bold, func() {
		for i, c := range p.fitted {
			x.b = x.b[:0]
			switch {
			case c.width == sortWidth:
				x.b = append(figure.Float(x.b, p.sortWidth-1, 0, percent), '%')
			case x.t.State == 'E' && c.exited != nil:
				c.exited(x)
			default:
				c.active(x)
			}
			p.printBytes(x.b)
			if p.onScreen() {
				p.print(blanks(p.spaces[i]))
			} else {
				p.print(" ")
			}
		}
	})
	p.newline()
}

// blanks returns n spaces.
func blanks(n int) string {
	const some = "                                                                                "
	if n <= len(some) {
		return some[:max(n, 0)]
	}
	return string(right(nil, n, ""))
}
