package linux

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of balloonMetrics.
const (
	blockVMware = iota
	blockHyperV
)

// balloonFamily reads the amount of memory that the hypervisor has taken from the
// guest. The files are in debugfs, and only in guests of that hypervisor.
func balloonFamily(h *host) column.Family {
	const dir = "sys/kernel/debug/"
	b := column.NewBlocks(balloonMetrics, []column.Layout{blockVMware: {}, blockHyperV: {}}...)
	return column.Family{Name: "balloon", Metrics: balloonMetrics, Sources: []*column.Source{{
		Name: "/" + dir + "vmmemctl", File: h.wholeFile(dir + "vmmemctl"), Blocks: b[blockVMware:blockHyperV],
		Parse: func(text []byte) {
			parseBalloon(text, b[blockVMware])
			inBytes(b[blockVMware], h.page, "current", "target")
		},
	}, {
		Name: "/" + dir + "hv-balloon", File: h.wholeFile(dir + "hv-balloon"), Blocks: b[blockHyperV:],
		Parse: func(text []byte) {
			out := b[blockHyperV]
			parseBalloon(text, out)
			size, ok := out.Get(0, out.Column("page_size"))
			if !ok || size == 0 {
				size = h.page
			}
			inBytes(out, size, "pages_added", "pages_onlined", "pages_ballooned", "total_pages_committed")
		},
	}}}
}

// inBytes converts columns from pages to bytes.
func inBytes(out *column.Block, page uint64, keys ...string) {
	row := out.Row(0)
	for _, key := range keys {
		row[out.Column(key)].Bits *= page
	}
}

// parseBalloon reads lines of a name, a colon and a number. In a file of VMware's the
// number that is followed by "(0 failed)" counts calls of the same name.
func parseBalloon(b []byte, out *column.Block) {
	out.Clear()
	row := out.Row(0)
	for line := range procfs.Lines(b) {
		key, val, ok := procfs.Cut(line, ':')
		if !ok {
			continue
		}
		v, _, ok := procfs.Uint(val)
		if !ok || bytes.HasSuffix(val, []byte(" failed)")) {
			continue
		}
		if col, ok := out.Keys()[string(key)]; ok {
			row[col] = column.Num(v)
		}
	}
}

// balloonMetrics are newer than PCP 6.0.3.
var balloonMetrics = []column.Metric{
	{Name: "mem.vmmemctl.current", Cluster: 35, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: blockVMware, Key: "current", Help: "Memory that the balloon of VMware has taken"},
	{Name: "mem.vmmemctl.target", Cluster: 35, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: blockVMware, Key: "target", Help: "Memory that the balloon of VMware is to take"},
	{Name: "hyperv.balloon.state", Cluster: 35, Item: 6, Type: pcp.TypeU32, Sem: instant, From: blockHyperV, Key: "state", Help: "State of the balloon of Hyper-V, a number of the driver"},
	{Name: "hyperv.balloon.pagesize", Cluster: 35, Item: 7, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockHyperV, Key: "page_size", Help: "Size of the pages that the balloon of Hyper-V counts"},
	{Name: "hyperv.balloon.added", Cluster: 35, Item: 9, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: blockHyperV, Key: "pages_added", Help: "Memory that Hyper-V has added while the guest runs"},
	{Name: "hyperv.balloon.onlined", Cluster: 35, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: blockHyperV, Key: "pages_onlined", Help: "Memory added by Hyper-V that is in use"},
	{Name: "hyperv.balloon.ballooned", Cluster: 35, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: blockHyperV, Key: "pages_ballooned", Help: "Memory that the balloon of Hyper-V has taken"},
	{Name: "hyperv.balloon.total_committed", Cluster: 35, Item: 11, Type: pcp.TypeU64, Sem: instant, Units: byteUnit, From: blockHyperV, Key: "total_pages_committed", Help: "Memory that the guest reports to Hyper-V as committed"},
}
