// Package dmcache is pcp-dmcache and pcp-lvmcache: how caches of the device mapper are used, live or
// from archives.
//
//	pcp dmcache
//	pcp -a archive dmcache -i dmcache1
package dmcache
