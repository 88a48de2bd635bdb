// Package export has the programs that send metrics elsewhere: pcp2json, pcp2xml and the others (pcp2json(1)). They differ
// in what a sample becomes and where it goes; what they share is package metricset's.
//
// Each program is a format in formats.go: its options, its defaults, and a function that makes its exporter, which
// renders samples. What goes to a server goes through an outbox, which keeps a bounded number of samples while the server is
// away and delivers them in order when it is back.
package export
