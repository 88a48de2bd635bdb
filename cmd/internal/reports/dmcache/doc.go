// Package dmcache implements pcp-dmcache and pcp-lvmcache, which report the use of device mapper
// caches, live or from archives.
//
//	pcp dmcache
//	pcp -a archive dmcache -i dmcache1
package dmcache
