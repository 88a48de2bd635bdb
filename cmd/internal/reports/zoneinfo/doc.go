// Package zoneinfo implements pcp-zoneinfo of version 7, which reports the memory zones of each node in the lines of
// /proc/zoneinfo, live or from archives.
//
//	pcp zoneinfo
//	pcp -a archive zoneinfo -s 1
package zoneinfo
