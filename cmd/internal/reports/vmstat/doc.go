// Package vmstat is pcp-vmstat: pmstat with the arguments of vmstat(8).
//
//	pcp vmstat 5 10
package vmstat
