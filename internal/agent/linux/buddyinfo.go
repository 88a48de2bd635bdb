package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A buddyReader reads /proc/buddyinfo: free blocks of 2^order pages, by zone.
type buddyReader struct {
	blocks []*column.Block
	kb     uint64 // size of a page in Kbytes
	names  column.Names
	key    []byte
	labels []zoneLabel // by instance; lowmem is the order
}

// Columns of buddyMetrics.
const (
	buddyPages = iota
	buddyTotal
	numBuddy
)

func buddyFamily(h *host) column.Family {
	r := newBuddyReader(h)
	return column.Family{Name: "buddyinfo", Metrics: buddyMetrics, Sources: []*column.Source{{
		Name: "/proc/buddyinfo", File: h.file("proc/buddyinfo"), Parse: r.parse, Blocks: r.blocks,
	}}}
}

func newBuddyReader(h *host) *buddyReader {
	r := &buddyReader{kb: h.page >> 10}
	r.blocks = column.NewBlocks(buddyMetrics, column.Layout{Cols: numBuddy, Lists: true, InDom: &column.InDom{
		Serial: 31, Help: "Sizes of free memory blocks, by zone and node",
		Labels: `{"device_type":["memory","numa_node"],"indom_name":"per buddy per numa_node"}`,
		InstanceLabels: func(inst int32, _ string) map[string]any {
			l := r.labels[inst]
			return map[string]any{"numa_node": l.node, "zone": l.zone, "order": l.lowmem}
		},
	}})
	return r
}

// parse reads lines "Node 0, zone   Normal   626  242 ...".
func (r *buddyReader) parse(b []byte) {
	out := r.blocks[0]
	out.Clear()
	r.names.Begin()
	for line := range procfs.Lines(b) {
		if !bytes.HasPrefix(line, []byte("Node ")) {
			continue
		}
		node, line, ok := procfs.Uint(line[len("Node "):])
		word, line := procfs.Field(bytes.TrimPrefix(line, []byte(",")))
		zone, line := procfs.Field(line)
		if !ok || node >= maxCPU || string(word) != "zone" || len(zone) == 0 {
			continue
		}
		for order := 0; order < 64; order++ {
			v, rest, ok := procfs.Uint(line)
			if !ok {
				break
			}
			line = rest
			r.key = append(append(r.key[:0], zone...), "::order"...)
			r.key = append(strconv.AppendInt(r.key, int64(order), 10), "::node"...)
			inst, name := r.names.ID(strconv.AppendUint(r.key, node, 10))
			if int(inst) >= len(r.labels) {
				r.labels = append(r.labels, zoneLabel{int(node), order, string(zone)})
			}
			if !r.names.First(inst) {
				continue
			}
			row := out.AddNamed(inst, name)
			out.Set(row, buddyPages, v)
			out.Set(row, buddyTotal, v*r.kb<<order)
		}
	}
}

// buddyMetrics are the metrics of /proc/buddyinfo.
var buddyMetrics = []column.Metric{
	{Name: "mem.buddyinfo.pages", Cluster: 67, Item: 0, Type: pcp.TypeU64, Sem: instant, Col: buddyPages, Help: "Free blocks of 2^order pages"},
	{Name: "mem.buddyinfo.total", Cluster: 67, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: buddyTotal, Help: "Memory in free blocks of 2^order pages"},
}
