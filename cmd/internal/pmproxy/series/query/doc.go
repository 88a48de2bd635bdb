// Package query is the language of pmseries(1), which finds time series and
// calculates with them.
//
//	kernel.all.load                                      the series of a metric, on all hosts
//	disk.dev.*{hostname == "a", instance.name =~ "^sd"}  of some metrics, hosts and instances
//	kernel.all.load[samples: 10]                         values: the newest ten
//	rate(disk.dev.read[start: "@10:00", interval: 60])   values, calculated
//	rate(disk.dev.read) + rate(disk.dev.write)           a series that is calculated when it is read
//
// [Parse] reads a query. [Engine.Query] finds the series that it means, in a
// [Source]; or, if it has a time window, their values. A query with functions or
// arithmetic and without a window is a series of its own: its identifier is made
// of the canonical form of the expression, and is the one that PCP gives it.
//
// What the C implementation accepts this package accepts, and its messages and
// identifiers are the same. Where it answers nonsense or dies this package
// answers what pmseries(1) says: docs/differences.md lists that.
package query
