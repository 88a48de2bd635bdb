// Package mpstat is pcp-mpstat: what processors do, and their interrupts, as mpstat(1) shows it, live or from archives.
//
//	pcp mpstat -P ALL
//	pcp -a archive mpstat -I SUM
package mpstat
