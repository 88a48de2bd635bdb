// Package screen draws on a grid of cells: text, bars, graphs and tables of one place of a terminal or of a
// plain text.
//
//	g := screen.New(80, 24)
//	a := g.All()
//	a.Text(0, 0, screen.Title, "CPU")
//	os.Stdout.WriteString(g.Plain())
//
// A cell has a style that is a role, not a colour; a [Theme] says what roles look like. Text comes from
// anywhere, so that control characters do not reach a cell, and characters that take two cells do. Nothing is drawn
// outside an [Area], however small it is.
package screen
