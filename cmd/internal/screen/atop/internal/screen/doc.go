// Package screen shows samples as pcp-atop does: lines about the system and below them a list of processes, as text
// or on a terminal.
//
//	p := screen.New(&screen.Settings{…}, sampler)
//	b := p.Text(b, &screen.Input{Deviation: d, Time: t, Seconds: 10})
//
// The tables say what there is: fields of the lines about the system in the files fields_*.go, the lines
// themselves in lines.go, the columns of processes in columns_*.go and the lists made of them in lists.go.
package screen
