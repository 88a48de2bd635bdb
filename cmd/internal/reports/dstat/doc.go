// Package dstat implements pcp-dstat, which prints groups of metrics side by side, a line for each
// interval, live or from archives. A plugin defines a group: it is a section of a file in the format
// of pcp-dstat(5).
//
//	pcp dstat -tcdn 5
//	pcp -a archive dstat --top-cpu -o table.csv 60 10
//
// File definitions.go reads the files of plugins, plugin.go parses their lines, and fetch.go fetches the
// metrics; title.go has the headings, report.go the lines, csv.go the lines of a file, column.go a single
// figure. Installed plugins are used unchanged. If there are none, those in plugins.conf are used.
package dstat
