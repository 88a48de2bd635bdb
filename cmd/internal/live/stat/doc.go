// Package stat is pmstat: it prints a line on the activity of a host, again and
// again.
//
//	pmstat -t 2
//	pmstat -h app1 -h app2 -l
//
// Memory is in KiB, or MiB with an m; rates are by second, in thousands with
// a K; processor time is in percent.
package stat
