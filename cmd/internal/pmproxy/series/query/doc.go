// Package query implements the language of pmseries(1), which finds time series
// and calculates with them.
//
//	kernel.all.load                                      the series of a metric, on all hosts
//	disk.dev.*{hostname == "a", instance.name =~ "^sd"}  of some metrics, hosts and instances
//	kernel.all.load[samples: 10]                         values: the newest ten
//	rate(disk.dev.read[start: "@10:00", interval: 60])   values, calculated
//	rate(disk.dev.read) + rate(disk.dev.write)           a series that is calculated when it is read
//
// [Parse] parses a query. [Engine.Query] finds the matching series in a
// [Source]; or, if the query has a time window, their values. A query with
// functions or arithmetic and without a window is a series of its own. Its
// identifier is computed from the canonical form of the expression, and is the
// same as PCP's.
//
// The package accepts all queries that the C implementation accepts, with the
// same messages and identifiers. In cases where the C implementation returns
// nonsense or crashes, it behaves as documented in pmseries(1);
// docs/differences.md lists these cases.
package query
