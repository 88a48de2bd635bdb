// Package txmon is an agent that shows how programs pass measurements to an agent
// through shared memory: it counts transactions by type and adds up their
// durations, as programs record them.
//
//	a, err := txmon.New(txmon.Config{Types: []string{"query", "update"}})
//
// and in each program
//
//	rec, err := txmon.Attach(0)
//	rec.Record("query", 0.25)
//
// The memory is a System V segment with the key and layout of the C agent, so
// that programs of either implementation work with the other's agent. Its words
// have the byte order of the machine:
//
//	0      level    recorded values: 0 none, 1 counts, 2 times too
//	4      n        how many types there are
//	8      index    of each the offset of its record
//
// Then, each at a multiple of 32 bytes, the records:
//
//	0      type         the name, closed by a NUL; 20 bytes
//	20     reset_count  what count was when the times were reset
//	24     count        transactions
//	28     max_time     float, in seconds; -1 after a reset
//	32     sum_time     double, in seconds
//
// Part of the format; do not change. As in C there is no lock: if two programs
// record a transaction of the same type at the same moment, one may be lost. A
// Recorder may be used by many goroutines.
//
// Any process may write to the segment, so the agent does not rely on any offset
// or count in it, and a Recorder checks them.
package txmon
