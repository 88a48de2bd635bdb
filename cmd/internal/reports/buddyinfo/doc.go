// Package buddyinfo is pcp-buddyinfo of version 7: how many blocks of each size the kernel's allocator has
// free, live or from archives.
//
//	pcp buddyinfo
//	pcp -a archive buddyinfo -u
package buddyinfo
