// Package numastat is pcp-numastat: memory allocation of NUMA nodes, as numastat(8) shows it, live or from archives.
//
//	pcp numastat -w 80
package numastat
