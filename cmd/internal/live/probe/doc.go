// Package probe is pmprobe: it prints which metrics have values, and how many,
// one line for each.
//
//	pmprobe disk.dev
//	pmprobe -v kernel.all.load
//	pmprobe -I kernel.all.load
//
// With --json, which the C tool does not have, a line is one JSON object.
package probe
