// Package objects writes samples as JSON: pcp atop --json. Each line is a row of the table of a label of -P, with
// names for its columns. Figures are the changes in the interval before the sample, or the values at its time; times
// are milliseconds and sizes KiB.
//
//	p := objects.Printer{Chosen: chosen, Host: "web1"}
//	b = p.Append(b, d, at, 10)
package objects
