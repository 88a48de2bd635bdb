package linux

import (
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A hugepagesReader reads directories with a directory for each size of huge pages. The
// keys of its block are names of files, which count pages.
type hugepagesReader struct {
	host  *host
	out   *column.Block
	size  int // the column of the size of a page
	names column.Names
	pools map[string][]hugePool // by directory
}

// A hugePool is one size of huge pages.
type hugePool struct {
	kb    uint64
	name  []byte         // of the instance
	files []*procfs.File // by column
}

const hugepagesDir = "sys/kernel/mm/hugepages"

// hugepagesFamily reads the pools of the whole machine.
func hugepagesFamily(h *host) column.Family {
	r := newHugepagesReader(h, hugepagesMetrics, &column.InDom{Serial: 43, Help: "Sizes of huge pages"})
	return r.family("hugepages", "/"+hugepagesDir, hugepagesMetrics, nil, func() {
		r.read(hugepagesDir, "")
	})
}

// numaHugepagesFamily reads the pools of each node.
func numaHugepagesFamily(h *host, cpus *cpuReader) column.Family {
	r := newHugepagesReader(h, numaHugepagesMetrics, &column.InDom{Serial: 44, Help: "Sizes of huge pages, by node"})
	return r.family("numa hugepages", "/"+nodeDir+": hugepages", numaHugepagesMetrics, []*column.Source{cpus.source}, func() {
		for _, n := range cpus.survey().nodes {
			r.read(nodeDir+"/"+n.name+"/hugepages", n.name)
		}
	})
}

func newHugepagesReader(h *host, table []column.Metric, d *column.InDom) *hugepagesReader {
	r := &hugepagesReader{host: h, out: column.NewBlocks(table, column.Layout{InDom: d, Lists: true})[0], pools: make(map[string][]hugePool)}
	r.size = r.out.Column("=size")
	return r
}

func (r *hugepagesReader) family(name, source string, table []column.Metric, after []*column.Source, read func()) column.Family {
	return column.Family{Name: name, Metrics: table, Sources: []*column.Source{{
		Name: source, Blocks: []*column.Block{r.out}, After: after,
		Read: func() error {
			r.out.Clear()
			r.names.Begin()
			read()
			return nil
		},
	}}}
}

// read adds a row for each size that has a directory in dir, of a node unless that is "".
func (r *hugepagesReader) read(dir, node string) {
	pools := r.pools[dir]
	if len(pools) == 0 || r.host.cfg.Replaced { // the sizes do not change while a kernel runs
		pools = r.find(dir, node)
		r.pools[dir] = pools
	}
	for _, p := range pools {
		inst, name := r.names.ID(p.name)
		row := r.out.Row(r.out.AddNamed(inst, name))
		row[r.size] = column.Num(p.kb)
		for col, f := range p.files {
			if f == nil {
				continue
			}
			if b, err := f.Read(); err == nil {
				if n, _, ok := procfs.Uint(b); ok {
					row[col] = column.Num(n * p.kb)
				}
			}
		}
	}
}

// find returns the pools that have directories, such as hugepages-2048kB.
func (r *hugepagesReader) find(dir, node string) (pools []hugePool) {
	for _, entry := range slices.Sorted(slices.Values(procfs.Names(r.host.path(dir)))) {
		size, ok := strings.CutPrefix(entry, "hugepages-")
		kb, unit, ok2 := procfs.Uint([]byte(size))
		if !ok || !ok2 || string(unit) != "kB" {
			continue
		}
		p := hugePool{kb: kb, name: []byte(size), files: make([]*procfs.File, r.out.Cols())}
		if node != "" {
			p.name = []byte(node + "::" + size)
		}
		for key, col := range r.out.Keys() {
			if col != r.size {
				p.files[col] = r.host.deviceFile(dir + "/" + entry + "/" + key)
			}
		}
		pools = append(pools, p)
	}
	return pools
}

// hugepagesMetrics are newer than PCP 6.0.3.
var hugepagesMetrics = []column.Metric{
	{Name: "mem.hugepages.pagesize", Cluster: 94, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "=size", Help: "Size of a huge page, for each size"},
	{Name: "mem.hugepages.free", Cluster: 94, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "free_hugepages", Help: "Huge pages of the pool that are not in use, for each size"},
	{Name: "mem.hugepages.reserved", Cluster: 94, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "resv_hugepages", Help: "Huge pages promised but not yet taken, for each size"},
	{Name: "mem.hugepages.surplus", Cluster: 94, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "surplus_hugepages", Help: "Huge pages above the size of the pool, for each size"},
	{Name: "mem.hugepages.totalsize", Cluster: 94, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "nr_hugepages", Help: "Huge pages in the pool, for each size"},
	{Name: "mem.hugepages.overcommit", Cluster: 94, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "nr_overcommit_hugepages", Help: "Huge pages that there may be above the size of the pool, for each size"},
}

// numaHugepagesMetrics are newer than PCP 6.0.3.
var numaHugepagesMetrics = []column.Metric{
	{Name: "mem.numa.hugepages.pagesize", Cluster: 95, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "=size", Help: "Size of a huge page, for each node and size"},
	{Name: "mem.numa.hugepages.free", Cluster: 95, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "free_hugepages", Help: "Huge pages of the pool that are not in use, for each node and size"},
	{Name: "mem.numa.hugepages.surplus", Cluster: 95, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "surplus_hugepages", Help: "Huge pages above the size of the pool, for each node and size"},
	{Name: "mem.numa.hugepages.totalsize", Cluster: 95, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "nr_hugepages", Help: "Huge pages in the pool, for each node and size"},
}
