package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A numaReader reads meminfo and numastat of each node in /sys.
type numaReader struct {
	blocks            []*column.Block
	host              *host
	cpus              *cpuReader
	pages             *meminfoReader
	meminfo, numastat []*procfs.File // by index in topology.nodes
	names             []string       // of the nodes of those
	keyed, stat       []*procfs.Keyed
	prefix            [][]byte // "Node 0 "
	huge, hugeBytes   [3]int
	bandwidth         bandwidthFile
}

func newNUMAReader(h *host, cpus *cpuReader, pages *meminfoReader) *numaReader {
	r := &numaReader{host: h, cpus: cpus, pages: pages, blocks: column.NewBlocks(numaMetrics, column.Layout{InDom: cpus.nodeInDom})}
	for i, name := range [...]string{"Total", "Free", "Surp"} {
		r.huge[i], r.hugeBytes[i] = r.blocks[0].Column("HugePages_"+name), r.blocks[0].Column("=HugePages_"+name)
	}
	return r
}

func (r *numaReader) family() column.Family {
	return column.Family{Name: "numa", Metrics: numaMetrics, Sources: []*column.Source{{
		Name: "/" + nodeDir, Read: r.read, Blocks: r.blocks, After: []*column.Source{r.pages.source},
	}}}
}

func (r *numaReader) read() error {
	t := r.cpus.survey()
	r.follow(t)
	r.bandwidth.read(r.host, t)
	out := r.blocks[0]
	out.Clear()
	perNode := out.Column("=bandwidth")
	size, haveSize := r.pages.hugePageSize()
	for i := range t.nodes {
		row := out.Row(out.Add(int32(i)))
		set := func(col int, v uint64) { row[col] = column.Num(v) }
		// A node that has gone since the survey has no values.
		if b, err := r.meminfo[i].Read(); err == nil {
			r.keyed[i].Parse(b, r.prefix[i], set)
		}
		if b, err := r.numastat[i].Read(); err == nil {
			r.stat[i].Parse(b, nil, set)
		}
		if v := r.bandwidth.of[t.nodes[i].name]; v > 0 {
			set(perNode, doubleBits(v))
		}
		for j, col := range r.huge {
			if row[col].OK && haveSize {
				row[r.hugeBytes[j]] = column.Num(row[col].Bits * size << 10)
			}
		}
	}
	return nil
}

// follow opens readers for the nodes of t.
func (r *numaReader) follow(t *topology) {
	same := len(r.names) == len(t.nodes)
	for i := 0; same && i < len(r.names); i++ {
		same = r.names[i] == t.nodes[i].name
	}
	if same {
		return
	}
	for i := range r.names {
		r.meminfo[i].Close()
		r.numastat[i].Close()
	}
	keys := r.blocks[0].Keys()
	r.names, r.meminfo, r.numastat, r.keyed, r.stat, r.prefix = nil, nil, nil, nil, nil, nil
	for _, n := range t.nodes {
		r.names = append(r.names, n.name)
		r.meminfo = append(r.meminfo, r.host.deviceFile(nodeDir+"/"+n.name+"/meminfo"))
		r.numastat = append(r.numastat, r.host.deviceFile(nodeDir+"/"+n.name+"/numastat"))
		r.keyed = append(r.keyed, procfs.NewKeyed(keys))
		r.stat = append(r.stat, procfs.NewKeyed(keys))
		r.prefix = append(r.prefix, []byte("Node "+n.name[len("node"):]+" "))
	}
}

// numaMetrics are the metrics of each node; keys that begin with = are computed.
var numaMetrics = []column.Metric{
	{Name: "mem.numa.max_bandwidth", Cluster: 36, Item: 38, Type: pcp.TypeDouble, Sem: discrete, Units: mbytePerSec, Key: "=bandwidth", Help: "Largest memory bandwidth measured, by node"},
	{Name: "mem.numa.util.total", Cluster: 36, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemTotal", Help: "All memory, by node"},
	{Name: "mem.numa.util.free", Cluster: 36, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemFree", Help: "Memory that is not in use, by node"},
	{Name: "mem.numa.util.used", Cluster: 36, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemUsed", Help: "Memory in use, for whatever purpose, by node"},
	{Name: "mem.numa.util.active", Cluster: 36, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Active", Help: "Memory used lately, by node"},
	{Name: "mem.numa.util.inactive", Cluster: 36, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Inactive", Help: "Memory not used lately, by node"},
	{Name: "mem.numa.util.active_anon", Cluster: 36, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Active(anon)", Help: "Anonymous memory used lately, by node"},
	{Name: "mem.numa.util.inactive_anon", Cluster: 36, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Inactive(anon)", Help: "Anonymous memory not used lately, by node"},
	{Name: "mem.numa.util.active_file", Cluster: 36, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Active(file)", Help: "Page cache used lately, by node"},
	{Name: "mem.numa.util.inactive_file", Cluster: 36, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Inactive(file)", Help: "Page cache not used lately, by node"},
	{Name: "mem.numa.util.highTotal", Cluster: 36, Item: 9, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "HighTotal", Help: "Memory that the kernel cannot address directly, by node"},
	{Name: "mem.numa.util.highFree", Cluster: 36, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "HighFree", Help: "Free memory that the kernel cannot address directly, by node"},
	{Name: "mem.numa.util.lowTotal", Cluster: 36, Item: 11, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "LowTotal", Help: "Memory that the kernel can address directly, by node"},
	{Name: "mem.numa.util.lowFree", Cluster: 36, Item: 12, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "LowFree", Help: "Free memory that the kernel can address directly, by node"},
	{Name: "mem.numa.util.unevictable", Cluster: 36, Item: 13, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Unevictable", Help: "Memory that cannot be reclaimed, by node"},
	{Name: "mem.numa.util.mlocked", Cluster: 36, Item: 14, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Mlocked", Help: "Memory that mlock keeps in place, by node"},
	{Name: "mem.numa.util.dirty", Cluster: 36, Item: 15, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Dirty", Help: "Memory to be written to disk, by node"},
	{Name: "mem.numa.util.writeback", Cluster: 36, Item: 16, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Writeback", Help: "Memory being written to disk, by node"},
	{Name: "mem.numa.util.filePages", Cluster: 36, Item: 17, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "FilePages", Help: "Memory in the page cache, by node"},
	{Name: "mem.numa.util.mapped", Cluster: 36, Item: 18, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Mapped", Help: "Files mapped into processes, by node"},
	{Name: "mem.numa.util.anonpages", Cluster: 36, Item: 19, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "AnonPages", Help: "Memory of processes that no file is behind, by node"},
	{Name: "mem.numa.util.shmem", Cluster: 36, Item: 20, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Shmem", Help: "Memory of tmpfs and shared memory segments, by node"},
	{Name: "mem.numa.util.kernelStack", Cluster: 36, Item: 21, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "KernelStack", Help: "Memory for kernel stacks of tasks, by node"},
	{Name: "mem.numa.util.pageTables", Cluster: 36, Item: 22, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "PageTables", Help: "Memory for page tables, by node"},
	{Name: "mem.numa.util.NFS_Unstable", Cluster: 36, Item: 23, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "NFS_Unstable", Help: "Pages sent to an NFS server but not yet on its disk, by node"},
	{Name: "mem.numa.util.bounce", Cluster: 36, Item: 24, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Bounce", Help: "Memory for bounce buffers of devices, by node"},
	{Name: "mem.numa.util.writebackTmp", Cluster: 36, Item: 25, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "WritebackTmp", Help: "Memory for writing back by user space file systems, by node"},
	{Name: "mem.numa.util.slab", Cluster: 36, Item: 26, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Slab", Help: "Memory of caches of kernel objects, by node"},
	{Name: "mem.numa.util.slabReclaimable", Cluster: 36, Item: 27, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SReclaimable", Help: "Slab memory that can be taken back, by node"},
	{Name: "mem.numa.util.slabUnreclaimable", Cluster: 36, Item: 28, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SUnreclaim", Help: "Slab memory that cannot be taken back, by node"},
	{Name: "mem.numa.util.hugepagesTotal", Cluster: 36, Item: 29, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Total", Help: "Huge pages in the pool, by node"},
	{Name: "mem.numa.util.hugepagesFree", Cluster: 36, Item: 30, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Free", Help: "Huge pages of the pool that are not in use, by node"},
	{Name: "mem.numa.util.hugepagesSurp", Cluster: 36, Item: 31, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Surp", Help: "Huge pages above the size of the pool, by node"},
	{Name: "mem.numa.util.hugepagesTotalBytes", Cluster: 36, Item: 39, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Total", Help: "Size of the huge pages in the pool, by node"},
	{Name: "mem.numa.util.hugepagesFreeBytes", Cluster: 36, Item: 40, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Free", Help: "Size of the huge pages that are not in use, by node"},
	{Name: "mem.numa.util.hugepagesSurpBytes", Cluster: 36, Item: 41, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Surp", Help: "Size of the huge pages above the size of the pool, by node"},
	{Name: "mem.numa.alloc.hit", Cluster: 36, Item: 32, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_hit", Help: "Pages allocated on the node that was wanted"},
	{Name: "mem.numa.alloc.miss", Cluster: 36, Item: 33, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_miss", Help: "Pages allocated here that were wanted on another node"},
	{Name: "mem.numa.alloc.foreign", Cluster: 36, Item: 34, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_foreign", Help: "Pages wanted here that another node had to provide"},
	{Name: "mem.numa.alloc.interleave_hit", Cluster: 36, Item: 35, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "interleave_hit", Help: "Pages spread over nodes that landed where they should"},
	{Name: "mem.numa.alloc.local_node", Cluster: 36, Item: 36, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "local_node", Help: "Pages allocated here by a process that ran here"},
	{Name: "mem.numa.alloc.other_node", Cluster: 36, Item: 37, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "other_node", Help: "Pages allocated here by a process that ran elsewhere"},
	// Newer than PCP 6.0.3.
	{Name: "mem.numa.util.swapCached", Cluster: 36, Item: 42, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SwapCached", Help: "Memory that is also still in swap, by node"},
	{Name: "mem.numa.util.kreclaimable", Cluster: 36, Item: 43, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "KReclaimable", Help: "Kernel memory that can be taken back, by node"},
	{Name: "mem.numa.util.anonhugepages", Cluster: 36, Item: 44, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "AnonHugePages", Help: "Anonymous memory in transparent huge pages, by node"},
	{Name: "mem.numa.util.shmemhugepages", Cluster: 36, Item: 45, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ShmemHugePages", Help: "Memory of tmpfs and shared segments in huge pages, by node"},
	{Name: "mem.numa.util.shmempmdmapped", Cluster: 36, Item: 46, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ShmemPmdMapped", Help: "Shared memory that processes map in huge pages, by node"},
	{Name: "mem.numa.util.filehugepages", Cluster: 36, Item: 47, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "FileHugePages", Help: "Memory of files in huge pages, by node"},
	{Name: "mem.numa.util.filepmdmapped", Cluster: 36, Item: 48, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "FilePmdMapped", Help: "Page cache that processes map in huge pages, by node"},
}
