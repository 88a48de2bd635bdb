package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of sockstatMetrics.
const (
	blockSockstat = iota
	blockSockstat6
)

// A sockstatReader reads /proc/net/sockstat or sockstat6: lines such as "TCP:
// inuse 10 orphan 0". The key of a number is "TCP.inuse".
type sockstatReader struct {
	out *column.Block
	key []byte
}

func sockstatFamily(h *host) column.Family {
	b := column.NewBlocks(sockstatMetrics, []column.Layout{blockSockstat: {}, blockSockstat6: {}}...)
	r, r6 := &sockstatReader{out: b[blockSockstat]}, &sockstatReader{out: b[blockSockstat6]}
	return column.Family{Name: "sockstat", Metrics: sockstatMetrics, Sources: []*column.Source{{
		Name: "/proc/net/sockstat", Blocks: b, Scope: scopeNet,
		Read: bothFiles(
			oneFile{h.wholeFile("proc/net/sockstat"), r.parse, r.out},
			oneFile{h.wholeFile("proc/net/sockstat6"), r6.parse, r6.out},
		),
	}}}
}

func (r *sockstatReader) parse(b []byte) {
	out := r.out
	out.Clear()
	for line := range procfs.Lines(b) {
		what, line, ok := procfs.Cut(line, ':')
		if !ok {
			continue
		}
		for {
			var name []byte
			if name, line = procfs.Field(line); len(name) == 0 {
				break
			}
			v, rest, ok := procfs.Int(line)
			if !ok {
				break
			}
			line = rest
			r.key = append(append(append(r.key[:0], what...), '.'), name...)
			if col, ok := out.Keys()[string(r.key)]; ok {
				out.Set(0, col, uint64(v))
			}
		}
	}
}

// sockstatMetrics are the metrics of /proc/net/sockstat and sockstat6.
var sockstatMetrics = []column.Metric{
	{Name: "network.sockstat.total", Cluster: 11, Item: 9, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "sockets.used", Help: "Sockets in use, of all protocols"},
	{Name: "network.sockstat.tcp.inuse", Cluster: 11, Item: 0, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "TCP.inuse", Help: "TCP sockets in use"},
	{Name: "network.sockstat.tcp.orphan", Cluster: 11, Item: 10, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "TCP.orphan", Help: "TCP sockets without a process"},
	{Name: "network.sockstat.tcp.tw", Cluster: 11, Item: 11, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "TCP.tw", Help: "TCP sockets in the state TIME_WAIT"},
	{Name: "network.sockstat.tcp.alloc", Cluster: 11, Item: 12, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "TCP.alloc", Help: "TCP sockets allocated"},
	{Name: "network.sockstat.tcp.mem", Cluster: 11, Item: 13, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "TCP.mem", Help: "Pages of memory for TCP sockets"},
	{Name: "network.sockstat.udp.inuse", Cluster: 11, Item: 3, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "UDP.inuse", Help: "UDP sockets in use"},
	{Name: "network.sockstat.udp.mem", Cluster: 11, Item: 14, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "UDP.mem", Help: "Pages of memory for UDP sockets"},
	{Name: "network.sockstat.udplite.inuse", Cluster: 11, Item: 8, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "UDPLITE.inuse", Help: "UDPLITE sockets in use"},
	{Name: "network.sockstat.raw.inuse", Cluster: 11, Item: 6, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "RAW.inuse", Help: "RAW sockets in use"},
	{Name: "network.sockstat.frag.inuse", Cluster: 11, Item: 15, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "FRAG.inuse", Help: "FRAG sockets in use"},
	{Name: "network.sockstat.frag.memory", Cluster: 11, Item: 16, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat, Key: "FRAG.memory", Help: "Bytes of memory for FRAG queues"},
	{Name: "network.sockstat.tcp6.inuse", Cluster: 73, Item: 0, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat6, Key: "TCP6.inuse", Help: "TCP6 sockets in use"},
	{Name: "network.sockstat.udp6.inuse", Cluster: 73, Item: 1, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat6, Key: "UDP6.inuse", Help: "UDP6 sockets in use"},
	{Name: "network.sockstat.udplite6.inuse", Cluster: 73, Item: 2, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat6, Key: "UDPLITE6.inuse", Help: "UDPLITE6 sockets in use"},
	{Name: "network.sockstat.raw6.inuse", Cluster: 73, Item: 3, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat6, Key: "RAW6.inuse", Help: "RAW6 sockets in use"},
	{Name: "network.sockstat.frag6.inuse", Cluster: 73, Item: 4, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat6, Key: "FRAG6.inuse", Help: "FRAG6 sockets in use"},
	{Name: "network.sockstat.frag6.memory", Cluster: 73, Item: 5, Type: pcp.Type32, Sem: instant, Units: count, From: blockSockstat6, Key: "FRAG6.memory", Help: "Bytes of memory for FRAG6 queues"},
}
