// Package report prints for tools, in the layouts of the C tools: the descriptor of a
// metric, sets of labels with their indexes, the records of an event metric.
//
//	out = report.AppendDesc(out, &desc)
//	out = report.AppendLabelSets(out, ident, level, sets)
//
// The text of a single value is [pcp.Value.AppendPrint]'s, and JSON is package
// pcpjson's.
package report
