package linux

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A vmstatReader reads /proc/vmstat.
type vmstatReader struct {
	blocks []*column.Block
	file   *procfs.File
	keyed  *procfs.Keyed
	sums   []vmstatSum
}

// A vmstatSum is a column that is the sum of others.
type vmstatSum struct {
	col   int
	parts []int
	// A sum that replaces a counter of older kernels is only computed if that
	// counter is missing and all parts are present.
	standIn bool
	present bool // it has no value if all parts are missing
}

func newVmstatReader(h *host) *vmstatReader {
	blocks := column.NewBlocks(vmstatMetrics, column.Layout{Keys: []string{"pgdemote_proactive"}})
	keys, k := blocks[0].Keys(), blocks[0].Column
	r := &vmstatReader{blocks: blocks, file: h.file("proc/vmstat"), keyed: procfs.NewKeyed(keys)}
	// As refresh_proc_vmstat of proc_vmstat.c does, each total includes every counter
	// with a metric whose name begins like that. Counters of metrics newer than 6.0.3
	// are left out: they would be counted twice.
	for _, prefix := range [...]string{"pgscan_direct", "pgscan_kswapd", "pgsteal"} {
		sum := vmstatSum{col: k("=" + prefix + "_total")}
		for key, col := range keys {
			if strings.HasPrefix(key, prefix) && key != "pgsteal_anon" && key != "pgsteal_khugepaged" {
				sum.parts = append(sum.parts, col)
			}
		}
		r.sums = append(r.sums, sum)
	}
	demoted := vmstatSum{col: k("=pgdemote_total"), present: true}
	for _, key := range [...]string{"pgdemote_direct", "pgdemote_khugepaged", "pgdemote_kswapd", "pgdemote_proactive"} {
		demoted.parts = append(demoted.parts, k(key))
	}
	r.sums = append(r.sums, demoted)
	r.sums = append(r.sums,
		vmstatSum{col: k("nr_slab"), parts: []int{k("nr_slab_reclaimable"), k("nr_slab_unreclaimable")}, standIn: true},
		vmstatSum{col: k("thp_split"), parts: []int{k("thp_split_page"), k("thp_split_page_failed")}, standIn: true})
	return r
}

func (r *vmstatReader) family() column.Family {
	return column.Family{Name: "vmstat", Metrics: vmstatMetrics, Sources: []*column.Source{{
		Name: "/proc/vmstat", File: r.file, Parse: r.parse, Blocks: r.blocks,
	}}}
}

// parse fills the block from /proc/vmstat, and the sums.
func (r *vmstatReader) parse(b []byte) {
	r.blocks[0].Clear()
	c := r.blocks[0].Row(0)
	r.keyed.Parse(b, nil, func(col int, v uint64) { c[col] = column.Num(v) })
	for _, s := range r.sums {
		if s.standIn && c[s.col].OK {
			continue
		}
		sum, n := uint64(0), 0
		for _, col := range s.parts {
			if c[col].OK {
				sum += c[col].Bits
				n++
			}
		}
		if n == len(s.parts) || !s.standIn && (n > 0 || !s.present) {
			c[s.col] = column.Num(sum)
		}
	}
}

// vmstatMetrics are the metrics of /proc/vmstat; keys that begin with = are computed.
var vmstatMetrics = []column.Metric{
	{Name: "swap.pagesin", Cluster: 0, Item: 8, Type: pcp.TypeU32, Sem: counter, Units: count, Key: "pswpin", Help: "Pages read from swap"},
	{Name: "swap.pagesout", Cluster: 0, Item: 9, Type: pcp.TypeU32, Sem: counter, Units: count, Key: "pswpout", Help: "Pages written to swap"},
	{Name: "mem.vmstat.allocstall", Cluster: 28, Item: 35, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "allocstall", Help: "Allocations that had to reclaim memory first"},
	{Name: "mem.vmstat.allocstall_dma", Cluster: 28, Item: 154, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "allocstall_dma", Help: "Allocations from zone DMA that had to reclaim memory first"},
	{Name: "mem.vmstat.allocstall_dma32", Cluster: 28, Item: 155, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "allocstall_dma32", Help: "Allocations from zone DMA32 that had to reclaim memory first"},
	{Name: "mem.vmstat.allocstall_high", Cluster: 28, Item: 156, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "allocstall_high", Help: "Allocations from zone HighMem that had to reclaim memory first"},
	{Name: "mem.vmstat.allocstall_movable", Cluster: 28, Item: 157, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "allocstall_movable", Help: "Allocations from zone Movable that had to reclaim memory first"},
	{Name: "mem.vmstat.allocstall_normal", Cluster: 28, Item: 158, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "allocstall_normal", Help: "Allocations from zone Normal that had to reclaim memory first"},
	{Name: "mem.vmstat.balloon_deflate", Cluster: 28, Item: 103, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "balloon_deflate", Help: "Pages the hypervisor gave back"},
	{Name: "mem.vmstat.balloon_inflate", Cluster: 28, Item: 104, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "balloon_inflate", Help: "Pages given to the hypervisor"},
	{Name: "mem.vmstat.balloon_migrate", Cluster: 28, Item: 105, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "balloon_migrate", Help: "Pages of the balloon moved elsewhere"},
	{Name: "mem.vmstat.compact_blocks_moved", Cluster: 28, Item: 57, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_blocks_moved", Help: "Blocks moved by compaction"},
	{Name: "mem.vmstat.compact_daemon_free_scanned", Cluster: 28, Item: 159, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_daemon_free_scanned", Help: "Free pages scanned by the compaction daemon"},
	{Name: "mem.vmstat.compact_daemon_migrate_scanned", Cluster: 28, Item: 160, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_daemon_migrate_scanned", Help: "Pages scanned for moving by the compaction daemon"},
	{Name: "mem.vmstat.compact_daemon_wake", Cluster: 28, Item: 106, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_daemon_wake", Help: "Times the compaction daemon was woken"},
	{Name: "mem.vmstat.compact_fail", Cluster: 28, Item: 58, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_fail", Help: "Compactions that did not get the pages wanted"},
	{Name: "mem.vmstat.compact_free_scanned", Cluster: 28, Item: 107, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_free_scanned", Help: "Free pages scanned by compaction"},
	{Name: "mem.vmstat.compact_isolated", Cluster: 28, Item: 126, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_isolated", Help: "Pages isolated by compaction"},
	{Name: "mem.vmstat.compact_migrate_scanned", Cluster: 28, Item: 108, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_migrate_scanned", Help: "Pages scanned for moving by compaction"},
	{Name: "mem.vmstat.compact_pagemigrate_failed", Cluster: 28, Item: 59, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_pagemigrate_failed", Help: "Pages that compaction could not move"},
	{Name: "mem.vmstat.compact_pages_moved", Cluster: 28, Item: 60, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_pages_moved", Help: "Pages moved by compaction"},
	{Name: "mem.vmstat.compact_stall", Cluster: 28, Item: 61, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_stall", Help: "Allocations that had to compact memory first"},
	{Name: "mem.vmstat.compact_success", Cluster: 28, Item: 62, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "compact_success", Help: "Compactions that got the pages wanted"},
	{Name: "mem.vmstat.drop_pagecache", Cluster: 28, Item: 109, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "drop_pagecache", Help: "Times the page cache was dropped on request"},
	{Name: "mem.vmstat.drop_slab", Cluster: 28, Item: 110, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "drop_slab", Help: "Times slab caches were dropped on request"},
	{Name: "mem.vmstat.htlb_buddy_alloc_fail", Cluster: 28, Item: 43, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "htlb_buddy_alloc_fail", Help: "Huge pages that could not be allocated"},
	{Name: "mem.vmstat.htlb_buddy_alloc_success", Cluster: 28, Item: 44, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "htlb_buddy_alloc_success", Help: "Huge pages allocated"},
	{Name: "mem.vmstat.kswapd_inodesteal", Cluster: 28, Item: 33, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "kswapd_inodesteal", Help: "Pages reclaimed by kswapd by freeing inodes"},
	{Name: "mem.vmstat.kswapd_low_wmark_hit_quickly", Cluster: 28, Item: 87, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "kswapd_low_wmark_hit_quickly", Help: "Times kswapd soon fell below the low mark again"},
	{Name: "mem.vmstat.kswapd_high_wmark_hit_quickly", Cluster: 28, Item: 88, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "kswapd_high_wmark_hit_quickly", Help: "Times kswapd soon fell below the high mark again"},
	{Name: "mem.vmstat.kswapd_skip_congestion_wait", Cluster: 28, Item: 89, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "kswapd_skip_congestion_wait", Help: "Times kswapd did not wait for congested devices"},
	{Name: "mem.vmstat.kswapd_steal", Cluster: 28, Item: 32, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "kswapd_steal", Help: "Pages reclaimed by kswapd"},
	{Name: "mem.vmstat.nr_active_anon", Cluster: 28, Item: 45, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_active_anon", Help: "Anonymous pages used lately"},
	{Name: "mem.vmstat.nr_active_file", Cluster: 28, Item: 46, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_active_file", Help: "Pages of files used lately"},
	{Name: "mem.vmstat.nr_anon_pages", Cluster: 28, Item: 39, Type: pcp.TypeU64, Sem: instant, Key: "nr_anon_pages", Help: "Anonymous pages that are mapped"},
	{Name: "mem.vmstat.nr_anon_transparent_hugepages", Cluster: 28, Item: 90, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_anon_transparent_hugepages", Help: "Anonymous transparent huge pages"},
	{Name: "mem.vmstat.nr_bounce", Cluster: 28, Item: 40, Type: pcp.TypeU64, Sem: instant, Key: "nr_bounce", Help: "Pages of bounce buffers"},
	{Name: "mem.vmstat.nr_dirtied", Cluster: 28, Item: 91, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "nr_dirtied", Help: "Pages made dirty since boot"},
	{Name: "mem.vmstat.nr_dirty", Cluster: 28, Item: 0, Type: pcp.TypeU64, Sem: instant, Key: "nr_dirty", Help: "Dirty pages"},
	{Name: "mem.vmstat.nr_dirty_background_threshold", Cluster: 28, Item: 92, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_dirty_background_threshold", Help: "Dirty pages at which writing back starts"},
	{Name: "mem.vmstat.nr_dirty_threshold", Cluster: 28, Item: 93, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_dirty_threshold", Help: "Dirty pages at which writers have to wait"},
	{Name: "mem.vmstat.nr_file_hugepages", Cluster: 28, Item: 161, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_file_hugepages", Help: "Huge pages of files"},
	{Name: "mem.vmstat.nr_file_pages", Cluster: 28, Item: 41, Type: pcp.TypeU64, Sem: instant, Key: "nr_file_pages", Help: "Pages of files"},
	{Name: "mem.vmstat.nr_file_pmdmapped", Cluster: 28, Item: 162, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_file_pmdmapped", Help: "Huge pages of files mapped as such"},
	{Name: "mem.vmstat.nr_foll_pin_acquired", Cluster: 28, Item: 163, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_foll_pin_acquired", Help: "Pages pinned for direct access"},
	{Name: "mem.vmstat.nr_foll_pin_released", Cluster: 28, Item: 164, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_foll_pin_released", Help: "Pages unpinned after direct access"},
	{Name: "mem.vmstat.nr_free_cma", Cluster: 28, Item: 111, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "nr_free_cma", Help: "Free pages of those for contiguous allocation"},
	{Name: "mem.vmstat.nr_free_pages", Cluster: 28, Item: 47, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_free_pages", Help: "Free pages"},
	{Name: "mem.vmstat.nr_inactive_anon", Cluster: 28, Item: 48, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_inactive_anon", Help: "Anonymous pages not used lately"},
	{Name: "mem.vmstat.nr_inactive_file", Cluster: 28, Item: 49, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_inactive_file", Help: "Pages of files not used lately"},
	{Name: "mem.vmstat.nr_isolated_anon", Cluster: 28, Item: 50, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_isolated_anon", Help: "Anonymous pages taken off the lists for now"},
	{Name: "mem.vmstat.nr_isolated_file", Cluster: 28, Item: 51, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_isolated_file", Help: "Pages of files taken off the lists for now"},
	{Name: "mem.vmstat.nr_kernel_misc_reclaimable", Cluster: 28, Item: 165, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_kernel_misc_reclaimable", Help: "Kernel pages outside slabs that can be reclaimed"},
	{Name: "mem.vmstat.nr_kernel_stack", Cluster: 28, Item: 52, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_kernel_stack", Help: "Memory of kernel stacks"},
	{Name: "mem.vmstat.nr_mapped", Cluster: 28, Item: 4, Type: pcp.TypeU64, Sem: instant, Key: "nr_mapped", Help: "Pages of files mapped into processes"},
	{Name: "mem.vmstat.nr_mlock", Cluster: 28, Item: 53, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_mlock", Help: "Pages that mlock keeps in place"},
	{Name: "mem.vmstat.nr_pages_scanned", Cluster: 28, Item: 112, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "nr_pages_scanned", Help: "Pages scanned since the last page was freed"},
	{Name: "mem.vmstat.nr_page_table_pages", Cluster: 28, Item: 3, Type: pcp.TypeU64, Sem: instant, Key: "nr_page_table_pages", Help: "Pages of page tables"},
	{Name: "mem.vmstat.nr_shmem", Cluster: 28, Item: 54, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_shmem", Help: "Pages of tmpfs and shared memory"},
	{Name: "mem.vmstat.nr_shmem_hugepages", Cluster: 28, Item: 127, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_shmem_hugepages", Help: "Huge pages of tmpfs and shared memory"},
	{Name: "mem.vmstat.nr_shmem_pmdmapped", Cluster: 28, Item: 128, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_shmem_pmdmapped", Help: "Huge pages of shared memory mapped as such"},
	{Name: "mem.vmstat.nr_slab", Cluster: 28, Item: 5, Type: pcp.TypeU64, Sem: instant, Key: "nr_slab", Help: "Pages of slab caches"},
	{Name: "mem.vmstat.nr_slab_reclaimable", Cluster: 28, Item: 37, Type: pcp.TypeU64, Sem: instant, Key: "nr_slab_reclaimable", Help: "Pages of slab caches that can be reclaimed"},
	{Name: "mem.vmstat.nr_slab_unreclaimable", Cluster: 28, Item: 38, Type: pcp.TypeU64, Sem: instant, Key: "nr_slab_unreclaimable", Help: "Pages of slab caches that cannot be reclaimed"},
	{Name: "mem.vmstat.nr_unevictable", Cluster: 28, Item: 55, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_unevictable", Help: "Pages that cannot be reclaimed"},
	{Name: "mem.vmstat.nr_unstable", Cluster: 28, Item: 2, Type: pcp.TypeU64, Sem: instant, Key: "nr_unstable", Help: "Pages on an NFS server but not yet on its disk"},
	{Name: "mem.vmstat.nr_vmscan_immediate_reclaim", Cluster: 28, Item: 113, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "nr_vmscan_immediate_reclaim", Help: "Pages to be reclaimed as soon as they are written"},
	{Name: "mem.vmstat.nr_vmscan_write", Cluster: 28, Item: 42, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "nr_vmscan_write", Help: "Pages written by the scan for pages to reclaim"},
	{Name: "mem.vmstat.nr_writeback", Cluster: 28, Item: 1, Type: pcp.TypeU64, Sem: instant, Key: "nr_writeback", Help: "Pages being written back"},
	{Name: "mem.vmstat.nr_writeback_temp", Cluster: 28, Item: 56, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_writeback_temp", Help: "Pages being written back for user space file systems"},
	{Name: "mem.vmstat.nr_written", Cluster: 28, Item: 94, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "nr_written", Help: "Pages written since boot"},
	{Name: "mem.vmstat.nr_zone_active_anon", Cluster: 28, Item: 130, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zone_active_anon", Help: "Anonymous pages used lately, counted by zone"},
	{Name: "mem.vmstat.nr_zone_active_file", Cluster: 28, Item: 132, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zone_active_file", Help: "Pages of files used lately, counted by zone"},
	{Name: "mem.vmstat.nr_zone_inactive_anon", Cluster: 28, Item: 129, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zone_inactive_anon", Help: "Anonymous pages not used lately, counted by zone"},
	{Name: "mem.vmstat.nr_zone_inactive_file", Cluster: 28, Item: 131, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zone_inactive_file", Help: "Pages of files not used lately, counted by zone"},
	{Name: "mem.vmstat.nr_zone_unevictable", Cluster: 28, Item: 133, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zone_unevictable", Help: "Pages that cannot be reclaimed, counted by zone"},
	{Name: "mem.vmstat.nr_zone_write_pending", Cluster: 28, Item: 134, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zone_write_pending", Help: "Pages dirty or being written, counted by zone"},
	{Name: "mem.vmstat.nr_zspages", Cluster: 28, Item: 135, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "nr_zspages", Help: "Pages of compressed memory"},
	{Name: "mem.vmstat.numa_foreign", Cluster: 28, Item: 95, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_foreign", Help: "Pages wanted on this node but allocated on another"},
	{Name: "mem.vmstat.numa_hint_faults", Cluster: 28, Item: 152, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_hint_faults", Help: "Faults taken to learn which node uses a page"},
	{Name: "mem.vmstat.numa_hint_faults_local", Cluster: 28, Item: 153, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_hint_faults_local", Help: "Such faults on the node that has the page"},
	{Name: "mem.vmstat.numa_hit", Cluster: 28, Item: 96, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_hit", Help: "Pages allocated on the node that was wanted"},
	{Name: "mem.vmstat.numa_huge_pte_updates", Cluster: 28, Item: 151, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_huge_pte_updates", Help: "Huge page table entries marked for such faults"},
	{Name: "mem.vmstat.numa_interleave", Cluster: 28, Item: 97, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_interleave", Help: "Pages spread over nodes that landed where they should"},
	{Name: "mem.vmstat.numa_local", Cluster: 28, Item: 98, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_local", Help: "Pages allocated on the node of the process"},
	{Name: "mem.vmstat.numa_miss", Cluster: 28, Item: 99, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_miss", Help: "Pages allocated on a node that was not wanted"},
	{Name: "mem.vmstat.numa_other", Cluster: 28, Item: 100, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_other", Help: "Pages allocated for a process of another node"},
	{Name: "mem.vmstat.numa_pages_migrated", Cluster: 28, Item: 114, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_pages_migrated", Help: "Pages moved to the node that uses them"},
	{Name: "mem.vmstat.numa_pte_updates", Cluster: 28, Item: 115, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "numa_pte_updates", Help: "Page table entries marked for NUMA faults"},
	{Name: "mem.vmstat.oom_kill", Cluster: 28, Item: 166, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "oom_kill", Help: "Processes killed for want of memory"},
	{Name: "mem.vmstat.pageoutrun", Cluster: 28, Item: 34, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pageoutrun", Help: "Times kswapd ran"},
	{Name: "mem.vmstat.pgactivate", Cluster: 28, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgactivate", Help: "Pages moved to the active lists"},
	{Name: "mem.vmstat.pgalloc_dma", Cluster: 28, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgalloc_dma", Help: "Pages allocated from zone DMA"},
	{Name: "mem.vmstat.pgalloc_dma32", Cluster: 28, Item: 63, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgalloc_dma32", Help: "Pages allocated from zone DMA32"},
	{Name: "mem.vmstat.pgalloc_high", Cluster: 28, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgalloc_high", Help: "Pages allocated from zone HighMem"},
	{Name: "mem.vmstat.pgalloc_movable", Cluster: 28, Item: 64, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgalloc_movable", Help: "Pages allocated from zone Movable"},
	{Name: "mem.vmstat.pgalloc_normal", Cluster: 28, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgalloc_normal", Help: "Pages allocated from zone Normal"},
	{Name: "mem.vmstat.pgrefill_dma32", Cluster: 28, Item: 65, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgrefill_dma32", Help: "Pages of zone DMA32 looked at to be made inactive"},
	{Name: "mem.vmstat.pgrefill_movable", Cluster: 28, Item: 66, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgrefill_movable", Help: "Pages of zone Movable looked at to be made inactive"},
	{Name: "mem.vmstat.pgdeactivate", Cluster: 28, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgdeactivate", Help: "Pages moved to the inactive lists"},
	{Name: "mem.vmstat.pgfault", Cluster: 28, Item: 16, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgfault", Help: "Page faults"},
	{Name: "mem.vmstat.pgfree", Cluster: 28, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgfree", Help: "Pages freed"},
	{Name: "mem.vmstat.pginodesteal", Cluster: 28, Item: 30, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pginodesteal", Help: "Pages reclaimed by freeing inodes"},
	{Name: "mem.vmstat.pglazyfreed", Cluster: 28, Item: 116, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pglazyfreed", Help: "Pages freed lazily after madvise"},
	{Name: "mem.vmstat.pgmajfault", Cluster: 28, Item: 17, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgmajfault", Help: "Page faults that needed a read from disk"},
	{Name: "mem.vmstat.pgmigrate_fail", Cluster: 28, Item: 117, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgmigrate_fail", Help: "Pages that could not be moved"},
	{Name: "mem.vmstat.pgmigrate_success", Cluster: 28, Item: 118, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgmigrate_success", Help: "Pages moved"},
	{Name: "mem.vmstat.pgpgin", Cluster: 28, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgpgin", Help: "Kbytes read from block devices"},
	{Name: "mem.vmstat.pgpgout", Cluster: 28, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgpgout", Help: "Kbytes written to block devices"},
	{Name: "mem.vmstat.pgrefill_dma", Cluster: 28, Item: 20, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgrefill_dma", Help: "Pages of zone DMA looked at to be made inactive"},
	{Name: "mem.vmstat.pgrefill_high", Cluster: 28, Item: 18, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgrefill_high", Help: "Pages of zone HighMem looked at to be made inactive"},
	{Name: "mem.vmstat.pgrefill_normal", Cluster: 28, Item: 19, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgrefill_normal", Help: "Pages of zone Normal looked at to be made inactive"},
	{Name: "mem.vmstat.pgrotated", Cluster: 28, Item: 36, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgrotated", Help: "Pages moved to the end of the inactive list"},
	{Name: "mem.vmstat.pgscan_direct", Cluster: 28, Item: 146, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct", Help: "Pages scanned by tasks that need memory"},
	{Name: "mem.vmstat.pgscan_direct_dma", Cluster: 28, Item: 29, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct_dma", Help: "Pages of zone DMA scanned by tasks that need memory"},
	{Name: "mem.vmstat.pgscan_direct_dma32", Cluster: 28, Item: 67, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct_dma32", Help: "Pages of zone DMA32 scanned by tasks that need memory"},
	{Name: "mem.vmstat.pgscan_direct_high", Cluster: 28, Item: 27, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct_high", Help: "Pages of zone HighMem scanned by tasks that need memory"},
	{Name: "mem.vmstat.pgscan_direct_movable", Cluster: 28, Item: 68, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct_movable", Help: "Pages of zone Movable scanned by tasks that need memory"},
	{Name: "mem.vmstat.pgscan_direct_normal", Cluster: 28, Item: 28, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct_normal", Help: "Pages of zone Normal scanned by tasks that need memory"},
	{Name: "mem.vmstat.pgscan_direct_throttle", Cluster: 28, Item: 147, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_direct_throttle", Help: "Times tasks that need memory had to wait"},
	{Name: "mem.vmstat.pgscan_direct_total", Cluster: 28, Item: 176, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "=pgscan_direct_total", Help: "Pages scanned by tasks that need memory, in all zones"},
	{Name: "mem.vmstat.pgscan_kswapd", Cluster: 28, Item: 148, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_kswapd", Help: "Pages scanned by kswapd"},
	{Name: "mem.vmstat.pgscan_kswapd_dma", Cluster: 28, Item: 26, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_kswapd_dma", Help: "Pages of zone DMA scanned by kswapd"},
	{Name: "mem.vmstat.pgscan_kswapd_dma32", Cluster: 28, Item: 69, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_kswapd_dma32", Help: "Pages of zone DMA32 scanned by kswapd"},
	{Name: "mem.vmstat.pgscan_kswapd_high", Cluster: 28, Item: 24, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_kswapd_high", Help: "Pages of zone HighMem scanned by kswapd"},
	{Name: "mem.vmstat.pgscan_kswapd_movable", Cluster: 28, Item: 70, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_kswapd_movable", Help: "Pages of zone Movable scanned by kswapd"},
	{Name: "mem.vmstat.pgscan_kswapd_normal", Cluster: 28, Item: 25, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_kswapd_normal", Help: "Pages of zone Normal scanned by kswapd"},
	{Name: "mem.vmstat.pgscan_kswapd_total", Cluster: 28, Item: 177, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "=pgscan_kswapd_total", Help: "Pages scanned by kswapd, in all zones"},
	{Name: "mem.vmstat.pgsteal_dma", Cluster: 28, Item: 23, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_dma", Help: "Pages of zone DMA reclaimed"},
	{Name: "mem.vmstat.pgsteal_dma32", Cluster: 28, Item: 71, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_dma32", Help: "Pages of zone DMA32 reclaimed"},
	{Name: "mem.vmstat.pgsteal_file", Cluster: 28, Item: 167, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_file", Help: "Pages of files reclaimed"},
	{Name: "mem.vmstat.pgsteal_high", Cluster: 28, Item: 21, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_high", Help: "Pages of zone HighMem reclaimed"},
	{Name: "mem.vmstat.pgsteal_movable", Cluster: 28, Item: 72, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_movable", Help: "Pages of zone Movable reclaimed"},
	{Name: "mem.vmstat.pgsteal_normal", Cluster: 28, Item: 22, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_normal", Help: "Pages of zone Normal reclaimed"},
	{Name: "mem.vmstat.pgsteal_kswapd", Cluster: 28, Item: 150, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_kswapd", Help: "Pages reclaimed by kswapd"},
	{Name: "mem.vmstat.pgsteal_kswapd_dma", Cluster: 28, Item: 138, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_kswapd_dma", Help: "Pages of zone DMA reclaimed by kswapd"},
	{Name: "mem.vmstat.pgsteal_kswapd_dma32", Cluster: 28, Item: 139, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_kswapd_dma32", Help: "Pages of zone DMA32 reclaimed by kswapd"},
	{Name: "mem.vmstat.pgsteal_kswapd_normal", Cluster: 28, Item: 140, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_kswapd_normal", Help: "Pages of zone Normal reclaimed by kswapd"},
	{Name: "mem.vmstat.pgsteal_kswapd_movable", Cluster: 28, Item: 141, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_kswapd_movable", Help: "Pages of zone Movable reclaimed by kswapd"},
	{Name: "mem.vmstat.pgsteal_direct", Cluster: 28, Item: 149, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_direct", Help: "Pages reclaimed by tasks that need memory"},
	{Name: "mem.vmstat.pgsteal_direct_dma", Cluster: 28, Item: 142, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_direct_dma", Help: "Pages of zone DMA reclaimed by tasks that need memory"},
	{Name: "mem.vmstat.pgsteal_direct_dma32", Cluster: 28, Item: 143, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_direct_dma32", Help: "Pages of zone DMA32 reclaimed by tasks that need memory"},
	{Name: "mem.vmstat.pgsteal_direct_normal", Cluster: 28, Item: 144, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_direct_normal", Help: "Pages of zone Normal reclaimed by tasks that need memory"},
	{Name: "mem.vmstat.pgsteal_direct_movable", Cluster: 28, Item: 145, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_direct_movable", Help: "Pages of zone Movable reclaimed by tasks that need memory"},
	{Name: "mem.vmstat.pgsteal_total", Cluster: 28, Item: 178, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "=pgsteal_total", Help: "Pages reclaimed, in all zones"},
	{Name: "mem.vmstat.pswpin", Cluster: 28, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pswpin", Help: "Pages read from swap"},
	{Name: "mem.vmstat.pswpout", Cluster: 28, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pswpout", Help: "Pages written to swap"},
	{Name: "mem.vmstat.slabs_scanned", Cluster: 28, Item: 31, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "slabs_scanned", Help: "Slab objects scanned"},
	{Name: "mem.vmstat.swap_ra", Cluster: 28, Item: 168, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "swap_ra", Help: "Pages read ahead from swap"},
	{Name: "mem.vmstat.swap_ra_hit", Cluster: 28, Item: 169, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "swap_ra_hit", Help: "Pages read ahead from swap that were then used"},
	{Name: "mem.vmstat.thp_collapse_alloc", Cluster: 28, Item: 75, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_collapse_alloc", Help: "Huge pages allocated to join small ones"},
	{Name: "mem.vmstat.thp_collapse_alloc_failed", Cluster: 28, Item: 76, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_collapse_alloc_failed", Help: "Huge pages to join small ones that could not be had"},
	{Name: "mem.vmstat.thp_deferred_split_page", Cluster: 28, Item: 119, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_deferred_split_page", Help: "Huge pages to be split under pressure"},
	{Name: "mem.vmstat.thp_fault_alloc", Cluster: 28, Item: 73, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_fault_alloc", Help: "Huge pages allocated at a fault"},
	{Name: "mem.vmstat.thp_fault_fallback", Cluster: 28, Item: 74, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_fault_fallback", Help: "Faults that took small pages for want of a huge one"},
	{Name: "mem.vmstat.thp_fault_fallback_charge", Cluster: 28, Item: 170, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_fault_fallback_charge", Help: "Faults that took small pages since a huge one was beyond the cgroup"},
	{Name: "mem.vmstat.thp_file_alloc", Cluster: 28, Item: 136, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_file_alloc", Help: "Huge pages allocated for files"},
	{Name: "mem.vmstat.thp_file_mapped", Cluster: 28, Item: 137, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_file_mapped", Help: "Huge pages of files mapped"},
	{Name: "mem.vmstat.thp_split", Cluster: 28, Item: 77, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_split", Help: "Huge pages split"},
	{Name: "mem.vmstat.thp_split_page", Cluster: 28, Item: 120, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_split_page", Help: "Huge pages split into small ones"},
	{Name: "mem.vmstat.thp_split_page_failed", Cluster: 28, Item: 121, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_split_page_failed", Help: "Huge pages that could not be split"},
	{Name: "mem.vmstat.thp_split_pmd", Cluster: 28, Item: 122, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_split_pmd", Help: "Huge page mappings split"},
	{Name: "mem.vmstat.thp_split_pud", Cluster: 28, Item: 171, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_split_pud", Help: "Gigantic page mappings split"},
	{Name: "mem.vmstat.thp_swpout", Cluster: 28, Item: 172, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_swpout", Help: "Huge pages swapped out as one"},
	{Name: "mem.vmstat.thp_swpout_fallback", Cluster: 28, Item: 173, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_swpout_fallback", Help: "Huge pages that were split to be swapped out"},
	{Name: "mem.vmstat.thp_zero_page_alloc", Cluster: 28, Item: 101, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_zero_page_alloc", Help: "Huge zero pages allocated"},
	{Name: "mem.vmstat.thp_zero_page_alloc_failed", Cluster: 28, Item: 102, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "thp_zero_page_alloc_failed", Help: "Huge zero pages that could not be had"},
	{Name: "mem.vmstat.unevictable_pgs_cleared", Cluster: 28, Item: 78, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_cleared", Help: "Pages no longer unevictable after unlocking"},
	{Name: "mem.vmstat.unevictable_pgs_culled", Cluster: 28, Item: 79, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_culled", Help: "Pages moved to the unevictable list"},
	{Name: "mem.vmstat.unevictable_pgs_mlocked", Cluster: 28, Item: 80, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_mlocked", Help: "Pages locked by mlock"},
	{Name: "mem.vmstat.unevictable_pgs_mlockfreed", Cluster: 28, Item: 81, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_mlockfreed", Help: "Pages freed while locked"},
	{Name: "mem.vmstat.unevictable_pgs_munlocked", Cluster: 28, Item: 82, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_munlocked", Help: "Pages unlocked"},
	{Name: "mem.vmstat.unevictable_pgs_rescued", Cluster: 28, Item: 83, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_rescued", Help: "Pages that became reclaimable again"},
	{Name: "mem.vmstat.unevictable_pgs_scanned", Cluster: 28, Item: 84, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_scanned", Help: "Unevictable pages scanned"},
	{Name: "mem.vmstat.unevictable_pgs_stranded", Cluster: 28, Item: 85, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "unevictable_pgs_stranded", Help: "Pages left on the unevictable list after unlocking"},
	{Name: "mem.vmstat.workingset_activate", Cluster: 28, Item: 123, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "workingset_activate", Help: "Pages that came back soon and were made active"},
	{Name: "mem.vmstat.workingset_nodes", Cluster: 28, Item: 174, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "workingset_nodes", Help: "Nodes that hold traces of evicted pages"},
	{Name: "mem.vmstat.workingset_nodereclaim", Cluster: 28, Item: 124, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "workingset_nodereclaim", Help: "Nodes with traces of evicted pages reclaimed"},
	{Name: "mem.vmstat.workingset_refault", Cluster: 28, Item: 125, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "workingset_refault", Help: "Evicted pages that came back"},
	{Name: "mem.vmstat.workingset_restore", Cluster: 28, Item: 175, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "workingset_restore", Help: "Pages that came back and had been active before"},
	{Name: "mem.vmstat.zone_reclaim_failed", Cluster: 28, Item: 86, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "zone_reclaim_failed", Help: "Attempts to reclaim from the local node that failed"},
	// Newer than PCP 6.0.3.
	{Name: "mem.vmstat.pgsteal_anon", Cluster: 28, Item: 179, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_anon", Help: "Anonymous pages reclaimed"},
	{Name: "mem.vmstat.pgscan_anon", Cluster: 28, Item: 180, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_anon", Help: "Anonymous pages scanned"},
	{Name: "mem.vmstat.pgscan_file", Cluster: 28, Item: 181, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_file", Help: "Pages of files scanned"},
	{Name: "mem.vmstat.pgdemote_direct", Cluster: 28, Item: 182, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgdemote_direct", Help: "Pages moved to slower memory by tasks that need memory"},
	{Name: "mem.vmstat.pgdemote_khugepaged", Cluster: 28, Item: 183, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgdemote_khugepaged", Help: "Pages moved to slower memory by khugepaged"},
	{Name: "mem.vmstat.pgdemote_kswapd", Cluster: 28, Item: 184, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgdemote_kswapd", Help: "Pages moved to slower memory by kswapd"},
	{Name: "mem.vmstat.pgdemote_total", Cluster: 28, Item: 185, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "=pgdemote_total", Help: "Pages moved to slower memory"},
	{Name: "mem.vmstat.pgpromote_candidate", Cluster: 28, Item: 186, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgpromote_candidate", Help: "Pages of slower memory that could be moved to faster memory"},
	{Name: "mem.vmstat.pgpromote_success", Cluster: 28, Item: 187, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgpromote_success", Help: "Pages moved to faster memory"},
	{Name: "mem.vmstat.pgscan_khugepaged", Cluster: 28, Item: 188, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgscan_khugepaged", Help: "Pages scanned by khugepaged"},
	{Name: "mem.vmstat.pgsteal_khugepaged", Cluster: 28, Item: 189, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "pgsteal_khugepaged", Help: "Pages reclaimed by khugepaged"},
}
