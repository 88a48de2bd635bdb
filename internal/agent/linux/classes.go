package linux

import (
	"math"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of classMetrics.
const (
	blockTapeCount = iota
	blockFCCount
	blockTape
	blockFC
)

// A classReader reads the statistics of tapes and of Fibre Channel hosts. The keys of
// their blocks are names of files.
type classReader struct {
	blocks         []*column.Block
	host           *host
	tapes, fcHosts column.Names
}

func classFamily(h *host) column.Family {
	r := &classReader{host: h}
	r.blocks = column.NewBlocks(classMetrics, []column.Layout{
		blockTapeCount: {Cols: 1},
		blockFCCount:   {Cols: 1},
		blockTape:      {InDom: &column.InDom{Serial: 34, Help: "Tape drives"}, Lists: true},
		blockFC:        {InDom: &column.InDom{Serial: 39, Help: "Fibre Channel host adapters"}, Lists: true},
	}...)
	return column.Family{Name: "tape and fchost", Metrics: classMetrics, Sources: []*column.Source{{
		Name: "/sys/class", Read: r.read, Blocks: r.blocks,
	}}}
}

func (r *classReader) read() error {
	tapes, hosts := r.blocks[blockTape], r.blocks[blockFC]
	tapes.Clear()
	hosts.Clear()
	r.tapes.Begin()
	for _, name := range procfs.Names(r.host.path("sys/class/scsi_tape")) {
		// A tape has more directories, one for each of its modes: nst0, st0a.
		if strings.HasPrefix(name, "st") && ctext.IsDigit(name[len(name)-1]) {
			r.readStats(tapes, &r.tapes, name, "sys/class/scsi_tape/"+name+"/stats/", procfs.Uint)
		}
	}
	r.fcHosts.Begin()
	for _, name := range procfs.Names(r.host.path("sys/class/fc_host")) {
		row := r.readStats(hosts, &r.fcHosts, name, "sys/class/fc_host/"+name+"/statistics/", procfs.Hex)
		for key, col := range hosts.Keys() {
			if row[col].Bits == math.MaxUint64 {
				row[col].Bits = 0 // the driver's value for unknown
			}
			if strings.HasSuffix(key, "_words") {
				row[col].Bits *= 4 // are reported in bytes
			}
		}
	}
	r.blocks[blockTapeCount].Set(0, 0, uint64(tapes.Rows()))
	r.blocks[blockFCCount].Set(0, 0, uint64(hosts.Rows()))
	return nil
}

// readStats adds a device with the numbers in files of dir, which are not kept
// open: few clients ask for them. It returns the row.
func (r *classReader) readStats(out *column.Block, names *column.Names, name, dir string, scan func([]byte) (uint64, []byte, bool)) []column.Cell {
	row := out.Row(out.AddNamed(names.ID([]byte(name))))
	for key, col := range out.Keys() {
		if b, err := procfs.ReadOnce(r.host.path(dir + key)); err == nil {
			if v, _, ok := scan(b); ok {
				row[col] = column.Num(v)
			}
		}
	}
	return row
}

// classMetrics are the metrics of tape drives and Fibre Channel hosts.
var classMetrics = []column.Metric{
	{Name: "tape.dev.in_flight", Cluster: 71, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockTape, Key: "in_flight", Help: "Requests being served of each tape drive"},
	{Name: "tape.dev.io_ns", Cluster: 71, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: blockTape, Key: "io_ns", Help: "Time with requests outstanding of each tape drive"},
	{Name: "tape.dev.other_cnt", Cluster: 71, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockTape, Key: "other_cnt", Help: "Requests other than reads and writes of each tape drive"},
	{Name: "tape.dev.read_byte_cnt", Cluster: 71, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockTape, Key: "read_byte_cnt", Help: "Bytes read of each tape drive"},
	{Name: "tape.dev.read_cnt", Cluster: 71, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockTape, Key: "read_cnt", Help: "Reads of each tape drive"},
	{Name: "tape.dev.read_ns", Cluster: 71, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: blockTape, Key: "read_ns", Help: "Time that reads took of each tape drive"},
	{Name: "tape.dev.resid_cnt", Cluster: 71, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockTape, Key: "resid_cnt", Help: "Reads and writes that moved less than was asked for of each tape drive"},
	{Name: "tape.dev.write_byte_cnt", Cluster: 71, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockTape, Key: "write_byte_cnt", Help: "Bytes written of each tape drive"},
	{Name: "tape.dev.write_cnt", Cluster: 71, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockTape, Key: "write_cnt", Help: "Writes of each tape drive"},
	{Name: "tape.dev.write_ns", Cluster: 71, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: blockTape, Key: "write_ns", Help: "Time that writes took of each tape drive"},
	{Name: "fchost.lip_count", Cluster: 91, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFC, Key: "lip_count", Help: "Loop initializations by each Fibre Channel host adapter"},
	{Name: "fchost.nos_count", Cluster: 91, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFC, Key: "nos_count", Help: "Not operational sequences by each Fibre Channel host adapter"},
	{Name: "fchost.error_frames", Cluster: 91, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFC, Key: "error_frames", Help: "Frames with errors by each Fibre Channel host adapter"},
	{Name: "fchost.dumped_frames", Cluster: 91, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFC, Key: "dumped_frames", Help: "Frames lost for lack of buffers by each Fibre Channel host adapter"},
	{Name: "fchost.in.frames", Cluster: 91, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFC, Key: "rx_frames", Help: "Frames received by each Fibre Channel host adapter"},
	{Name: "fchost.in.bytes", Cluster: 91, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockFC, Key: "rx_words", Help: "Bytes received by each Fibre Channel host adapter"},
	{Name: "fchost.out.frames", Cluster: 91, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFC, Key: "tx_frames", Help: "Frames sent by each Fibre Channel host adapter"},
	{Name: "fchost.out.bytes", Cluster: 91, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockFC, Key: "tx_words", Help: "Bytes sent by each Fibre Channel host adapter"},
	{Name: "hinv.ntape", Cluster: 71, Item: 16, Type: pcp.TypeU32, Sem: discrete, From: blockTapeCount, Help: "Tape drives"},
	{Name: "hinv.nfchost", Cluster: 91, Item: 16, Type: pcp.TypeU32, Sem: discrete, From: blockFCCount, Help: "Fibre Channel host adapters"},
}
