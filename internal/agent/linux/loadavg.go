package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of loadMetrics.
const (
	blockLoad = iota
	blockLoadInfo
	blockUptime
)

// Columns of blockLoadInfo.
const (
	loadLastPID = iota
	loadRunnable
	loadProcs
	numLoadInfo
)

func loadFamily(h *host) column.Family {
	indom := &column.InDom{Serial: 2, Help: "Times over which the load is averaged: 1, 5 and 15 minutes"}
	b := column.NewBlocks(loadMetrics, []column.Layout{
		blockLoad:     {Cols: 1, InDom: indom, Lists: true},
		blockLoadInfo: {Cols: numLoadInfo},
		blockUptime:   {Cols: 2},
	}...)
	return column.Family{Name: "load", Metrics: loadMetrics, Sources: []*column.Source{{
		Name: "/proc/loadavg", File: h.wholeFile("proc/loadavg"), Blocks: b[:blockUptime],
		Parse: func(text []byte) { parseLoadavg(text, b[blockLoad], b[blockLoadInfo]) },
	}, {
		Name: "/proc/uptime", File: h.wholeFile("proc/uptime"), Blocks: b[blockUptime:],
		Parse: func(text []byte) { parseUptime(text, b[blockUptime]) },
	}}}
}

// parseLoadavg reads "0.00 0.01 0.05 1/100 7766" of /proc/loadavg: averages
// over 1, 5 and 15 minutes, runnable/all tasks, the last assigned process id.
func parseLoadavg(b []byte, load, info *column.Block) {
	load.Clear()
	info.Clear()
	for _, m := range [...]struct {
		inst int32
		name string
	}{{1, "1 minute"}, {5, "5 minute"}, {15, "15 minute"}} {
		v, rest, ok := procfs.Float(b)
		row := load.AddNamed(m.inst, m.name)
		if !ok {
			continue
		}
		load.Set(row, 0, floatBits(v))
		b = rest
	}
	if v, rest, ok := procfs.Uint(b); ok {
		info.Set(0, loadRunnable, v)
		if b = rest; len(b) > 0 && b[0] == '/' {
			if v, b, ok = procfs.Uint(b[1:]); ok {
				info.Set(0, loadProcs, v)
				if v, _, ok = procfs.Uint(b); ok {
					info.Set(0, loadLastPID, v)
				}
			}
		}
	}
}

// parseUptime reads "350735.47 234388.90" of /proc/uptime: seconds since the system
// was booted, and seconds that processors were idle.
func parseUptime(b []byte, out *column.Block) {
	out.Clear()
	for col := range 2 {
		v, rest, ok := procfs.Float(b)
		if !ok {
			break
		}
		out.Set(0, col, doubleBits(v))
		b = rest
	}
}

// loadMetrics are the metrics of /proc/loadavg and /proc/uptime.
var loadMetrics = []column.Metric{
	{Name: "kernel.all.load", Cluster: 2, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: blockLoad, Help: "Average number of tasks that ran or wanted to, over 1, 5 and 15 minutes"},
	{Name: "kernel.all.uptime", Cluster: 26, Item: 0, Type: pcp.TypeDouble, Sem: instant, Units: second, From: blockUptime, Help: "Time since the system was booted"},
	{Name: "kernel.all.idletime", Cluster: 26, Item: 1, Type: pcp.TypeDouble, Sem: instant, Units: second, From: blockUptime, Col: 1, Help: "Idle time since boot, summed over processors"},
	{Name: "kernel.all.lastpid", Cluster: 2, Item: 1, Type: pcp.TypeU32, Sem: instant, From: blockLoadInfo, Col: loadLastPID, Help: "Process identifier given out last"},
	{Name: "kernel.all.runnable", Cluster: 2, Item: 2, Type: pcp.TypeU32, Sem: instant, From: blockLoadInfo, Col: loadRunnable, Help: "Tasks that can run now, from loadavg"},
	{Name: "kernel.all.nprocs", Cluster: 2, Item: 3, Type: pcp.TypeU32, Sem: instant, From: blockLoadInfo, Col: loadProcs, Help: "Tasks that exist"},
}
