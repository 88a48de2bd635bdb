// Package slabinfo is pcp-slabinfo of version 7: the caches of objects in the kernel, live or from archives.
//
//	pcp slabinfo
//	pcp -a archive slabinfo -s 1
package slabinfo
