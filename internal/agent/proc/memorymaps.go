package proc

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of numaMapsMetrics: the use of a mapping.
const (
	numaHuge = iota
	numaHeap
	numaStack
	numaPrivate // all else
	numNUMAMaps
)

// numaMapsFamily reads the memory of processes on each node.
func numaMapsFamily(p *processes) column.Family {
	source, b := p.each("/proc/PID/numa_maps", numaMapsMetrics, column.Layout{Cols: numNUMAMaps})
	source.Row = func(row int) {
		if p.private {
			return
		}
		text, err := p.file(b[0].Insts()[row], "numa_maps", false)
		if err != nil {
			return
		}
		nodes := parseNUMAMaps(text, p.page)
		if len(nodes) == 0 {
			return
		}
		ids := slices.Sorted(maps.Keys(nodes))
		for col := range numNUMAMaps {
			var s []byte
			for i, node := range ids {
				if i > 0 {
					s = append(s, ',')
				}
				s = append(strconv.AppendUint(append(s, "node"...), node, 10), ':')
				s = strconv.AppendFloat(s, float64(nodes[node][col])/(1<<20), 'f', 2, 64)
			}
			b[0].SetString(row, col, s)
		}
	}
	return column.Family{Name: "numa_maps", Metrics: p.table(numaMapsMetrics), Sources: []*column.Source{source}}
}

// maxNode bounds numbers of nodes found in files.
const maxNode = 1 << 16

// parseNUMAMaps sums up the bytes on each node, for lines such as
//
//	7f5c3a000000 default heap anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4
func parseNUMAMaps(b []byte, page uint64) map[uint64]*[numNUMAMaps]uint64 {
	nodes := make(map[uint64]*[numNUMAMaps]uint64)
	for line := range procfs.Lines(b) {
		use, size := numaPrivate, page
		for word := range bytes.FieldsSeq(line) {
			switch string(word) {
			case "huge":
				use = min(use, numaHuge)
			case "heap":
				use = min(use, numaHeap)
			case "stack":
				use = min(use, numaStack)
			}
			if kb, ok := bytes.CutPrefix(word, []byte("kernelpagesize_kB=")); ok {
				if v, _, ok := procfs.Uint(kb); ok && v > 0 {
					size = v << 10
				}
			}
		}
		for word := range bytes.FieldsSeq(line) {
			if word[0] != 'N' {
				continue
			}
			node, rest, ok := procfs.Uint(word[1:])
			rest, equals := bytes.CutPrefix(rest, []byte{'='})
			pages, _, ok2 := procfs.Uint(rest)
			if !ok || !equals || !ok2 || node > maxNode {
				continue
			}
			if nodes[node] == nil {
				nodes[node] = new([numNUMAMaps]uint64)
			}
			nodes[node][use] += pages * size
		}
	}
	return nodes
}

// numaMapsMetrics are newer than PCP 6.0.3.
var numaMapsMetrics = []column.Metric{
	{Name: "proc.numa_maps.hugepage", Cluster: 81, Item: 0, Type: pcp.TypeString, Sem: instant, Col: numaHuge, Help: "Mbytes of memory in huge pages, on each node"},
	{Name: "proc.numa_maps.heap", Cluster: 81, Item: 1, Type: pcp.TypeString, Sem: instant, Col: numaHeap, Help: "Mbytes of the heap, on each node"},
	{Name: "proc.numa_maps.stack", Cluster: 81, Item: 2, Type: pcp.TypeString, Sem: instant, Col: numaStack, Help: "Mbytes of the stack, on each node"},
	{Name: "proc.numa_maps.private", Cluster: 81, Item: 3, Type: pcp.TypeString, Sem: instant, Col: numaPrivate, Help: "Mbytes of all other memory, on each node"},
}

// fdinfoFamily reads the memory of graphics processors that processes use, from the
// files of /proc/PID/fdinfo about their devices. The keys of its block are those of
// these files.
func fdinfoFamily(p *processes) column.Family {
	source, b := p.each("/proc/PID/fdinfo", fdinfoMetrics, column.Layout{})
	source.Row = func(row int) {
		if p.private {
			return
		}
		pid := b[0].Insts()[row]
		names, err := readNames(p.pathOf(pid, "fdinfo", false))
		if err != nil {
			return
		}
		var clients map[string]bool // several files can be of one client of the driver
		for _, name := range names {
			// The link names the open file; most need not be read.
			target, err := os.Readlink(p.pathOf(pid, "fd/"+name, false))
			if err == nil && !isGraphics(target) {
				continue
			}
			text, err := p.file(pid, "fdinfo/"+name, true)
			if err != nil {
				continue
			}
			client, ok := drmClient(text)
			if !ok || clients[client] {
				continue
			}
			if clients == nil {
				clients = make(map[string]bool)
			}
			clients[client] = true
			addDRM(text, b[0].Keys(), b[0].Row(row))
		}
		for col, c := range b[0].Row(row) {
			if !c.OK {
				b[0].Set(row, col, 0)
			}
		}
	}
	return column.Family{Name: "fdinfo", Metrics: p.table(fdinfoMetrics), Sources: []*column.Source{source}}
}

// isGraphics reports whether a file is a device of a graphics processor.
func isGraphics(path string) bool {
	return len(path) > len("/dev/dri/") && (path[:9] == "/dev/dri/" || path == "/dev/kfd")
}

// drmClient returns the device and number of a client of a graphics driver.
func drmClient(b []byte) (string, bool) {
	var device, id []byte
	for line := range procfs.Lines(b) {
		key, val, _ := procfs.Cut(line, ':')
		switch string(key) {
		case "drm-pdev":
			device = val
		case "drm-client-id":
			id = val
		}
	}
	return string(device) + " " + string(id), len(id) > 0
}

// addDRM adds the numbers of lines such as "drm-memory-vram: 12 KiB", in Kbytes.
func addDRM(b []byte, keys map[string]int, row []column.Cell) {
	for line := range procfs.Lines(b) {
		key, val, _ := procfs.Cut(line, ':')
		col, ok := keys[string(key)]
		v, unit, ok2 := procfs.Uint(val)
		if !ok || !ok2 {
			continue
		}
		switch string(procfs.Trim(unit)) {
		case "":
			v >>= 10
		case "MiB":
			v <<= 10
		}
		row[col] = column.Num(row[col].Bits + v)
	}
}

// fdinfoMetrics are newer than PCP 6.0.3.
var fdinfoMetrics = []column.Metric{
	{Name: "proc.fdinfo.drm_memory_cpu", Cluster: 77, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "drm-memory-cpu", Help: "Memory of the machine that graphics processors use for the process"},
	{Name: "proc.fdinfo.drm_memory_gtt", Cluster: 77, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "drm-memory-gtt", Help: "Memory of the machine that is mapped into graphics processors for the process"},
	{Name: "proc.fdinfo.drm_memory_vram", Cluster: 77, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "drm-memory-vram", Help: "Memory of graphics processors that the process has"},
	{Name: "proc.fdinfo.drm_shared_cpu", Cluster: 77, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "drm-shared-cpu", Help: "Part of drm_memory_cpu that others have, too"},
	{Name: "proc.fdinfo.drm_shared_gtt", Cluster: 77, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "drm-shared-gtt", Help: "Part of drm_memory_gtt that others have, too"},
	{Name: "proc.fdinfo.drm_shared_vram", Cluster: 77, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "drm-shared-vram", Help: "Part of drm_memory_vram that others have, too"},
	{Name: "proc.fdinfo.amd_evicted_visible_vram", Cluster: 77, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "amd-evicted-visible-vram", Help: "AMD graphics memory taken from the process for accesses by processors"},
	{Name: "proc.fdinfo.amd_evicted_vram", Cluster: 77, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "amd-evicted-vram", Help: "Memory of AMD graphics processors taken from the process"},
	{Name: "proc.fdinfo.amd_memory_visible_vram", Cluster: 77, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "amd-memory-visible-vram", Help: "AMD graphics memory that the process has where processors can reach it"},
	{Name: "proc.fdinfo.amd_requested_gtt", Cluster: 77, Item: 9, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "amd-requested-gtt", Help: "Memory of the machine that the process asked AMD graphics processors to map"},
	{Name: "proc.fdinfo.amd_requested_visible_vram", Cluster: 77, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "amd-requested-visible-vram", Help: "AMD graphics memory that the process asked for where processors can reach it"},
	{Name: "proc.fdinfo.amd_requested_vram", Cluster: 77, Item: 11, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Key: "amd-requested-vram", Help: "Memory of AMD graphics processors that the process asked for"},
}
