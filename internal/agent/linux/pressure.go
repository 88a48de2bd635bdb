package linux

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of pressureMetrics. A block of averages is followed by that of the total.
const (
	blockPressure = iota // lists the instances of the averages
	blockCPUSome
	blockCPUSomeTotal
	blockMemSome
	blockMemSomeTotal
	blockMemFull
	blockMemFullTotal
	blockIOSome
	blockIOSomeTotal
	blockIOFull
	blockIOFullTotal
	blockIRQFull
	blockIRQFullTotal
)

// pressureFamily reads the files of /proc/pressure.
func pressureFamily(h *host) column.Family {
	indom := &column.InDom{Serial: 37, Help: "Times over which pressure is averaged: 10 seconds, 1 and 5 minutes"}
	layouts := []column.Layout{{InDom: indom, Cols: 1, Lists: true}}
	for range (blockIRQFullTotal - blockPressure) / 2 {
		layouts = append(layouts, column.Layout{Cols: 1, InDom: indom}, column.Layout{Cols: 1})
	}
	b := column.NewBlocks(pressureMetrics, layouts...)
	// lines are the first words of the lines of a file, in the order of their blocks.
	file := func(name string, blocks []*column.Block, lines ...string) *column.Source {
		return &column.Source{
			Name: "/proc/pressure/" + name, File: h.wholeFile("proc/pressure/" + name), Blocks: blocks,
			Parse: func(text []byte) {
				for i, key := range lines {
					parsePressure(text, key, blocks[2*i], blocks[2*i+1])
				}
			},
		}
	}
	return column.Family{Name: "pressure", Metrics: pressureMetrics, Sources: []*column.Source{
		{Name: "names of averages", Read: func() error { listPressure(b[blockPressure]); return nil }, Blocks: b[:blockCPUSome]},
		file("cpu", b[blockCPUSome:blockMemSome], "some"),
		file("memory", b[blockMemSome:blockIOSome], "some", "full"),
		file("io", b[blockIOSome:blockIRQFull], "some", "full"),
		file("irq", b[blockIRQFull:], "full"),
	}}
}

// parsePressure finds the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
// that starts with key.
func parsePressure(b []byte, key string, avg, total *column.Block) {
	avg.Clear()
	total.Clear()
	for line := range procfs.Lines(b) {
		word, line := procfs.Field(line)
		if string(word) != key {
			continue
		}
		var avgs [3]float64
		var ok bool
		for i, name := range [...]string{"avg10=", "avg60=", "avg300="} {
			if word, line = procfs.Field(line); !bytes.HasPrefix(word, []byte(name)) {
				return
			}
			if avgs[i], _, ok = procfs.Float(word[len(name):]); !ok {
				return
			}
		}
		if word, _ = procfs.Field(line); !bytes.HasPrefix(word, []byte("total=")) {
			return
		}
		v, _, ok := procfs.Uint(word[len("total="):])
		if !ok {
			return
		}
		for i, inst := range [...]int32{10, 60, 300} {
			avg.Set(avg.Add(inst), 0, floatBits(avgs[i]))
		}
		total.Set(0, 0, v)
		return
	}
}

// listPressure fills the block that lists the instances of the averages. They
// exist even if the kernel does not report pressure.
func listPressure(b *column.Block) {
	if b.Rows() == 0 {
		b.AddNamed(10, "10 second")
		b.AddNamed(60, "1 minute")
		b.AddNamed(300, "5 minute")
	}
}

// pressureMetrics are the metrics of /proc/pressure.
var pressureMetrics = []column.Metric{
	{Name: "kernel.all.pressure.cpu.some.avg", Cluster: 83, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: blockCPUSome, Help: "Percentage of time that at least one task waited for a processor, on average"},
	{Name: "kernel.all.pressure.cpu.some.total", Cluster: 83, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockCPUSomeTotal, Help: "Time that at least one task waited for a processor"},
	{Name: "kernel.all.pressure.memory.some.avg", Cluster: 84, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: blockMemSome, Help: "Percentage of time that at least one task waited for memory, on average"},
	{Name: "kernel.all.pressure.memory.some.total", Cluster: 84, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockMemSomeTotal, Help: "Time that at least one task waited for memory"},
	{Name: "kernel.all.pressure.memory.full.avg", Cluster: 84, Item: 2, Type: pcp.TypeFloat, Sem: instant, From: blockMemFull, Help: "Percentage of time that all tasks at once waited for memory, on average"},
	{Name: "kernel.all.pressure.memory.full.total", Cluster: 84, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockMemFullTotal, Help: "Time that all tasks at once waited for memory"},
	{Name: "kernel.all.pressure.io.some.avg", Cluster: 85, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: blockIOSome, Help: "Percentage of time that at least one task waited for I/O, on average"},
	{Name: "kernel.all.pressure.io.some.total", Cluster: 85, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockIOSomeTotal, Help: "Time that at least one task waited for I/O"},
	{Name: "kernel.all.pressure.io.full.avg", Cluster: 85, Item: 2, Type: pcp.TypeFloat, Sem: instant, From: blockIOFull, Help: "Percentage of time that all tasks at once waited for I/O, on average"},
	{Name: "kernel.all.pressure.io.full.total", Cluster: 85, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockIOFullTotal, Help: "Time that all tasks at once waited for I/O"},
	{Name: "kernel.all.pressure.irq.full.avg", Cluster: 93, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: blockIRQFull, Help: "Percentage of time that all tasks at once waited for interrupts, on average"},
	{Name: "kernel.all.pressure.irq.full.total", Cluster: 93, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockIRQFullTotal, Help: "Time that all tasks at once waited for interrupts"},
}
