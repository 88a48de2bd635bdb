// Package logreduce implements pmlogreduce, which reduces an archive to values at
// intervals instead of all recorded values.
//
//	pmlogreduce -t 10min 20260101 small
//
// A value of the output is the value of the input at that time, interpolated as
// pmFetch(3) does. An instance has a value only if it was recorded in the interval
// before, or has not been written yet. Counters of 32 bits become counters of 64 bits,
// event records and aggregates are left out, and marks are kept.
package logreduce
