package linux

import (
	"bytes"
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// extfragFamily reads a file of debugfs, which is mounted on few machines and for root
// alone: without it there are no values.
func extfragFamily(h *host, cpus *cpuReader) column.Family {
	const name = "sys/kernel/debug/extfrag/unusable_index"
	b := column.NewBlocks(extfragMetrics, column.Layout{Cols: 1, InDom: cpus.nodeInDom})
	file := h.file(name)
	return column.Family{Name: "extfrag", Metrics: extfragMetrics, Sources: []*column.Source{{
		Name: "/" + name, Blocks: b,
		Read: func() error {
			text, err := file.Read()
			if err != nil {
				text = nil
			}
			parseExtfrag(text, cpus.survey(), b[0])
			return nil
		},
	}}}
}

// parseExtfrag sums up, for the zone Normal of each node, a line such as
//
//	Node 0, zone   Normal 0.000 0.001 0.003
//
// with a number for each order of allocation.
func parseExtfrag(b []byte, t *topology, out *column.Block) {
	out.Clear()
	for line := range procfs.Lines(b) {
		line, ok := bytes.CutPrefix(line, []byte("Node "))
		if !ok {
			continue
		}
		id, line, ok := procfs.Uint(line)
		line, comma := bytes.CutPrefix(line, []byte(","))
		_, line = procfs.Field(line) // "zone"
		zone, line := procfs.Field(line)
		if !ok || !comma || string(zone) != "Normal" {
			continue
		}
		var sum float32
		n := 0
		for ; ; n++ {
			v, rest, ok := procfs.Float(line)
			if !ok {
				break
			}
			sum, line = sum+float32(v), rest
		}
		for i, node := range t.nodes {
			if n > 0 && uint64(node.id) == id && !out.Has(int32(i)) {
				out.Set(out.Add(int32(i)), 0, uint64(math.Float32bits(sum)))
			}
		}
	}
}

// extfragMetrics are the metrics of the fragmentation of memory.
var extfragMetrics = []column.Metric{
	{Name: "sysfs.kernel.debug.extfrag_unusable", Cluster: 35, Item: 1, Type: pcp.TypeFloat, Sem: instant, Help: "Free memory too fragmented to use, summed over orders, in each zone Normal"},
}
