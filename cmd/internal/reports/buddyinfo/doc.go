// Package buddyinfo implements pcp-buddyinfo of version 7, which reports the free blocks of each size of
// the kernel's allocator, live or from archives.
//
//	pcp buddyinfo
//	pcp -a archive buddyinfo -u
package buddyinfo
