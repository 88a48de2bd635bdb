// Package numastat implements pcp-numastat, which reports memory allocation of NUMA nodes like numastat(8), live or
// from archives.
//
//	pcp numastat -w 80
package numastat
