// Package meminfo implements pcp-meminfo of version 7, which reports the use of memory in the lines of
// /proc/meminfo, live or from archives.
//
//	pcp meminfo
//	pcp -a archive -S @10:00 meminfo -s 1
package meminfo
