package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of settingsMetrics.
const (
	settingNone = iota
	settingHZ
	settingPageSize
	settingVersion
	numSettings
)

// settingsFamily reports the settings of the agent.
func settingsFamily(h *host) column.Family {
	b := column.NewBlocks(settingsMetrics, column.Layout{Cols: numSettings})
	return column.Family{Name: "settings", Metrics: settingsMetrics, Sources: []*column.Source{{
		Name: "settings", Blocks: b,
		Read: func() error {
			b[0].Set(0, settingHZ, h.hz)
			b[0].Set(0, settingPageSize, h.page)
			if h.cfg.Version != "" {
				b[0].SetText(0, settingVersion, h.cfg.Version)
			}
			return nil
		},
	}}}
}

// settingsMetrics are the metrics that need no file.
var settingsMetrics = []column.Metric{
	{Name: "kernel.all.hz", Cluster: 0, Item: 48, Type: pcp.TypeU32, Sem: discrete, Units: countPerSec, Col: settingHZ, Help: "Clock ticks per second in the times that the kernel reports to programs"},
	{Name: "pmda.version", Cluster: 12, Item: 6, Type: pcp.TypeString, Sem: discrete, Col: settingVersion, Help: "Version of the collector that this agent belongs to"},
	{Name: "swap.in", Cluster: 0, Item: 10, Type: pcp.TypeU32, Sem: counter, Units: count, Help: "Reads from swap; kernels since 2.6 do not count them", Err: pcp.ErrAppVersion},
	{Name: "swap.out", Cluster: 0, Item: 11, Type: pcp.TypeU32, Sem: counter, Units: count, Help: "Writes to swap; kernels since 2.6 do not count them", Err: pcp.ErrAppVersion},
	{Name: "hinv.pagesize", Cluster: 1, Item: 11, Type: pcp.TypeU32, Sem: discrete, Units: byteUnit, Col: settingPageSize, Help: "Size of a page of memory"},
}
