// Package chart is "pcp chart": it opens the page that shows a collector, or archives, with
// the charts that are asked for.
package chart
