// Package dstat is pcp-dstat: groups of metrics side by side, a line for each interval, live or from
// archives. What a group shows is a plugin, a section of a file in the format of pcp-dstat(5).
//
//	pcp dstat -tcdn 5
//	pcp -a archive dstat --top-cpu -o table.csv 60 10
//
// In definitions.go are the files of plugins, in plugin.go what their lines mean, in fetch.go the metrics of
// the source; title.go has the headings, report.go the lines, csv.go those for a file, column.go one
// figure. Installed plugins are used as they are. Where there are none, those in plugins.conf are.
package dstat
