// Package logsummary is pmlogsummary: averages, extremes, sums and value
// distributions of the metrics of an archive.
//
// One goroutine reads records and finds the sets of values in them, two others
// take in the values, each those of its own metrics: what a metric's values sum
// up to depends on their order, but not on other metrics.
package logsummary
