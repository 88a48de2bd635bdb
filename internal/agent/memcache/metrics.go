package memcache

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/service"
)

// metrics returns the table.
func metrics(servers *service.InDom) []service.Metric {
	const instant, counter = pcp.SemInstant, pcp.SemCounter
	count, bytes := pcp.Units{DimCount: 1}, pcp.Units{DimSpace: 1}
	return []service.Metric{
		{Name: "memcache.pid", Item: 0, Type: pcp.TypeU32, InDom: servers, Sem: instant, Help: "Process of the server"},
		{Name: "memcache.uptime", Item: 1, Type: pcp.TypeU32, InDom: servers, Sem: instant, Help: "Seconds since the server started"},
		{Name: "memcache.current_items", Item: 2, Type: pcp.TypeU32, InDom: servers, Sem: instant, Key: "curr_items", Help: "Items in the cache"},
		{Name: "memcache.total_items", Item: 3, Type: pcp.TypeU32, InDom: servers, Sem: instant, Help: "Items stored since the start"},
		{Name: "memcache.bytes", Item: 4, Type: pcp.TypeU64, InDom: servers, Sem: instant, Units: bytes, Help: "Bytes of the items in the cache"},
		{Name: "memcache.current_connections", Item: 5, Type: pcp.TypeU32, InDom: servers, Sem: instant, Key: "curr_connections", Help: "Connections of clients"},
		{Name: "memcache.total_connections", Item: 6, Type: pcp.TypeU32, InDom: servers, Sem: counter, Units: count, Help: "Connections since the start"},
		{Name: "memcache.connection_structures", Item: 7, Type: pcp.TypeU32, InDom: servers, Sem: instant, Help: "Structures for connections that the server has allocated"},
		{Name: "memcache.gets", Item: 8, Type: pcp.TypeU32, InDom: servers, Sem: counter, Units: count, Key: "cmd_get", Help: "Requests to read an item"},
		{Name: "memcache.sets", Item: 9, Type: pcp.TypeU32, InDom: servers, Sem: counter, Units: count, Key: "cmd_set", Help: "Requests to store an item"},
		{Name: "memcache.hits", Item: 10, Type: pcp.TypeU32, InDom: servers, Sem: counter, Units: count, Key: "get_hits", Help: "Reads of items that were in the cache"},
		{Name: "memcache.misses", Item: 11, Type: pcp.TypeU32, InDom: servers, Sem: counter, Units: count, Key: "get_misses", Help: "Reads of items that were not in the cache"},
		{Name: "memcache.bytes_read", Item: 12, Type: pcp.TypeU64, InDom: servers, Sem: counter, Units: bytes, Help: "Bytes received from clients"},
		{Name: "memcache.bytes_written", Item: 13, Type: pcp.TypeU64, InDom: servers, Sem: counter, Units: bytes, Help: "Bytes sent to clients"},
		{Name: "memcache.limit_maxbytes", Item: 14, Type: pcp.TypeU32, InDom: servers, Sem: instant, Units: bytes, Help: "Limit of the bytes of items"},
		{Name: "memcache.active_slabs", Cluster: 2, Item: 0, Type: pcp.TypeU32, InDom: servers, Sem: instant, Help: "Classes of slabs in use"},
		{Name: "memcache.total_malloced", Cluster: 2, Item: 1, Type: pcp.TypeU32, InDom: servers, Sem: instant, Units: bytes, Help: "Memory allocated for slabs"},
	}
}
