package ui

import "slices"

// A list is the cursor in a table, and the order of its rows.
type list struct {
	cursor, top int
	by          int // the number of the field by which the rows are sorted, from 1; 0 for their own order
	reverse     bool
	order       []int // of the rows, once they were drawn
}

// sortBy sorts by a field, in the reverse order if that is so already.
func (l *list) sortBy(field int) {
	l.reverse = l.by == field && !l.reverse
	l.by = field
}

// sorted reports whether the rows are not in their own order.
func (l *list) sorted(fields []field) bool {
	return l.by > 0 && l.by <= len(fields) && fields[l.by-1].sorts()
}

// arrange puts n rows into their order.
func (l *list) arrange(n int, fields []field) {
	l.order = l.order[:0]
	for i := range n {
		l.order = append(l.order, i)
	}
	if !l.sorted(fields) {
		return
	}
	f := &fields[l.by-1]
	slices.SortStableFunc(l.order, func(a, b int) int {
		if l.reverse {
			a, b = b, a
		}
		return f.compare(a, b)
	})
}

// row returns the index of the row at the cursor.
func (l *list) row() int {
	if l.cursor < len(l.order) {
		return l.order[l.cursor]
	}
	return l.cursor
}

// scroll scrolls the cursor into view.
func (l *list) scroll(rows, height int) {
	l.cursor = max(0, min(l.cursor, rows-1))
	if l.cursor < l.top {
		l.top = l.cursor
	}
	if l.cursor >= l.top+height {
		l.top = l.cursor - height + 1
	}
	l.top = max(0, min(l.top, rows-height))
}
