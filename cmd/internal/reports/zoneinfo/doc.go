// Package zoneinfo is pcp-zoneinfo of version 7: the zones of memory of each node, in the lines of /proc/zoneinfo, live or
// from archives.
//
//	pcp zoneinfo
//	pcp -a archive zoneinfo -s 1
package zoneinfo
