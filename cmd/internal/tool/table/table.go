package table

import (
	"fmt"

	"github.com/go-pcp/pcp/pcpjson"
)

// A Cell is a value in a row, or an unknown value.
type Cell interface {
	// String returns the value in text.
	String() string
	// AddTo adds the value to the columns of a row in JSON, null if it is unknown.
	AddTo(c *pcpjson.Columns, name string)
}

// A Column is a column of a table whose rows are made of values of type R.
type Column[R any] struct {
	Name   string // in JSON; a column without a name is only in text
	Title  string // above the column
	Format string // of the title and the cells in text, such as "\t%-8s"; a column without a format is only in JSON
	Cell   func(row R) Cell
}

// Columns are the columns of a table, from left to right.
type Columns[R any] []Column[R]

// Titles returns the part of the heading that is above the columns.
func (c Columns[R]) Titles() string {
	var b []byte
	for i := range c {
		if c[i].Format != "" {
			b = fmt.Appendf(b, c[i].Format, c[i].Title)
		}
	}
	return string(b)
}

// Line returns the columns of a row in text.
func (c Columns[R]) Line(row R) string {
	var b []byte
	for i := range c {
		if c[i].Format != "" {
			b = fmt.Appendf(b, c[i].Format, c[i].Cell(row).String())
		}
	}
	return string(b)
}

// AddTo adds the columns of a row to those in JSON.
func (c Columns[R]) AddTo(to *pcpjson.Columns, row R) {
	for i := range c {
		if c[i].Name != "" {
			c[i].Cell(row).AddTo(to, c[i].Name)
		}
	}
}

// A Text is a cell of text.
type Text string

// String implements Cell.
func (t Text) String() string { return string(t) }

// AddTo implements Cell.
func (t Text) AddTo(c *pcpjson.Columns, name string) { c.Text(name, string(t)) }

// A Fixed is a number with its text in a layout of the report.
type Fixed struct {
	F    float64
	Text string
}

// String implements Cell.
func (f Fixed) String() string { return f.Text }

// AddTo implements Cell.
func (f Fixed) AddTo(c *pcpjson.Columns, name string) { c.Number(name, f.F) }
