// Package column is for agents that read files with many values, such as those of /proc.
//
// A [Source] is a file, or a few that are read together. Its parser fills one or
// more blocks: a [Block] is a table with a row for each instance and a column for
// each quantity. A [Metric] is a column of a block: it has the metric's name, PMID,
// type, units and help. Related metrics are a [Family], and an [Agent] serves any
// number of families:
//
//	metrics := []column.Metric{{
//		Name: "load.runnable", Type: pcp.TypeU32, Sem: pcp.SemInstant, Help: "Tasks that can run",
//	}}
//	blocks := column.NewBlocks(metrics, column.Layout{Cols: 1})
//	src := &column.Source{
//		Name:   "/proc/loadavg",
//		File:   column.NewFile("/proc/loadavg"),
//		Parse:  func(b []byte) { … blocks[0].Set(0, 0, n) },
//		Blocks: blocks,
//	}
//	a, err := column.New(column.Config{Name: "load", Domain: 300},
//		column.Family{Name: "load", Metrics: metrics, Sources: []*column.Source{src}})
//
// The agent reads only the sources of the wanted metrics, each once for any number
// of clients, and a fetch copies cells. In the steady state neither allocates. A
// source that cannot be read leaves its metrics without values, and is logged once.
//
// Where each instance needs its own reading, as a process does, Source.Row fills one row,
// and only the rows that a client wants are filled.
//
// A metric names its column by a number, Col, or by what the file calls it, Key; the
// block numbers the keys. [Names] gives instances that have no number of their own
// the numbers 0, 1, 2, … in the order in which they first appear.
//
// Nothing here but [Numbers] is safe for concurrent use: like every [pmda.Agent], an
// Agent serves one call at a time.
package column
