package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A meminfoReader reads /proc/meminfo. The columns of its block are the keys of
// the file and, below, the values that PCP computes from them.
type meminfoReader struct {
	blocks []*column.Block
	source *column.Source
	keyed  *procfs.Keyed

	total, free, buffers, cached, dirty, writeback int // columns of the file
	swapTotal, swapFree                            int
	hugeSize                                       int

	used, other, clean, physMB       int // computed
	swapLen, swapUsed, swapFreeBytes int
	hugeSizeBytes                    int
	available                        int
	reclaimable, active, inactive    int
	zones                            *procfs.File // for kernels that do not report available memory
	hugeBytes, hugePages             [4]int
	page                             uint64
}

func newMeminfoReader(h *host) *meminfoReader {
	// No metric has the plain value of Hugepagesize.
	blocks := column.NewBlocks(meminfoMetrics, column.Layout{Keys: []string{"Hugepagesize"}})
	k := blocks[0].Column
	r := &meminfoReader{
		blocks: blocks,
		keyed:  procfs.NewKeyed(blocks[0].Keys()),
		total:  k("MemTotal"), free: k("MemFree"), buffers: k("Buffers"), cached: k("Cached"),
		dirty: k("Dirty"), writeback: k("Writeback"),
		swapTotal: k("SwapTotal"), swapFree: k("SwapFree"), hugeSize: k("Hugepagesize"),
		used: k("=used"), other: k("=other"), clean: k("=clean"), physMB: k("=physMB"),
		swapLen: k("=swapLength"), swapUsed: k("=swapUsed"), swapFreeBytes: k("=swapFree"),
		hugeSizeBytes: k("=hugeSize"),
		available:     k("MemAvailable"), reclaimable: k("SReclaimable"), active: k("Active(file)"), inactive: k("Inactive(file)"),
		zones: h.file("proc/zoneinfo"), page: h.page,
	}
	for i, name := range [...]string{"Total", "Free", "Rsvd", "Surp"} {
		r.hugePages[i], r.hugeBytes[i] = k("HugePages_"+name), k("=HugePages_"+name)
	}
	r.source = &column.Source{Name: "/proc/meminfo", File: h.wholeFile("proc/meminfo"), Parse: r.parse, Blocks: blocks}
	return r
}

func (r *meminfoReader) family() column.Family {
	return column.Family{Name: "meminfo", Metrics: meminfoMetrics, Sources: []*column.Source{r.source}}
}

// hugePageSize returns the size of a huge page in Kbytes.
func (r *meminfoReader) hugePageSize() (kb uint64, ok bool) { return r.blocks[0].Get(0, r.hugeSize) }

// parse fills the block from /proc/meminfo. A computed value exists if all its
// parts do.
func (r *meminfoReader) parse(b []byte) {
	r.blocks[0].Clear()
	c := r.blocks[0].Row(0)
	r.keyed.Parse(b, nil, func(col int, v uint64) { c[col] = column.Num(v) })

	total, free, swapTotal, swapFree := c[r.total], c[r.free], c[r.swapTotal], c[r.swapFree]
	if total.OK {
		c[r.physMB] = column.Num(total.Bits >> 10)
	}
	if total.OK && free.OK {
		c[r.used] = column.Num(atLeast0(total.Bits, free.Bits))
		if c[r.cached].OK && c[r.buffers].OK {
			c[r.other] = column.Num(atLeast0(total.Bits, free.Bits+c[r.cached].Bits+c[r.buffers].Bits))
		}
	}
	if c[r.cached].OK && c[r.dirty].OK && c[r.writeback].OK {
		c[r.clean] = column.Num(atLeast0(c[r.cached].Bits, c[r.dirty].Bits+c[r.writeback].Bits))
	}
	if swapTotal.OK {
		c[r.swapLen] = column.Num(swapTotal.Bits << 10)
		if swapFree.OK {
			c[r.swapUsed] = column.Num(atLeast0(swapTotal.Bits, swapFree.Bits) << 10)
		}
	}
	if swapFree.OK {
		c[r.swapFreeBytes] = column.Num(swapFree.Bits << 10)
	}
	if !c[r.available].OK {
		r.estimate(c)
	}
	if size := c[r.hugeSize]; size.OK {
		c[r.hugeSizeBytes] = column.Num(size.Bits << 10)
		for i, col := range r.hugePages {
			if c[col].OK {
				c[r.hugeBytes[i]] = column.Num(c[col].Bits * size.Bits << 10)
			}
		}
	}
}

// estimate computes the available memory for kernels before Linux 3.14, which do not
// report it, as later kernels do: the free memory above the low watermark of the zones,
// and the page cache and the slabs, each less the watermark or less half of it if that
// is smaller.
func (r *meminfoReader) estimate(c []column.Cell) {
	free, cached, slab := c[r.free], column.Num(c[r.active].Bits+c[r.inactive].Bits), c[r.reclaimable]
	if !c[r.total].OK || !free.OK || !c[r.active].OK || !c[r.inactive].OK || !slab.OK {
		return
	}
	low := uint64(0)
	if b, err := r.zones.Read(); err == nil {
		low = lowWatermark(b) * (r.page >> 10)
	}
	sum := free.Bits + cached.Bits - min(cached.Bits/2, low) + slab.Bits - min(slab.Bits/2, low)
	c[r.available] = column.Num(atLeast0(sum, low))
}

// lowWatermark sums up the pages that zones want to keep free.
func lowWatermark(b []byte) (pages uint64) {
	for line := range procfs.Lines(b) {
		if key, rest := procfs.Field(line); string(key) == "low" {
			if v, _, ok := procfs.Uint(rest); ok {
				pages += v
			}
		}
	}
	return pages
}

// meminfoMetrics are the metrics of /proc/meminfo; keys that begin with = are computed.
var meminfoMetrics = []column.Metric{
	{Name: "mem.physmem", Cluster: 1, Item: 0, Type: pcp.TypeU64, Sem: discrete, Units: kbyte, Key: "MemTotal", Help: "All memory that the kernel can use"},
	{Name: "mem.freemem", Cluster: 1, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemFree", Help: "Memory that is not in use"},
	{Name: "mem.util.used", Cluster: 1, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "=used", Help: "Memory in use, for whatever purpose"},
	{Name: "mem.util.free", Cluster: 1, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemFree", Help: "Memory that is not in use"},
	{Name: "mem.util.shared", Cluster: 1, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemShared", Help: "Memory shared between processes, as old kernels counted it"},
	{Name: "mem.util.bufmem", Cluster: 1, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Buffers", Help: "Memory in buffers for block devices"},
	{Name: "mem.util.cached", Cluster: 1, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Cached", Help: "Memory in the page cache"},
	{Name: "mem.util.other", Cluster: 1, Item: 12, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "=other", Help: "Memory in use for other things than buffers and the page cache"},
	{Name: "mem.util.swapCached", Cluster: 1, Item: 13, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SwapCached", Help: "Memory that is also still in swap"},
	{Name: "mem.util.active", Cluster: 1, Item: 14, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Active", Help: "Memory used lately"},
	{Name: "mem.util.inactive", Cluster: 1, Item: 15, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Inactive", Help: "Memory not used lately"},
	{Name: "mem.util.highTotal", Cluster: 1, Item: 16, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "HighTotal", Help: "Memory that the kernel cannot address directly"},
	{Name: "mem.util.highFree", Cluster: 1, Item: 17, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "HighFree", Help: "Free memory that the kernel cannot address directly"},
	{Name: "mem.util.lowTotal", Cluster: 1, Item: 18, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "LowTotal", Help: "Memory that the kernel can address directly"},
	{Name: "mem.util.lowFree", Cluster: 1, Item: 19, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "LowFree", Help: "Free memory that the kernel can address directly"},
	{Name: "mem.util.swapTotal", Cluster: 1, Item: 20, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SwapTotal", Help: "Size of all swap space"},
	{Name: "mem.util.swapFree", Cluster: 1, Item: 21, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SwapFree", Help: "Swap space not in use"},
	{Name: "mem.util.dirty", Cluster: 1, Item: 22, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Dirty", Help: "Memory to be written to disk"},
	{Name: "mem.util.writeback", Cluster: 1, Item: 23, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Writeback", Help: "Memory being written to disk"},
	{Name: "mem.util.mapped", Cluster: 1, Item: 24, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Mapped", Help: "Files mapped into processes"},
	{Name: "mem.util.slab", Cluster: 1, Item: 25, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Slab", Help: "Memory of caches of kernel objects"},
	{Name: "mem.util.committed_AS", Cluster: 1, Item: 26, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Committed_AS", Help: "Memory that processes were promised"},
	{Name: "mem.util.pageTables", Cluster: 1, Item: 27, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "PageTables", Help: "Memory for page tables"},
	{Name: "mem.util.reverseMaps", Cluster: 1, Item: 28, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ReverseMaps", Help: "Memory for reverse mappings of pages"},
	{Name: "mem.util.cache_clean", Cluster: 1, Item: 29, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "=clean", Help: "Page cache that is the same on disk"},
	{Name: "mem.util.anonpages", Cluster: 1, Item: 30, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "AnonPages", Help: "Memory of processes that no file is behind"},
	{Name: "mem.util.commitLimit", Cluster: 1, Item: 31, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "CommitLimit", Help: "Memory that can be promised under strict accounting"},
	{Name: "mem.util.bounce", Cluster: 1, Item: 32, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Bounce", Help: "Memory for bounce buffers of devices"},
	{Name: "mem.util.NFS_Unstable", Cluster: 1, Item: 33, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "NFS_Unstable", Help: "Pages sent to an NFS server but not yet on its disk"},
	{Name: "mem.util.slabReclaimable", Cluster: 1, Item: 34, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SReclaimable", Help: "Slab memory that can be taken back"},
	{Name: "mem.util.slabUnreclaimable", Cluster: 1, Item: 35, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "SUnreclaim", Help: "Slab memory that cannot be taken back"},
	{Name: "mem.util.active_anon", Cluster: 1, Item: 36, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Active(anon)", Help: "Anonymous memory used lately"},
	{Name: "mem.util.inactive_anon", Cluster: 1, Item: 37, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Inactive(anon)", Help: "Anonymous memory not used lately"},
	{Name: "mem.util.active_file", Cluster: 1, Item: 38, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Active(file)", Help: "Page cache used lately"},
	{Name: "mem.util.inactive_file", Cluster: 1, Item: 39, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Inactive(file)", Help: "Page cache not used lately"},
	{Name: "mem.util.unevictable", Cluster: 1, Item: 40, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Unevictable", Help: "Memory that cannot be reclaimed"},
	{Name: "mem.util.mlocked", Cluster: 1, Item: 41, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Mlocked", Help: "Memory that mlock keeps in place"},
	{Name: "mem.util.shmem", Cluster: 1, Item: 42, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Shmem", Help: "Memory of tmpfs and shared memory segments"},
	{Name: "mem.util.kernelStack", Cluster: 1, Item: 43, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "KernelStack", Help: "Memory for kernel stacks of tasks"},
	{Name: "mem.util.hugepagesTotal", Cluster: 1, Item: 44, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Total", Help: "Huge pages in the pool"},
	{Name: "mem.util.hugepagesFree", Cluster: 1, Item: 45, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Free", Help: "Huge pages of the pool that are not in use"},
	{Name: "mem.util.hugepagesRsvd", Cluster: 1, Item: 46, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Rsvd", Help: "Huge pages promised but not yet taken"},
	{Name: "mem.util.hugepagesSurp", Cluster: 1, Item: 47, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "HugePages_Surp", Help: "Huge pages above the size of the pool"},
	{Name: "mem.util.directMap4k", Cluster: 1, Item: 48, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "DirectMap4k", Help: "Memory that the kernel maps with 4 Kbyte pages"},
	{Name: "mem.util.directMap2M", Cluster: 1, Item: 49, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "DirectMap2M", Help: "Memory that the kernel maps with 2 Mbyte pages"},
	{Name: "mem.util.vmallocTotal", Cluster: 1, Item: 50, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "VmallocTotal", Help: "Size of the address space for vmalloc"},
	{Name: "mem.util.vmallocUsed", Cluster: 1, Item: 51, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "VmallocUsed", Help: "Part of the vmalloc address space in use"},
	{Name: "mem.util.vmallocChunk", Cluster: 1, Item: 52, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "VmallocChunk", Help: "Largest free piece of the vmalloc address space"},
	{Name: "mem.util.mmap_copy", Cluster: 1, Item: 53, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MmapCopy", Help: "Memory of private copies of mapped files, without an MMU"},
	{Name: "mem.util.quicklists", Cluster: 1, Item: 54, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Quicklists", Help: "Memory in quick lists for page tables"},
	{Name: "mem.util.corrupthardware", Cluster: 1, Item: 55, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "HardwareCorrupted", Help: "Memory found to be faulty and not used"},
	{Name: "mem.util.anonhugepages", Cluster: 1, Item: 56, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "AnonHugePages", Help: "Anonymous memory in transparent huge pages"},
	{Name: "mem.util.directMap1G", Cluster: 1, Item: 57, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "DirectMap1G", Help: "Memory that the kernel maps with 1 Gbyte pages"},
	{Name: "mem.util.available", Cluster: 1, Item: 58, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "MemAvailable", Help: "Estimate of what new programs can have without swapping"},
	{Name: "mem.util.hugepagesTotalBytes", Cluster: 1, Item: 60, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Total", Help: "Size of the huge pages in the pool"},
	{Name: "mem.util.hugepagesFreeBytes", Cluster: 1, Item: 61, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Free", Help: "Size of the huge pages that are not in use"},
	{Name: "mem.util.hugepagesRsvdBytes", Cluster: 1, Item: 62, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Rsvd", Help: "Size of the huge pages promised but not yet taken"},
	{Name: "mem.util.hugepagesSurpBytes", Cluster: 1, Item: 63, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=HugePages_Surp", Help: "Size of the huge pages above the size of the pool"},
	{Name: "swap.free", Cluster: 1, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=swapFree", Help: "Swap space not in use"},
	{Name: "swap.length", Cluster: 1, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=swapLength", Help: "Size of all swap space"},
	{Name: "swap.used", Cluster: 1, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, Key: "=swapUsed", Help: "Swap space in use"},
	{Name: "hinv.physmem", Cluster: 1, Item: 9, Type: pcp.TypeU32, Sem: discrete, Units: mbyte, Key: "=physMB", Help: "Memory of the system"},
	{Name: "hinv.hugepagesize", Cluster: 1, Item: 59, Type: pcp.TypeU32, Sem: discrete, Units: byteUnit, Key: "=hugeSize", Help: "Size of a huge page"},
	// Newer than PCP 6.0.3.
	{Name: "mem.util.shmemhugepages", Cluster: 1, Item: 64, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ShmemHugePages", Help: "Memory of tmpfs and shared segments in huge pages"},
	{Name: "mem.util.shmempmdmapped", Cluster: 1, Item: 65, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ShmemPmdMapped", Help: "Shared memory that processes map in huge pages"},
	{Name: "mem.util.filehugepages", Cluster: 1, Item: 66, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "FileHugePages", Help: "Memory of files in huge pages"},
	{Name: "mem.util.filepmdmapped", Cluster: 1, Item: 67, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "FilePmdMapped", Help: "Page cache that processes map in huge pages"},
	{Name: "mem.util.cmatotal", Cluster: 1, Item: 68, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "CmaTotal", Help: "Memory reserved for contiguous allocations of devices"},
	{Name: "mem.util.cmafree", Cluster: 1, Item: 69, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "CmaFree", Help: "Free part of the memory reserved for contiguous allocations"},
	{Name: "mem.util.unaccepted", Cluster: 1, Item: 70, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Unaccepted", Help: "Memory that a confidential guest has not yet accepted"},
	{Name: "mem.util.zswap", Cluster: 1, Item: 71, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Zswap", Help: "Memory that compressed swap in memory takes"},
	{Name: "mem.util.zswapped", Cluster: 1, Item: 72, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Zswapped", Help: "Uncompressed size of the pages swapped to memory"},
	{Name: "mem.util.shadowcallstack", Cluster: 1, Item: 73, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "ShadowCallStack", Help: "Memory for shadow call stacks of the kernel"},
	{Name: "mem.util.percpu", Cluster: 1, Item: 74, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Percpu", Help: "Memory that the kernel allocated for each processor"},
	{Name: "mem.util.kreclaimable", Cluster: 1, Item: 75, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "KReclaimable", Help: "Kernel memory that can be taken back"},
	{Name: "mem.util.hugetlb", Cluster: 1, Item: 76, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "Hugetlb", Help: "Memory in huge pages of all sizes"},
}
