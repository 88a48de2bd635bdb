package proc

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// memoryFamily is that of the controller memory, of both versions.
func (g *groups) memoryFamily() column.Family {
	d := g.newDomain(memorySerial, "memory", "memory.stat", "Control groups, as the controller memory has them", `{"device_type":"memory"}`)
	return d.family("memory groups", memoryMetrics, groupFile{name: "memory.stat"}, numberFile("memory.current"),
		numberFile("memory.usage_in_bytes"), numberFile("memory.limit_in_bytes"), numberFile("memory.failcnt"))
}

// netclassFamily is that of the controller net_cls.
func (g *groups) netclassFamily() column.Family {
	d := g.newDomain(netclassSerial, "net_cls", "net_cls.classid", "Control groups, as the controller net_cls has them", `{"device_type":"interface"}`)
	return d.family("net_cls groups", netclassMetrics, numberFile("net_cls.classid"))
}

// memoryMetrics are the metrics of the controller memory. Those of version 2 have names without total.
var memoryMetrics = []column.Metric{
	{Name: "cgroup.memory.stat.cache", Cluster: 45, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "cache", Help: "Page cache"},
	{Name: "cgroup.memory.stat.rss", Cluster: 45, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "rss", Help: "Anonymous memory and swap cache"},
	{Name: "cgroup.memory.stat.rss_huge", Cluster: 45, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "rss_huge", Help: "Anonymous memory in transparent huge pages"},
	{Name: "cgroup.memory.stat.mapped_file", Cluster: 45, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "mapped_file", Help: "Files that are mapped"},
	{Name: "cgroup.memory.stat.writeback", Cluster: 45, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "writeback", Help: "Memory on its way to disk"},
	{Name: "cgroup.memory.stat.swap", Cluster: 45, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "swap", Help: "Memory that is swapped out"},
	{Name: "cgroup.memory.stat.pgpgin", Cluster: 45, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "pgpgin", Help: "Pages charged to the group"},
	{Name: "cgroup.memory.stat.pgpgout", Cluster: 45, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "pgpgout", Help: "Pages uncharged from the group"},
	{Name: "cgroup.memory.stat.pgfault", Cluster: 45, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "pgfault", Help: "Page faults"},
	{Name: "cgroup.memory.stat.pgmajfault", Cluster: 45, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "pgmajfault", Help: "Page faults that needed a disk"},
	{Name: "cgroup.memory.stat.inactive_anon", Cluster: 45, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "inactive_anon", Help: "Anonymous memory not used of late"},
	{Name: "cgroup.memory.stat.active_anon", Cluster: 45, Item: 11, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "active_anon", Help: "Anonymous memory used of late"},
	{Name: "cgroup.memory.stat.inactive_file", Cluster: 45, Item: 12, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "inactive_file", Help: "Page cache not used of late"},
	{Name: "cgroup.memory.stat.active_file", Cluster: 45, Item: 13, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "active_file", Help: "Page cache used of late"},
	{Name: "cgroup.memory.stat.unevictable", Cluster: 45, Item: 14, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "unevictable", Help: "Memory that cannot be reclaimed"},
	{Name: "cgroup.memory.stat.anon", Cluster: 45, Item: 17, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "anon", Help: "Anonymous memory"},
	{Name: "cgroup.memory.stat.anon_thp", Cluster: 45, Item: 18, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "anon_thp", Help: "Anonymous memory in transparent huge pages"},
	{Name: "cgroup.memory.stat.file", Cluster: 45, Item: 19, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "file", Help: "Page cache, with shared memory"},
	{Name: "cgroup.memory.stat.file_dirty", Cluster: 45, Item: 20, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "file_dirty", Help: "Page cache that has changed and is not written"},
	{Name: "cgroup.memory.stat.file_mapped", Cluster: 45, Item: 21, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "file_mapped", Help: "Files that are mapped"},
	{Name: "cgroup.memory.stat.file_writeback", Cluster: 45, Item: 22, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "file_writeback", Help: "Page cache on its way to disk"},
	{Name: "cgroup.memory.stat.kernel_stack", Cluster: 45, Item: 25, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "kernel_stack", Help: "Stacks of the kernel"},
	{Name: "cgroup.memory.stat.pgactivate", Cluster: 45, Item: 26, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pgactivate", Help: "Pages that became active"},
	{Name: "cgroup.memory.stat.pgdeactivate", Cluster: 45, Item: 27, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pgdeactivate", Help: "Pages that became inactive"},
	{Name: "cgroup.memory.stat.pglazyfree", Cluster: 45, Item: 28, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pglazyfree", Help: "Pages to be freed when memory is short"},
	{Name: "cgroup.memory.stat.pglazyfreed", Cluster: 45, Item: 50, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pglazyfreed", Help: "Pages freed since memory was short"},
	{Name: "cgroup.memory.stat.pgrefill", Cluster: 45, Item: 51, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pgrefill", Help: "Pages of the active list that were looked at"},
	{Name: "cgroup.memory.stat.pgscan", Cluster: 45, Item: 52, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pgscan", Help: "Pages of the inactive list that were looked at"},
	{Name: "cgroup.memory.stat.pgsteal", Cluster: 45, Item: 53, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "pgsteal", Help: "Pages that were reclaimed"},
	{Name: "cgroup.memory.stat.shmem", Cluster: 45, Item: 64, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "shmem", Help: "Shared memory"},
	{Name: "cgroup.memory.stat.slab", Cluster: 45, Item: 65, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "slab", Help: "Memory of the kernel for its own data"},
	{Name: "cgroup.memory.stat.slab_reclaimable", Cluster: 45, Item: 66, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "slab_reclaimable", Help: "Memory of the kernel for its own data, of which it can give back"},
	{Name: "cgroup.memory.stat.slab_unreclaimable", Cluster: 45, Item: 67, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "slab_unreclaimable", Help: "Memory of the kernel for its own data, which it must keep"},
	{Name: "cgroup.memory.stat.sock", Cluster: 45, Item: 68, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "sock", Help: "Buffers of sockets"},
	{Name: "cgroup.memory.stat.thp_collapse_alloc", Cluster: 45, Item: 70, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "thp_collapse_alloc", Help: "Transparent huge pages made of small ones"},
	{Name: "cgroup.memory.stat.thp_fault_alloc", Cluster: 45, Item: 71, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "thp_fault_alloc", Help: "Transparent huge pages given at a page fault"},
	{Name: "cgroup.memory.stat.total.cache", Cluster: 45, Item: 30, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_cache", Help: "Page cache, with groups below"},
	{Name: "cgroup.memory.stat.total.rss", Cluster: 45, Item: 31, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_rss", Help: "Anonymous memory and swap cache, with groups below"},
	{Name: "cgroup.memory.stat.total.rss_huge", Cluster: 45, Item: 32, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_rss_huge", Help: "Anonymous memory in transparent huge pages, with groups below"},
	{Name: "cgroup.memory.stat.total.mapped_file", Cluster: 45, Item: 33, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_mapped_file", Help: "Files that are mapped, with groups below"},
	{Name: "cgroup.memory.stat.total.writeback", Cluster: 45, Item: 34, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_writeback", Help: "Memory on its way to disk, with groups below"},
	{Name: "cgroup.memory.stat.total.swap", Cluster: 45, Item: 35, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_swap", Help: "Memory that is swapped out, with groups below"},
	{Name: "cgroup.memory.stat.total.pgpgin", Cluster: 45, Item: 36, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "total_pgpgin", Help: "Pages charged to the group, with groups below"},
	{Name: "cgroup.memory.stat.total.pgpgout", Cluster: 45, Item: 37, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "total_pgpgout", Help: "Pages uncharged from the group, with groups below"},
	{Name: "cgroup.memory.stat.total.pgfault", Cluster: 45, Item: 38, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "total_pgfault", Help: "Page faults, with groups below"},
	{Name: "cgroup.memory.stat.total.pgmajfault", Cluster: 45, Item: 39, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Key: "total_pgmajfault", Help: "Page faults that needed a disk, with groups below"},
	{Name: "cgroup.memory.stat.total.inactive_anon", Cluster: 45, Item: 40, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_inactive_anon", Help: "Anonymous memory not used of late, with groups below"},
	{Name: "cgroup.memory.stat.total.active_anon", Cluster: 45, Item: 41, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_active_anon", Help: "Anonymous memory used of late, with groups below"},
	{Name: "cgroup.memory.stat.total.inactive_file", Cluster: 45, Item: 42, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_inactive_file", Help: "Page cache not used of late, with groups below"},
	{Name: "cgroup.memory.stat.total.active_file", Cluster: 45, Item: 43, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_active_file", Help: "Page cache used of late, with groups below"},
	{Name: "cgroup.memory.stat.total.unevictable", Cluster: 45, Item: 44, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "total_unevictable", Help: "Memory that cannot be reclaimed, with groups below"},
	{Name: "cgroup.memory.stat.recent.rotated_anon", Cluster: 45, Item: 60, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 1, Key: "recent_rotated_anon", Help: "Anonymous pages put back into the active list"},
	{Name: "cgroup.memory.stat.recent.rotated_file", Cluster: 45, Item: 61, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 1, Key: "recent_rotated_file", Help: "Pages of files put back into the active list"},
	{Name: "cgroup.memory.stat.recent.scanned_anon", Cluster: 45, Item: 62, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 1, Key: "recent_scanned_anon", Help: "Anonymous pages looked at for reclaim"},
	{Name: "cgroup.memory.stat.recent.scanned_file", Cluster: 45, Item: 63, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 1, Key: "recent_scanned_file", Help: "Pages of files looked at for reclaim"},
	{Name: "cgroup.memory.stat.workingset.activate", Cluster: 45, Item: 72, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "workingset_activate", Help: "Pages that were reclaimed, came back and became active at once"},
	{Name: "cgroup.memory.stat.workingset.nodereclaim", Cluster: 45, Item: 73, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "workingset_nodereclaim", Help: "Times that records of reclaimed pages were given up"},
	{Name: "cgroup.memory.stat.workingset.refault", Cluster: 45, Item: 74, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 1, Key: "workingset_refault", Help: "Pages that were reclaimed and came back"},
	{Name: "cgroup.memory.usage", Cluster: 45, Item: 80, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 3, Help: "Memory that the group uses, of version 1"},
	{Name: "cgroup.memory.limit", Cluster: 45, Item: 81, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 4, Help: "Most memory that the group may use, of version 1"},
	{Name: "cgroup.memory.failcnt", Cluster: 45, Item: 82, Type: pcp.TypeU64, Sem: counter, Units: count, From: 5, Help: "Times that the group reached the limit of its memory"},
	{Name: "cgroup.memory.current", Cluster: 45, Item: 90, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: 2, Help: "Memory that the group and those below it use"},
	{Name: "cgroup.memory.id.container", Cluster: 45, Item: 29, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}

// netclassMetrics are those of the controller net_cls.
var netclassMetrics = []column.Metric{
	{Name: "cgroup.netclass.classid", Cluster: 47, Item: 0, Type: pcp.TypeU64, Sem: instant, From: 1, Help: "Class that packets of the group are marked with, for traffic control"},
	{Name: "cgroup.netclass.id.container", Cluster: 47, Item: 1, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}
