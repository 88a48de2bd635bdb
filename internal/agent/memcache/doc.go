// Package memcache is the agent for memcached: its answers to stats and stats slabs.
//
//	a, err := memcache.New(memcache.Config{Servers: []string{"127.0.0.1:11211"}})
//
// Each server is an instance: HOST:PORT, or the path of a Unix socket. Names and numbers of metrics are those of pmdamemcache(1).
package memcache
