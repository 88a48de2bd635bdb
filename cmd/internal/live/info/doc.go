// Package info is pminfo: it shows the names of metrics, their properties, and
// their values.
//
//	pminfo                             list the names of all metrics
//	pminfo -dfmtT kernel.all.load      show everything about one
//	pminfo -f disk.dev                 values of all metrics below a name
//
// Metrics are also selected by identifier, 60.0.20, and instance domains by
// theirs, 60.1. Requests are sent for a batch of metrics at a time.
//
// With --json, which the C tool does not have, a line is one JSON object: a
// metric with the requested properties.
//
//	pminfo --json -df kernel.all.load
//	{"name":"kernel.all.load","type":"FLOAT","indom":"60.2","semantics":"instant",
//	"time":"2026-01-02T03:04:05.678Z","instances":[{"inst":1,"name":"1 minute","value":0.25},...]}
package info
