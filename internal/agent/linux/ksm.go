package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// ksmFamily reads files of a directory that hold one number each. The keys of its
// block are their names. As in C a file that is not there counts as 0.
func ksmFamily(h *host) column.Family {
	const dir = "sys/kernel/mm/ksm"
	b := column.NewBlocks(ksmMetrics, column.Layout{})
	files := make([]*procfs.File, b[0].Cols())
	for name, col := range b[0].Keys() {
		files[col] = h.wholeFile(dir + "/" + name)
	}
	return column.Family{Name: "ksm", Metrics: ksmMetrics, Sources: []*column.Source{{
		Name: "/" + dir, Blocks: b,
		Read: func() error {
			for col, f := range files {
				b[0].Set(0, col, number(f, 0))
			}
			return nil
		},
	}}}
}

// ksmMetrics are the metrics of /sys/kernel/mm/ksm.
var ksmMetrics = []column.Metric{
	{Name: "mem.ksm.full_scans", Cluster: 69, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "full_scans", Help: "Times that all mergeable memory was looked through"},
	{Name: "mem.ksm.merge_across_nodes", Cluster: 69, Item: 1, Type: pcp.TypeU64, Sem: instant, Key: "merge_across_nodes", Help: "1 if equal pages of different nodes are merged"},
	{Name: "mem.ksm.pages_shared", Cluster: 69, Item: 2, Type: pcp.TypeU64, Sem: instant, Key: "pages_shared", Help: "Merged pages"},
	{Name: "mem.ksm.pages_sharing", Cluster: 69, Item: 3, Type: pcp.TypeU64, Sem: instant, Key: "pages_sharing", Help: "Places that the merged pages replace, except the first"},
	{Name: "mem.ksm.pages_to_scan", Cluster: 69, Item: 4, Type: pcp.TypeU64, Sem: instant, Key: "pages_to_scan", Help: "Pages to look at before sleeping"},
	{Name: "mem.ksm.pages_unshared", Cluster: 69, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: count, Key: "pages_unshared", Help: "Pages looked at that had no equal"},
	{Name: "mem.ksm.pages_volatile", Cluster: 69, Item: 6, Type: pcp.TypeU64, Sem: instant, Key: "pages_volatile", Help: "Pages that change too fast to be merged"},
	{Name: "mem.ksm.run_state", Cluster: 69, Item: 7, Type: pcp.TypeU64, Sem: instant, Key: "run", Help: "Whether merging is stopped (0), runs (1), or is undone (2)"},
	{Name: "mem.ksm.sleep_time", Cluster: 69, Item: 8, Type: pcp.TypeU64, Sem: instant, Units: msec, Key: "sleep_millisecs", Help: "How long merging sleeps between scans"},
}
