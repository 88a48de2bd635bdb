package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of swapMetrics.
const (
	swapFree = iota
	swapLength
	swapMax
	swapVirtual
	swapPriority
	numSwap
)

// A swapReader reads /proc/swaps.
type swapReader struct {
	blocks []*column.Block
	names  column.Names
}

func swapFamily(h *host) column.Family {
	r := newSwapReader()
	return column.Family{Name: "swap", Metrics: swapMetrics, Sources: []*column.Source{{
		Name: "/proc/swaps", File: h.file("proc/swaps"), Parse: r.parse, Blocks: r.blocks,
	}}}
}

func newSwapReader() *swapReader {
	return &swapReader{blocks: column.NewBlocks(swapMetrics, column.Layout{Cols: numSwap, Lists: true, InDom: &column.InDom{
		Serial: 6, Help: "Devices and files that hold swapped pages",
		Labels: `{"device_type":["block","memory"],"indom_name":"per swap device"}`,
	}})}
}

// parse reads /proc/swaps, of which a line is "/dev/sda2 partition 2097148 0 -2".
func (r *swapReader) parse(b []byte) {
	out := r.blocks[0]
	out.Clear()
	r.names.Begin()
	for line := range procfs.Lines(b) {
		name, line := procfs.Field(line)
		if len(name) == 0 || name[0] != '/' {
			continue
		}
		_, line = procfs.Field(line) // partition or file
		size, line, ok1 := procfs.Uint(line)
		used, line, ok2 := procfs.Uint(line)
		prio, _, ok3 := procfs.Int(line)
		if !ok1 || !ok2 || !ok3 {
			continue
		}
		inst, kept := r.names.ID(name)
		if !r.names.First(inst) {
			continue
		}
		row := out.AddNamed(inst, kept)
		out.Set(row, swapFree, atLeast0(size, used))
		out.Set(row, swapLength, size)
		out.Set(row, swapMax, size)
		out.Set(row, swapVirtual, 0)
		out.Set(row, swapPriority, uint64(prio))
	}
}

// swapMetrics are the metrics of /proc/swaps.
var swapMetrics = []column.Metric{
	{Name: "swapdev.free", Cluster: 6, Item: 0, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: swapFree, Help: "Space not in use of each swap device"},
	{Name: "swapdev.length", Cluster: 6, Item: 1, Type: pcp.TypeU32, Sem: discrete, Units: kbyte, Col: swapLength, Help: "Size of each swap device"},
	{Name: "swapdev.maxswap", Cluster: 6, Item: 2, Type: pcp.TypeU32, Sem: discrete, Units: kbyte, Col: swapMax, Help: "Largest size of each swap device, which is its size"},
	{Name: "swapdev.vlength", Cluster: 6, Item: 3, Type: pcp.TypeU32, Sem: discrete, Units: kbyte, Col: swapVirtual, Help: "Virtual size of each swap device, which is 0 on Linux"},
	{Name: "swapdev.priority", Cluster: 6, Item: 4, Type: pcp.Type32, Sem: instant, Col: swapPriority, Help: "Priority of each swap device; the highest is used first"},
}
