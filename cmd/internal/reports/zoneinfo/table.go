package zoneinfo

// below is the prefix of the metrics.
const below = "mem.zoneinfo."

// always are the metrics that each version of the agent has, in the order in which the C program looks them up.
var always = []string{
	"managed", "nr_mlock", "present", "scanned", "nr_unstable", "nr_page_table_pages", "nr_shmem",
	"nr_free_pages", "nr_active_file", "nr_dirty", "nr_writeback", "free", "nr_unevictable", "nr_alloc_batch",
	"low", "nr_slab_reclaimable", "nr_kernel_stack", "numa_interleave", "workingset_nodereclaim",
	"nr_isolated_anon", "nr_bounce", "numa_other", "nr_file_pages", "numa_hit", "nr_isolated_file",
	"nr_anon_transparent_hugepages", "nr_inactive_file", "spanned", "nr_written", "numa_foreign",
	"nr_vmscan_write", "nr_free_cma", "nr_writeback_temp", "nr_slab_unreclaimable",
	"nr_vmscan_immediate_reclaim", "nr_mapped", "nr_anon_pages", "high", "protection", "numa_local",
	"numa_miss", "nr_active_anon", "workingset_refault", "nr_dirtied", "workingset_activate",
	"nr_inactive_anon", "min",
}

// since5 are the metrics that the agent has with kernels from version 5. If all of them exist, the report has a
// different form.
var since5 = []string{
	"nr_foll_pin_acquired", "nr_foll_pin_released", "nr_zspages", "workingset_restore_anon",
	"workingset_refault_anon", "nr_zone_active_anon", "nr_zone_inactive_file", "nr_swapcached",
	"nr_file_pmdmapped", "workingset_active_file", "workingset_refault_file", "cma", "workingset_active_anon",
	"nr_zone_write_pending", "nr_shmem_pmdmapped", "nr_shmem_hugepages", "nr_kernel_misc_reclaimable",
	"nr_zone_active_file", "nr_file_hugepages", "nr_zone_unevictable", "nr_zone_inactive_anon",
	"workingset_restore_file",
}

// perNode are the lines of a node.
var perNode = []string{
	"nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file", "nr_unevictable",
	"nr_slab_reclaimable", "nr_slab_unreclaimable", "nr_isolated_anon", "nr_isolated_file", "nr_anon_pages",
	"nr_mapped", "nr_file_pages", "nr_dirty", "nr_writeback", "nr_writeback_temp", "nr_shmem",
	"nr_anon_transparent_hugepages", "nr_unstable", "nr_vmscan_write", "nr_vmscan_immediate_reclaim",
	"nr_dirtied", "nr_written", "nr_shmem_hugepages", "nr_shmem_pmdmapped", "nr_file_hugepages",
	"nr_file_pmdmapped", "nr_kernel_misc_reclaimable",
}

// ofPages are the lines of a zone about its pages, with the text before the name.
var ofPages = []struct{ indent, name string }{
	{"pages ", "free"},
	{"      ", "min"},
	{"      ", "low"},
	{"      ", "high"},
	{"      ", "spanned"},
	{"      ", "present"},
	{"      ", "managed"},
}

// perZone are the other lines of a zone.
var perZone = []string{
	"nr_free_pages", "nr_mlock", "nr_page_table_pages", "nr_kernel_stack", "nr_bounce", "nr_free_cma",
	"numa_hit", "numa_miss", "numa_foreign", "numa_interleave", "numa_other", "nr_zone_active_anon",
	"nr_zone_inactive_file", "nr_zone_active_file", "nr_zone_unevictable", "nr_zone_write_pending",
	"nr_zspages", "numa_local", "nr_zone_inactive_anon",
}
