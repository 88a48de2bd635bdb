package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of zoneMetrics.
const (
	blockZone = iota
	blockZoneProt
)

// A zoneReader reads /proc/zoneinfo. Its instances are the zones of each node
// that have pages, "DMA::node0", and the nodes, "node0", which have the counters
// that newer kernels keep by node.
type zoneReader struct {
	blocks  []*column.Block
	file    *procfs.File
	kb      uint64 // size of a page in Kbytes
	cols    map[string]int
	present int
	zones   column.Names
	prots   column.Names
	key     []byte

	cells  []column.Cell // of the zone being read
	labels []zoneLabel   // of zones, by instance
	prot   []zoneLabel   // of the protections, by instance
}

type zoneLabel struct {
	node, lowmem int
	zone         string // "" for a node
}

func newZoneReader(h *host) *zoneReader {
	r := &zoneReader{file: h.file("proc/zoneinfo"), kb: h.page >> 10, cols: make(map[string]int)}
	zones := &column.InDom{
		Serial: 32, Help: "Memory zones of each node, and the nodes", InstanceLabels: r.zoneLabels,
		Labels: `{"device_type":["memory","numa_node"],"indom_name":"per zone per numa_node"}`,
	}
	prots := &column.InDom{
		Serial: 33, Help: "Reserves of each memory zone against allocations for other zones", InstanceLabels: r.protLabels,
	}
	r.blocks = column.NewBlocks(zoneMetrics, []column.Layout{
		blockZone:     {InDom: zones, Lists: true},
		blockZoneProt: {InDom: prots, Lists: true, Cols: 1},
	}...)
	r.present = r.blocks[blockZone].Column("present")
	for key, col := range r.blocks[blockZone].Keys() {
		r.cols[key] = col
	}
	// The name in older kernels.
	r.cols["node_scanned"] = r.blocks[blockZone].Column("scanned")
	return r
}

func (r *zoneReader) family() column.Family {
	return column.Family{Name: "zoneinfo", Metrics: zoneMetrics, Sources: []*column.Source{{
		Name: "/proc/zoneinfo", File: r.file, Parse: r.parse, Blocks: r.blocks,
	}}}
}

func (r *zoneReader) zoneLabels(inst int32, _ string) map[string]any {
	l := r.labels[inst]
	if l.zone == "" {
		return map[string]any{"numa_node": l.node}
	}
	return map[string]any{"numa_node": l.node, "zone": l.zone}
}

func (r *zoneReader) protLabels(inst int32, _ string) map[string]any {
	l := r.prot[inst]
	return map[string]any{"numa_node": l.node, "zone": l.zone, "lowmem_reserved": l.lowmem}
}

// parse fills the block of zones and nodes and that of protections.
func (r *zoneReader) parse(b []byte) {
	zones, prots := r.blocks[blockZone], r.blocks[blockZoneProt]
	zones.Clear()
	prots.Clear()
	r.zones.Begin()
	r.prots.Begin()
	if len(r.cells) < zones.Cols() {
		r.cells = make([]column.Cell, zones.Cols())
	}
	node, zone, inZone, nodeRow := 0, []byte(nil), false, -1
	finish := func() {
		if zone == nil {
			return
		}
		inst, name := r.zones.ID(r.name(zone, node))
		r.label(&r.labels, inst, zoneLabel{node: node}, zone)
		// A zone without pages is hidden; it keeps its number.
		if c := r.cells[r.present]; r.zones.First(inst) && (!c.OK || c.Bits != 0) {
			copy(zones.Row(zones.AddNamed(inst, name)), r.cells)
		}
		zone = nil
	}
	for line := range procfs.Lines(b) {
		if bytes.HasPrefix(line, []byte("Node ")) {
			finish()
			n, rest, ok := procfs.Uint(line[len("Node "):])
			if word, rest := procfs.Field(bytes.TrimPrefix(rest, []byte(","))); !ok || n >= maxCPU || string(word) != "zone" {
				continue
			} else if zone, _ = procfs.Field(rest); len(zone) == 0 {
				zone = nil
				continue
			}
			node, inZone, nodeRow = int(n), true, -1
			clear(r.cells)
			continue
		}
		if zone == nil {
			continue
		}
		key, rest := procfs.Field(line)
		switch string(key) {
		case "per-node":
			r.key = strconv.AppendInt(append(r.key[:0], "node"...), int64(node), 10)
			inst, name := r.zones.ID(r.key)
			r.label(&r.labels, inst, zoneLabel{node: node}, nil)
			nodeRow, inZone = -1, false
			if r.zones.First(inst) {
				nodeRow = zones.AddNamed(inst, name)
			}
			continue
		case "pages":
			inZone = true
			key, rest = procfs.Field(rest)
		case "protection:":
			r.protection(rest, node, zone)
			continue
		case "pagesets":
			// The lines below are by processor, and repeat keys.
		}
		col, ok := r.cols[string(key)]
		if !ok {
			continue
		}
		v, _, ok := procfs.Uint(rest)
		if !ok {
			continue
		}
		if inZone {
			r.cells[col] = column.Num(v * r.kb)
		} else if nodeRow >= 0 {
			zones.Set(nodeRow, col, v*r.kb)
		}
	}
	finish()
}

// protection reads "(0, 3019, 4427)": pages kept from allocations that could
// also use higher zones.
func (r *zoneReader) protection(b []byte, node int, zone []byte) {
	prots := r.blocks[blockZoneProt]
	b = bytes.TrimPrefix(procfs.Skip(b), []byte("("))
	for i := 0; i < 64; i++ {
		v, rest, ok := procfs.Uint(b)
		if !ok {
			return
		}
		r.name(zone, node)
		r.key = strconv.AppendInt(append(r.key, "::lowmem_reserved"...), int64(i), 10)
		inst, name := r.prots.ID(r.key)
		r.label(&r.prot, inst, zoneLabel{node: node, lowmem: i}, zone)
		if r.prots.First(inst) {
			prots.Set(prots.AddNamed(inst, name), 0, v*r.kb)
		}
		b = bytes.TrimPrefix(rest, []byte(","))
	}
}

func (r *zoneReader) name(zone []byte, node int) []byte {
	r.key = append(append(r.key[:0], zone...), "::node"...)
	r.key = strconv.AppendInt(r.key, int64(node), 10)
	return r.key
}

// label stores the parts of the labels of a new instance.
func (r *zoneReader) label(labels *[]zoneLabel, inst int32, l zoneLabel, zone []byte) {
	if int(inst) < len(*labels) {
		return
	}
	l.zone = string(zone)
	*labels = append(*labels, l)
}

// zoneMetrics are the metrics of /proc/zoneinfo, by its keys.
var zoneMetrics = []column.Metric{
	{Name: "mem.zoneinfo.free", Cluster: 68, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "free", Help: "Free memory, by zone or node"},
	{Name: "mem.zoneinfo.min", Cluster: 68, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "min", Help: "Free memory below which only emergencies may allocate, by zone or node"},
	{Name: "mem.zoneinfo.low", Cluster: 68, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "low", Help: "Free memory below which reclaiming starts, by zone or node"},
	{Name: "mem.zoneinfo.high", Cluster: 68, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "high", Help: "Free memory above which reclaiming stops, by zone or node"},
	{Name: "mem.zoneinfo.scanned", Cluster: 68, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "scanned", Help: "Memory scanned since the last reclaiming, by zone or node"},
	{Name: "mem.zoneinfo.spanned", Cluster: 68, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "spanned", Help: "Memory that the zone extends over, holes included, by zone or node"},
	{Name: "mem.zoneinfo.present", Cluster: 68, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "present", Help: "Memory that exists, by zone or node"},
	{Name: "mem.zoneinfo.managed", Cluster: 68, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "managed", Help: "Memory that the page allocator has, by zone or node"},
	{Name: "mem.zoneinfo.nr_free_pages", Cluster: 68, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "=nr_free_pages", Help: "Free memory as counted by the allocator, by zone or node"},
	{Name: "mem.zoneinfo.nr_alloc_batch", Cluster: 68, Item: 9, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_alloc_batch", Help: "Memory to allocate here before another zone's turn, by zone or node"},
	{Name: "mem.zoneinfo.nr_inactive_anon", Cluster: 68, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_inactive_anon", Help: "Anonymous pages not used lately, by zone or node"},
	{Name: "mem.zoneinfo.nr_active_anon", Cluster: 68, Item: 11, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_active_anon", Help: "Anonymous pages used lately, by zone or node"},
	{Name: "mem.zoneinfo.nr_inactive_file", Cluster: 68, Item: 12, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_inactive_file", Help: "Pages of files not used lately, by zone or node"},
	{Name: "mem.zoneinfo.nr_active_file", Cluster: 68, Item: 13, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_active_file", Help: "Pages of files used lately, by zone or node"},
	{Name: "mem.zoneinfo.nr_unevictable", Cluster: 68, Item: 14, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_unevictable", Help: "Pages that cannot be reclaimed, by zone or node"},
	{Name: "mem.zoneinfo.nr_mlock", Cluster: 68, Item: 15, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_mlock", Help: "Pages that mlock keeps in place, by zone or node"},
	{Name: "mem.zoneinfo.nr_anon_pages", Cluster: 68, Item: 16, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_anon_pages", Help: "Anonymous pages that are mapped, by zone or node"},
	{Name: "mem.zoneinfo.nr_mapped", Cluster: 68, Item: 17, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_mapped", Help: "Pages of files mapped into processes, by zone or node"},
	{Name: "mem.zoneinfo.nr_file_pages", Cluster: 68, Item: 18, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_file_pages", Help: "Pages of files, by zone or node"},
	{Name: "mem.zoneinfo.nr_dirty", Cluster: 68, Item: 19, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_dirty", Help: "Dirty pages, by zone or node"},
	{Name: "mem.zoneinfo.nr_writeback", Cluster: 68, Item: 20, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_writeback", Help: "Pages being written back, by zone or node"},
	{Name: "mem.zoneinfo.nr_slab_reclaimable", Cluster: 68, Item: 21, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_slab_reclaimable", Help: "Pages of slab caches that can be reclaimed, by zone or node"},
	{Name: "mem.zoneinfo.nr_slab_unreclaimable", Cluster: 68, Item: 22, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_slab_unreclaimable", Help: "Pages of slab caches that cannot be reclaimed, by zone or node"},
	{Name: "mem.zoneinfo.nr_page_table_pages", Cluster: 68, Item: 23, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_page_table_pages", Help: "Pages of page tables, by zone or node"},
	{Name: "mem.zoneinfo.nr_kernel_stack", Cluster: 68, Item: 24, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_kernel_stack", Help: "Memory of kernel stacks, by zone or node"},
	{Name: "mem.zoneinfo.nr_unstable", Cluster: 68, Item: 25, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_unstable", Help: "Pages on an NFS server but not yet on its disk, by zone or node"},
	{Name: "mem.zoneinfo.nr_bounce", Cluster: 68, Item: 26, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_bounce", Help: "Pages of bounce buffers, by zone or node"},
	{Name: "mem.zoneinfo.nr_vmscan_write", Cluster: 68, Item: 27, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_vmscan_write", Help: "Pages written by the scan for pages to reclaim, by zone or node"},
	{Name: "mem.zoneinfo.nr_vmscan_immediate_reclaim", Cluster: 68, Item: 28, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_vmscan_immediate_reclaim", Help: "Pages to be reclaimed as soon as they are written, by zone or node"},
	{Name: "mem.zoneinfo.nr_writeback_temp", Cluster: 68, Item: 29, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_writeback_temp", Help: "Pages being written back for user space file systems, by zone or node"},
	{Name: "mem.zoneinfo.nr_isolated_anon", Cluster: 68, Item: 30, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_isolated_anon", Help: "Anonymous pages taken off the lists for now, by zone or node"},
	{Name: "mem.zoneinfo.nr_isolated_file", Cluster: 68, Item: 31, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_isolated_file", Help: "Pages of files taken off the lists for now, by zone or node"},
	{Name: "mem.zoneinfo.nr_shmem", Cluster: 68, Item: 32, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_shmem", Help: "Pages of tmpfs and shared memory, by zone or node"},
	{Name: "mem.zoneinfo.nr_dirtied", Cluster: 68, Item: 33, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_dirtied", Help: "Pages made dirty since boot, by zone or node"},
	{Name: "mem.zoneinfo.nr_written", Cluster: 68, Item: 34, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_written", Help: "Pages written since boot, by zone or node"},
	{Name: "mem.zoneinfo.numa_hit", Cluster: 68, Item: 35, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "numa_hit", Help: "Pages allocated on the node that was wanted, by zone or node"},
	{Name: "mem.zoneinfo.numa_miss", Cluster: 68, Item: 36, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "numa_miss", Help: "Pages allocated on a node that was not wanted, by zone or node"},
	{Name: "mem.zoneinfo.numa_foreign", Cluster: 68, Item: 37, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "numa_foreign", Help: "Pages wanted on this node but allocated on another, by zone or node"},
	{Name: "mem.zoneinfo.numa_interleave", Cluster: 68, Item: 38, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "numa_interleave", Help: "Pages spread over nodes that landed where they should, by zone or node"},
	{Name: "mem.zoneinfo.numa_local", Cluster: 68, Item: 39, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "numa_local", Help: "Pages allocated on the node of the process, by zone or node"},
	{Name: "mem.zoneinfo.numa_other", Cluster: 68, Item: 40, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "numa_other", Help: "Pages allocated for a process of another node, by zone or node"},
	{Name: "mem.zoneinfo.workingset_refault", Cluster: 68, Item: 41, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_refault", Help: "Evicted pages that came back, by zone or node"},
	{Name: "mem.zoneinfo.workingset_activate", Cluster: 68, Item: 42, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_activate", Help: "Pages that came back soon and were made active, by zone or node"},
	{Name: "mem.zoneinfo.workingset_nodereclaim", Cluster: 68, Item: 43, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_nodereclaim", Help: "Nodes with traces of evicted pages reclaimed, by zone or node"},
	{Name: "mem.zoneinfo.nr_anon_transparent_hugepages", Cluster: 68, Item: 44, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_anon_transparent_hugepages", Help: "Anonymous transparent huge pages, by zone or node"},
	{Name: "mem.zoneinfo.nr_free_cma", Cluster: 68, Item: 45, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_free_cma", Help: "Free pages of those for contiguous allocation, by zone or node"},
	{Name: "mem.zoneinfo.cma", Cluster: 68, Item: 46, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "cma", Help: "Memory set aside for contiguous allocation, by zone or node"},
	{Name: "mem.zoneinfo.nr_swapcached", Cluster: 68, Item: 47, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_swapcached", Help: "Pages that are also still in swap, by zone or node"},
	{Name: "mem.zoneinfo.nr_shmem_hugepages", Cluster: 68, Item: 48, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_shmem_hugepages", Help: "Huge pages of tmpfs and shared memory, by zone or node"},
	{Name: "mem.zoneinfo.nr_shmem_pmdmapped", Cluster: 68, Item: 49, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_shmem_pmdmapped", Help: "Huge pages of shared memory mapped as such, by zone or node"},
	{Name: "mem.zoneinfo.nr_file_hugepages", Cluster: 68, Item: 50, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_file_hugepages", Help: "Huge pages of files, by zone or node"},
	{Name: "mem.zoneinfo.nr_file_pmdmapped", Cluster: 68, Item: 51, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_file_pmdmapped", Help: "Huge pages of files mapped as such, by zone or node"},
	{Name: "mem.zoneinfo.nr_kernel_misc_reclaimable", Cluster: 68, Item: 52, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_kernel_misc_reclaimable", Help: "Kernel pages outside slabs that can be reclaimed, by zone or node"},
	{Name: "mem.zoneinfo.nr_foll_pin_acquired", Cluster: 68, Item: 53, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_foll_pin_acquired", Help: "Pages pinned for direct access, by zone or node"},
	{Name: "mem.zoneinfo.nr_foll_pin_released", Cluster: 68, Item: 54, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_foll_pin_released", Help: "Pages unpinned after direct access, by zone or node"},
	{Name: "mem.zoneinfo.workingset_refault_anon", Cluster: 68, Item: 55, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_refault_anon", Help: "Evicted anonymous pages that came back, by zone or node"},
	{Name: "mem.zoneinfo.workingset_refault_file", Cluster: 68, Item: 56, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_refault_file", Help: "Evicted pages of files that came back, by zone or node"},
	{Name: "mem.zoneinfo.workingset_active_anon", Cluster: 68, Item: 57, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_activate_anon", Help: "Anonymous pages that came back soon and were made active, by zone or node"},
	{Name: "mem.zoneinfo.workingset_active_file", Cluster: 68, Item: 58, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_activate_file", Help: "Pages of files that came back soon and were made active, by zone or node"},
	{Name: "mem.zoneinfo.workingset_restore_anon", Cluster: 68, Item: 59, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_restore_anon", Help: "Anonymous pages that came back and had been active before, by zone or node"},
	{Name: "mem.zoneinfo.workingset_restore_file", Cluster: 68, Item: 60, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "workingset_restore_file", Help: "Pages of files that came back and had been active before, by zone or node"},
	{Name: "mem.zoneinfo.nr_zspages", Cluster: 68, Item: 61, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zspages", Help: "Pages of compressed memory, by zone or node"},
	{Name: "mem.zoneinfo.nr_zone_inactive_file", Cluster: 68, Item: 62, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zone_inactive_file", Help: "Pages of files not used lately, counted by zone, by zone or node"},
	{Name: "mem.zoneinfo.nr_zone_active_file", Cluster: 68, Item: 63, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zone_active_file", Help: "Pages of files used lately, counted by zone, by zone or node"},
	{Name: "mem.zoneinfo.nr_zone_inactive_anon", Cluster: 68, Item: 64, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zone_inactive_anon", Help: "Anonymous pages not used lately, counted by zone, by zone or node"},
	{Name: "mem.zoneinfo.nr_zone_active_anon", Cluster: 68, Item: 65, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zone_active_anon", Help: "Anonymous pages used lately, counted by zone, by zone or node"},
	{Name: "mem.zoneinfo.nr_zone_unevictable", Cluster: 68, Item: 66, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zone_unevictable", Help: "Pages that cannot be reclaimed, counted by zone, by zone or node"},
	{Name: "mem.zoneinfo.nr_zone_write_pending", Cluster: 68, Item: 67, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZone, Key: "nr_zone_write_pending", Help: "Pages dirty or being written, counted by zone, by zone or node"},
	{Name: "mem.zoneinfo.protection", Cluster: 70, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZoneProt, Help: "Memory of the zone kept from allocations for higher zones"},
}
