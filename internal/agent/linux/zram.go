package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of zramMetrics.
const (
	blockZramCap = iota
	blockZramIO
	blockZramMM
	blockZramBD
)

// A zramFile is a file of numbers about a zram device.
type zramFile struct {
	name  string
	scale [8]uint64 // factor of each number; 0 means to divide by 1024
}

// zramFiles are the files, in the order of their blocks.
//
// The numbers of mm_stat are bytes, then pages; pages count as 4 Kbytes
// independent of their size, as in proc_partitions.c.
var zramFiles = [...]zramFile{
	blockZramCap: {"disksize", [8]uint64{0}},
	blockZramIO:  {"io_stat", [8]uint64{1, 1, 1, 1}},
	blockZramMM:  {"mm_stat", [8]uint64{0, 0, 0, 0, 0, 4, 4, 4}},
	blockZramBD:  {"bd_stat", [8]uint64{4, 4, 4}},
}

// A zramReader reads the files in /sys about compressed memory devices.
type zramReader struct {
	blocks  []*column.Block
	host    *host
	devices *column.Block
	files   [len(zramFiles)][]*procfs.File // by kind and instance
}

func zramFamily(h *host, disks *diskReader) column.Family {
	r := &zramReader{host: h, devices: disks.blocks[blockZram]}
	indom := r.devices.InDom()
	r.blocks = column.NewBlocks(zramMetrics, []column.Layout{
		blockZramCap: {InDom: indom, Cols: 1},
		blockZramIO:  {InDom: indom, Cols: 4},
		blockZramMM:  {InDom: indom, Cols: 8},
		blockZramBD:  {InDom: indom, Cols: 3},
	}...)
	return column.Family{Name: "zram", Metrics: zramMetrics, Sources: []*column.Source{{
		Name: "/sys/block: zram", Read: r.read, Blocks: r.blocks, After: []*column.Source{disks.stats},
	}}}
}

func (r *zramReader) read() error {
	for i, f := range zramFiles {
		out := r.blocks[i]
		out.Clear()
		for j, inst := range r.devices.Insts() {
			b, err := r.file(i, int(inst), "sys/block/"+r.devices.Names()[j]+"/"+f.name).Read()
			if err != nil {
				continue
			}
			parseZram(b, out.Row(out.Add(inst)), f.scale)
		}
	}
	return nil
}

// parseZram reads one number for each column of row, or none.
func parseZram(b []byte, row []column.Cell, scale [8]uint64) {
	for col := range row {
		v, rest, ok := procfs.Uint(b)
		if !ok {
			clear(row)
			return
		}
		b = rest
		if scale[col] == 0 {
			v >>= 10
		} else {
			v *= scale[col]
		}
		row[col] = column.Num(v)
	}
}

func (r *zramReader) file(kind, inst int, path string) *procfs.File {
	files := &r.files[kind]
	for len(*files) <= inst {
		*files = append(*files, nil)
	}
	if (*files)[inst] == nil {
		(*files)[inst] = r.host.deviceFile(path)
	}
	return (*files)[inst]
}

// zramMetrics are the metrics of each compressed memory device.
var zramMetrics = []column.Metric{
	{Name: "zram.capacity", Cluster: 86, Item: 16, Type: pcp.TypeU64, Sem: discrete, Units: kbyte, From: blockZramCap, Help: "Size, of each zram device"},
	{Name: "zram.io_stat.invalid", Cluster: 87, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockZramIO, Col: 2, Help: "Requests not aligned to pages, of each zram device"},
	{Name: "zram.io_stat.notify_free", Cluster: 87, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockZramIO, Col: 3, Help: "Notes from swap that a page is free, of each zram device"},
	{Name: "zram.io_stat.failed.reads", Cluster: 87, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockZramIO, Help: "Reads that failed, of each zram device"},
	{Name: "zram.io_stat.failed.writes", Cluster: 87, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockZramIO, Col: 1, Help: "Writes that failed, of each zram device"},
	{Name: "zram.mm_stat.data_size.original", Cluster: 88, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZramMM, Help: "Size of the data before compression, of each zram device"},
	{Name: "zram.mm_stat.data_size.compressed", Cluster: 88, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZramMM, Col: 1, Help: "Size of the data after compression, of each zram device"},
	{Name: "zram.mm_stat.mem.used_total", Cluster: 88, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZramMM, Col: 2, Help: "Memory used, overhead included, of each zram device"},
	{Name: "zram.mm_stat.mem.limit", Cluster: 88, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZramMM, Col: 3, Help: "Limit on the memory used, of each zram device"},
	{Name: "zram.mm_stat.mem.max_used", Cluster: 88, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockZramMM, Col: 4, Help: "Most memory ever used, of each zram device"},
	{Name: "zram.mm_stat.pages.same", Cluster: 88, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: blockZramMM, Col: 5, Help: "Pages of one repeated value, which need no memory, of each zram device"},
	{Name: "zram.mm_stat.pages.compacted", Cluster: 88, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: blockZramMM, Col: 6, Help: "Memory freed by compaction, of each zram device"},
	{Name: "zram.mm_stat.pages.huge", Cluster: 88, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: blockZramMM, Col: 7, Help: "Pages that could not be compressed, of each zram device"},
	{Name: "zram.bd_stat.count", Cluster: 89, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: blockZramBD, Help: "Data on the backing device, of each zram device"},
	{Name: "zram.bd_stat.reads", Cluster: 89, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: blockZramBD, Col: 1, Help: "Data read from the backing device, of each zram device"},
	{Name: "zram.bd_stat.writes", Cluster: 89, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: blockZramBD, Col: 2, Help: "Data written to the backing device, of each zram device"},
}
