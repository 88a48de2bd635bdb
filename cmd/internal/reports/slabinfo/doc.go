// Package slabinfo implements pcp-slabinfo of version 7, which reports the object caches of the kernel, live
// or from archives.
//
//	pcp slabinfo
//	pcp -a archive slabinfo -s 1
package slabinfo
