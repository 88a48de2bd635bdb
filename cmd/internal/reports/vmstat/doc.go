// Package vmstat implements pcp-vmstat, which is pmstat with the arguments of
// vmstat(8).
//
//	pcp vmstat 5 10
package vmstat
