// Package pidstat is pcp-pidstat: what processes use, as pidstat(1) shows it, live or from
// archives.
//
//	pcp pidstat
//	pcp -a archive pidstat -r
package pidstat
