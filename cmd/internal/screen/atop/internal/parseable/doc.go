// Package parseable writes samples for programs: pcp-atop -P. Each line begins with a label and fields that are
// the same for the whole sample, followed by the figures of one resource or task, separated by spaces.
//
//	labels, err := parseable.Parse("CPU,DSK")
//	p := parseable.Printer{Labels: labels, Node: "web1"}
//	b = p.Append(b, &parseable.Input{Deviation: d, Time: t, Seconds: 10})
package parseable
