// Package logreduce is pmlogreduce: it makes a smaller archive of one, with
// values at intervals instead of all that were recorded.
//
//	pmlogreduce -t 10min 20260101 small
//
// A value of the output is that of the input at the time, interpolated as
// pmFetch(3) does. An instance has one only if it was recorded in the interval
// before, or was never written yet. Counters of 32 bits become such of 64, event
// records and aggregates are left out, and marks stay.
package logreduce
