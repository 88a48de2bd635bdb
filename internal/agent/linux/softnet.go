package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of softnetMetrics.
const (
	blockSoftnet = iota
	blockSoftnetCPU
)

// Columns of blockSoftnet and blockSoftnetCPU.
const (
	softProcessed = iota
	softDropped
	softSqueezed
	softCollision
	softRPS
	softFlowLimit
	softBacklog
	softInput
	softProcess
	numSoftnet
)

// softnetFamily reads /proc/net/softnet_stat. A value that the file lacks is an
// error, as in C.
func softnetFamily(h *host, cpus *cpuReader) column.Family {
	b := column.NewBlocks(softnetMetrics, []column.Layout{
		blockSoftnet:    {Cols: numSoftnet},
		blockSoftnetCPU: {Cols: numSoftnet, InDom: cpus.cpuInDom},
	}...)
	return column.Family{Name: "softnet", Metrics: softnetMetrics, Sources: []*column.Source{{
		Name: "/proc/net/softnet_stat", File: h.file("proc/net/softnet_stat"), Blocks: b, After: []*column.Source{cpus.source},
		Parse: func(text []byte) {
			parseSoftnet(text, cpus.online().Insts(), b[blockSoftnet], b[blockSoftnetCPU])
			for col, c := range b[blockSoftnet].Row(0) {
				if !c.OK {
					b[blockSoftnet].SetError(col, pcp.ErrAppVersion)
					b[blockSoftnetCPU].SetError(col, pcp.ErrAppVersion)
				}
			}
		},
	}}}
}

// parseSoftnet reads /proc/net/softnet_stat: a line of hexadecimal numbers for
// each of the processors online, without their numbers in older kernels.
func parseSoftnet(b []byte, online []int32, all, perCPU *column.Block) {
	all.Clear()
	perCPU.Clear()
	columns := [...]int{
		0: softProcessed, 1: softDropped, 2: softSqueezed, 3: -1, 4: -1, 5: -1, 6: -1, 7: -1,
		8: softCollision, 9: softRPS, 10: softFlowLimit, 11: softBacklog,
		12: -1, 13: softInput, 14: softProcess,
	}
	for n := 0; n < len(online); n++ {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		row := perCPU.Row(perCPU.Add(online[n]))
		for _, col := range columns {
			v, rest, ok := procfs.Hex(line)
			if !ok {
				break
			}
			line = rest
			if col >= 0 {
				row[col] = column.Num(v)
			}
		}
		addCells(all.Row(0), row)
	}
}

// softnetMetrics are the metrics of /proc/net/softnet_stat.
var softnetMetrics = []column.Metric{
	{Name: "network.softnet.processed", Cluster: 57, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnet, Col: softProcessed, Help: "Packets taken from devices"},
	{Name: "network.softnet.dropped", Cluster: 57, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnet, Col: softDropped, Help: "Packets dropped since the queue was full"},
	{Name: "network.softnet.time_squeeze", Cluster: 57, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnet, Col: softSqueezed, Help: "Times that packets were left over for lack of time"},
	{Name: "network.softnet.cpu_collision", Cluster: 57, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnet, Col: softCollision, Help: "Times that a transmit lock was found taken"},
	{Name: "network.softnet.received_rps", Cluster: 57, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnet, Col: softRPS, Help: "Wake-ups by another processor to process packets"},
	{Name: "network.softnet.flow_limit_count", Cluster: 57, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnet, Col: softFlowLimit, Help: "Packets dropped to limit a flow"},
	{Name: "network.softnet.percpu.processed", Cluster: 57, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnetCPU, Col: softProcessed, Help: "Packets taken from devices, by each processor"},
	{Name: "network.softnet.percpu.dropped", Cluster: 57, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnetCPU, Col: softDropped, Help: "Packets dropped since the queue was full, by each processor"},
	{Name: "network.softnet.percpu.time_squeeze", Cluster: 57, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnetCPU, Col: softSqueezed, Help: "Times that packets were left over for lack of time, by each processor"},
	{Name: "network.softnet.percpu.cpu_collision", Cluster: 57, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnetCPU, Col: softCollision, Help: "Times that a transmit lock was found taken, by each processor"},
	{Name: "network.softnet.percpu.received_rps", Cluster: 57, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnetCPU, Col: softRPS, Help: "Wake-ups by another processor to process packets, by each processor"},
	{Name: "network.softnet.percpu.flow_limit_count", Cluster: 57, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftnetCPU, Col: softFlowLimit, Help: "Packets dropped to limit a flow, by each processor"},
	// Newer than PCP 6.0.3.
	{Name: "network.softnet.total_backlog", Cluster: 57, Item: 12, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockSoftnet, Col: softBacklog, Help: "Packets waiting in both queues"},
	{Name: "network.softnet.input_qlen", Cluster: 57, Item: 14, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockSoftnet, Col: softInput, Help: "Packets waiting in the queue that devices fill"},
	{Name: "network.softnet.process_qlen", Cluster: 57, Item: 16, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockSoftnet, Col: softProcess, Help: "Packets waiting in the queue being processed"},
	{Name: "network.softnet.percpu.total_backlog", Cluster: 57, Item: 13, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockSoftnetCPU, Col: softBacklog, Help: "Packets waiting in both queues, of each processor"},
	{Name: "network.softnet.percpu.input_qlen", Cluster: 57, Item: 15, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockSoftnetCPU, Col: softInput, Help: "Packets waiting in the queue that devices fill, of each processor"},
	{Name: "network.softnet.percpu.process_qlen", Cluster: 57, Item: 17, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockSoftnetCPU, Col: softProcess, Help: "Packets waiting in the queue being processed, of each processor"},
}
