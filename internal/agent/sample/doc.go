// Package sample is the agent with every kind of metric, for testing programs
// that read metrics (domain 29): all types and units, counters that wrap, event
// records, instances and names that come and go, values that are missing, wrong
// or too many, errors of every kind, and stores into most of it.
//
// Names, identifiers, descriptors, instances, labels and the effect of stores
// are those of the C agent of PCP 6.0, because scripts depend on its behaviour;
// values are the C agent's, too, even where it draws random numbers, except times
// and process numbers. A value that looks odd in the table is odd on purpose.
//
// Each file has one subject: the rows of its metrics and their state.
package sample
