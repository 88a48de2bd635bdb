// Package export has the programs that send metrics elsewhere: pcp2json, pcp2xml and the others (pcp2json(1)). They differ
// in the form and the destination of a sample; the common part is package metricset.
//
// Each program is a format in formats.go: its options, its defaults, and a function that makes its exporter, which
// renders samples. Messages to a server go through an outbox, which keeps a bounded number of
// samples while the server is away and delivers them in order when it is back.
package export
