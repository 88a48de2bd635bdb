// Package screen shows samples as pcp-atop does: lines about the system and below them a list of processes, as text
// or on a terminal.
//
//	p := screen.New(&screen.Settings{…}, sampler)
//	b := p.Text(b, &screen.Input{Deviation: d, Time: t, Seconds: 10})
//
// The tables define the contents: the files fields_*.go the fields of the lines about the system, lines.go the
// lines themselves, columns_*.go the columns of processes and lists.go the lists made of them.
package screen
