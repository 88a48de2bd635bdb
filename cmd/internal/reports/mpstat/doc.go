// Package mpstat implements pcp-mpstat, which reports the use of processors and their interrupts like mpstat(1), live
// or from archives.
//
//	pcp mpstat -P ALL
//	pcp -a archive mpstat -I SUM
package mpstat
