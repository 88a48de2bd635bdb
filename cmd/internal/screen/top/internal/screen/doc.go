// Package screen draws on a grid of cells: text, bars, graphs and tables of one place of a terminal or of a
// plain text.
//
//	g := screen.New(80, 24)
//	a := g.All()
//	a.Text(0, 0, screen.Title, "CPU")
//	os.Stdout.WriteString(g.Plain())
//
// The style of a cell is a role, not a colour; a [Theme] defines the look of roles. Text is not trusted: control
// characters do not reach a cell; characters that take two cells do. Nothing is drawn outside an [Area], however
// small it is.
package screen
