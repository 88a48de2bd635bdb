// Package logsummary implements pmlogsummary, which prints averages, extremes, sums and
// value distributions of the metrics of an archive.
//
// One goroutine reads records and finds the sets of values in them, two others process
// the values, each for its own metrics: the sums of a metric depend on the order of its
// values, but not on other metrics.
package logsummary
