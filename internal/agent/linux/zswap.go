package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of zswapMetrics.
const (
	zswapPercent = iota
	zswapEnabled
	numZswap
)

// zswapFamily reads settings of compressed swap in memory.
func zswapFamily(h *host) column.Family {
	const dir = "sys/module/zswap/parameters"
	b := column.NewBlocks(zswapMetrics, column.Layout{Cols: numZswap})
	percent, enabled := h.wholeFile(dir+"/max_pool_percent"), h.wholeFile(dir+"/enabled")
	return column.Family{Name: "zswap", Metrics: zswapMetrics, Sources: []*column.Source{{
		Name: "/" + dir, Blocks: b,
		Read: func() error {
			b[0].Clear()
			setNumber(b[0], zswapPercent, percent)
			if text, err := enabled.Read(); err == nil {
				if text = procfs.Trim(text); len(text) > 0 {
					b[0].SetString(0, zswapEnabled, text[:1])
				}
			}
			return nil
		},
	}}}
}

// zswapMetrics are newer than PCP 6.0.3.
var zswapMetrics = []column.Metric{
	{Name: "sysfs.module.zswap.max_pool_percent", Cluster: 35, Item: 2, Type: pcp.TypeU32, Sem: instant, Col: zswapPercent, Help: "Percentage of memory that compressed swap in memory may take"},
	{Name: "sysfs.module.zswap.enabled", Cluster: 35, Item: 3, Type: pcp.TypeString, Sem: instant, Col: zswapEnabled, Help: "Y if swap is compressed in memory, else N"},
}
