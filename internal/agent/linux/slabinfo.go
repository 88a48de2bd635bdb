package linux

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of slabMetrics.
const (
	slabActiveObjs = iota
	slabObjs
	slabObjSize
	slabActive
	slabTotal
	slabPages
	slabObjsPer
	slabSize
	numSlab
)

// A slabReader reads /proc/slabinfo.
type slabReader struct {
	blocks []*column.Block
	page   uint64 // size in bytes
	names  column.Names
}

func slabFamily(h *host) column.Family {
	r := newSlabReader(h)
	return column.Family{Name: "slabinfo", Metrics: slabMetrics, Sources: []*column.Source{{
		Name: "/proc/slabinfo", File: h.file("proc/slabinfo"), Parse: r.parse, Blocks: r.blocks, Restricted: true,
	}}}
}

func newSlabReader(h *host) *slabReader {
	return &slabReader{page: h.page, blocks: column.NewBlocks(slabMetrics, column.Layout{Cols: numSlab, Lists: true, InDom: &column.InDom{
		Serial: 12, Help: "Caches of kernel objects", Labels: `{"device_type":"memory","indom_name":"per slab"}`,
	}})}
}

// parse reads /proc/slabinfo of version 2:
// "dentry 100 120 192 21 1 : tunables 0 0 0 : slabdata 6 6 0".
func (r *slabReader) parse(b []byte) {
	out := r.blocks[0]
	out.Clear()
	r.names.Begin()
	first, b, _ := procfs.Line(b)
	if !bytes.HasPrefix(first, []byte("slabinfo - version: 2.")) {
		return
	}
	for line := range procfs.Lines(b) {
		name, nums := procfs.Field(line)
		if len(name) == 0 || name[0] == '#' {
			continue
		}
		ok := true
		var v [5]uint64 // objects active and all, their size, per slab, pages per slab
		for i := range v {
			if v[i], nums, ok = procfs.Uint(nums); !ok {
				break
			}
		}
		_, data, found := bytes.Cut(nums, []byte("slabdata"))
		active, data, ok1 := procfs.Uint(data)
		total, _, ok2 := procfs.Uint(data)
		if !ok || !found || !ok1 || !ok2 {
			continue
		}
		inst, kept := r.names.ID(name)
		if !r.names.First(inst) {
			continue
		}
		row := out.Row(out.AddNamed(inst, kept))
		row[slabActiveObjs] = column.Num(v[0])
		row[slabObjs] = column.Num(v[1])
		row[slabObjSize] = column.Num(v[2])
		row[slabObjsPer] = column.Num(v[3])
		row[slabPages] = column.Num(v[4])
		row[slabActive] = column.Num(active)
		row[slabTotal] = column.Num(total)
		if v[3] != 0 {
			row[slabSize] = column.Num(v[4] * v[0] * r.page / v[3])
		}
	}
}

// slabMetrics are the metrics of /proc/slabinfo.
var slabMetrics = []column.Metric{
	{Name: "mem.slabinfo.objects.active", Cluster: 20, Item: 0, Type: pcp.TypeU64, Sem: instant, Col: slabActiveObjs, Help: "Objects of each cache in use"},
	{Name: "mem.slabinfo.objects.total", Cluster: 20, Item: 1, Type: pcp.TypeU64, Sem: instant, Col: slabObjs, Help: "Objects that each cache has room for"},
	{Name: "mem.slabinfo.objects.size", Cluster: 20, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, Col: slabObjSize, Help: "Size of an object of each cache"},
	{Name: "mem.slabinfo.slabs.active", Cluster: 20, Item: 3, Type: pcp.TypeU32, Sem: instant, Col: slabActive, Help: "Slabs with an object in use"},
	{Name: "mem.slabinfo.slabs.total", Cluster: 20, Item: 4, Type: pcp.TypeU32, Sem: instant, Col: slabTotal, Help: "Slabs of each cache"},
	{Name: "mem.slabinfo.slabs.pages_per_slab", Cluster: 20, Item: 5, Type: pcp.TypeU32, Sem: instant, Col: slabPages, Help: "Pages in a slab of each cache"},
	{Name: "mem.slabinfo.slabs.objects_per_slab", Cluster: 20, Item: 6, Type: pcp.TypeU32, Sem: instant, Col: slabObjsPer, Help: "Objects in a slab of each cache"},
	{Name: "mem.slabinfo.slabs.total_size", Cluster: 20, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Col: slabSize, Help: "Memory of the objects in use of each cache"},
}
