// Package trace counts the PDUs of a collector and keeps the trace of events
// between it, its clients and its agents, in the words and the layout of the C
// collector's log.
package trace
