package proc

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of group2Metrics.
const (
	group2CPU = 1 + iota
	group2CPUPressure
	group2MemoryPressure
	group2IOPressure
	group2IRQPressure
)

// version2Families are the families of files that only version 2 has.
func (g *groups) version2Families(v *devices) []column.Family {
	d := g.newDomain(group2Serial, "", "", "Control groups of version 2", "")
	pressure := func(file string) groupFile {
		return groupFile{name: file + ".pressure", cols: numPressure, parse: func(b *column.Block, row int, text []byte) {
			parsePressure(text, b.Row(row))
		}}
	}
	groups := d.family("groups of version 2", group2Metrics,
		groupFile{name: "cpu.stat"}, pressure("cpu"), pressure("memory"), pressure("io"), pressure("irq"))
	disks := newPairs(d, group2DiskSerial, "Control groups of version 2 and block devices", "device_name", "")
	disks.indom.Labels = `{"device_type":"block"}`
	var values [len(ioKeys)]uint64
	return []column.Family{groups, disks.family("io.stat", group2IOMetrics, len(ioKeys), v.source, func(of *group) {
		text, err := g.file(of, "io.stat")
		if err != nil {
			return
		}
		for line := range procfs.Lines(text) {
			number, ok := parseIOStat(line, &values)
			name := v.names[number]
			if !ok || name == nil {
				continue
			}
			row, _ := disks.row(of, name)
			for col, v := range values {
				if v != noValue {
					disks.block.Set(row, col, v)
				}
			}
		}
	})}
}

// Columns of pressure: those of some, then those of full.
const (
	pressure10s = iota
	pressure1min
	pressure5min
	pressureTotal
	numPressureKind

	numPressure = 2 * numPressureKind
)

// pressureKeys are the columns of a line of pressure.
var pressureKeys = [numPressureKind]string{"avg10=", "avg60=", "avg300=", "total="}

// parsePressure reads lines such as "some avg10=0.12 avg60=0.00 avg300=0.00 total=345". An
// incomplete line has no values.
func parsePressure(text []byte, cells []column.Cell) {
	for line := range procfs.Lines(text) {
		kind, rest := procfs.Field(line)
		first := 0
		switch string(kind) {
		case "some":
		case "full":
			first = numPressureKind
		default:
			continue
		}
		var read [numPressureKind]column.Cell
		for i := range read {
			var word []byte
			word, rest = procfs.Field(rest)
			value, ok := bytes.CutPrefix(word, []byte(pressureKeys[i]))
			if !ok {
				break
			}
			if i == pressureTotal {
				read[i].Bits, _, read[i].OK = procfs.Uint(value)
				continue
			}
			v, _, ok := procfs.Float(value)
			if !ok {
				break
			}
			read[i] = column.Cell{Bits: floatBits(v), OK: true}
		}
		if read[pressureTotal].OK {
			copy(cells[first:], read[:])
		}
	}
}

// ioKeys are the keys of a line of io.stat, in the order of the columns of
// group2IOMetrics.
var ioKeys = [...]string{"rbytes=", "wbytes=", "rios=", "wios=", "dbytes=", "dios="}

// parseIOStat reads a line such as "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6". There can
// be more.
func parseIOStat(line []byte, values *[len(ioKeys)]uint64) (number uint64, ok bool) {
	number, rest, ok := deviceNumber(line, ':')
	for i := 0; ok && i < len(ioKeys); i++ {
		var word []byte
		word, rest = procfs.Field(rest)
		if word, ok = bytes.CutPrefix(word, []byte(ioKeys[i])); ok {
			values[i], _, ok = procfs.Uint(word)
		}
	}
	return number, ok
}

// group2Metrics are the metrics of groups of version 2.
var group2Metrics = []column.Metric{
	{Name: "cgroup.cpu.stat.user", Cluster: 67, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: usec, From: group2CPU, Key: "user_usec", Help: "Processor time in user mode"},
	{Name: "cgroup.cpu.stat.system", Cluster: 67, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: usec, From: group2CPU, Key: "system_usec", Help: "Processor time in the kernel"},
	{Name: "cgroup.cpu.stat.usage", Cluster: 67, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: usec, From: group2CPU, Key: "usage_usec", Help: "Processor time"},
	{Name: "cgroup.pressure.cpu.some.avg10sec", Cluster: 64, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: group2CPUPressure, Help: "Percent of the time that a process waited for a processor; last 10 seconds"},
	{Name: "cgroup.pressure.cpu.some.avg1min", Cluster: 64, Item: 1, Type: pcp.TypeFloat, Sem: instant, From: group2CPUPressure, Col: 1, Help: "Percent of the time that a process waited for a processor; last minute"},
	{Name: "cgroup.pressure.cpu.some.avg5min", Cluster: 64, Item: 2, Type: pcp.TypeFloat, Sem: instant, From: group2CPUPressure, Col: 2, Help: "Percent of the time that a process waited for a processor; last 5 minutes"},
	{Name: "cgroup.pressure.cpu.some.total", Cluster: 64, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: usec, From: group2CPUPressure, Col: 3, Help: "Time that a process of the group waited for a processor"},
	{Name: "cgroup.pressure.memory.some.avg10sec", Cluster: 66, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: group2MemoryPressure, Help: "Percent of the time that a process waited for memory; last 10 seconds"},
	{Name: "cgroup.pressure.memory.some.avg1min", Cluster: 66, Item: 1, Type: pcp.TypeFloat, Sem: instant, From: group2MemoryPressure, Col: 1, Help: "Percent of the time that a process waited for memory; last minute"},
	{Name: "cgroup.pressure.memory.some.avg5min", Cluster: 66, Item: 2, Type: pcp.TypeFloat, Sem: instant, From: group2MemoryPressure, Col: 2, Help: "Percent of the time that a process waited for memory; last 5 minutes"},
	{Name: "cgroup.pressure.memory.some.total", Cluster: 66, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: usec, From: group2MemoryPressure, Col: 3, Help: "Time that a process of the group waited for memory"},
	{Name: "cgroup.pressure.memory.full.avg10sec", Cluster: 66, Item: 4, Type: pcp.TypeFloat, Sem: instant, From: group2MemoryPressure, Col: 4, Help: "Percent of the time that all processes waited for memory; last 10 seconds"},
	{Name: "cgroup.pressure.memory.full.avg1min", Cluster: 66, Item: 5, Type: pcp.TypeFloat, Sem: instant, From: group2MemoryPressure, Col: 5, Help: "Percent of the time that all processes waited for memory; last minute"},
	{Name: "cgroup.pressure.memory.full.avg5min", Cluster: 66, Item: 6, Type: pcp.TypeFloat, Sem: instant, From: group2MemoryPressure, Col: 6, Help: "Percent of the time that all processes waited for memory; last 5 minutes"},
	{Name: "cgroup.pressure.memory.full.total", Cluster: 66, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: usec, From: group2MemoryPressure, Col: 7, Help: "Time that all processes of the group waited for memory"},
	{Name: "cgroup.pressure.io.some.avg10sec", Cluster: 65, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: group2IOPressure, Help: "Percent of the time that a process waited for disks; last 10 seconds"},
	{Name: "cgroup.pressure.io.some.avg1min", Cluster: 65, Item: 1, Type: pcp.TypeFloat, Sem: instant, From: group2IOPressure, Col: 1, Help: "Percent of the time that a process waited for disks; last minute"},
	{Name: "cgroup.pressure.io.some.avg5min", Cluster: 65, Item: 2, Type: pcp.TypeFloat, Sem: instant, From: group2IOPressure, Col: 2, Help: "Percent of the time that a process waited for disks; last 5 minutes"},
	{Name: "cgroup.pressure.io.some.total", Cluster: 65, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: usec, From: group2IOPressure, Col: 3, Help: "Time that a process of the group waited for disks"},
	{Name: "cgroup.pressure.io.full.avg10sec", Cluster: 65, Item: 4, Type: pcp.TypeFloat, Sem: instant, From: group2IOPressure, Col: 4, Help: "Percent of the time that all processes waited for disks; last 10 seconds"},
	{Name: "cgroup.pressure.io.full.avg1min", Cluster: 65, Item: 5, Type: pcp.TypeFloat, Sem: instant, From: group2IOPressure, Col: 5, Help: "Percent of the time that all processes waited for disks; last minute"},
	{Name: "cgroup.pressure.io.full.avg5min", Cluster: 65, Item: 6, Type: pcp.TypeFloat, Sem: instant, From: group2IOPressure, Col: 6, Help: "Percent of the time that all processes waited for disks; last 5 minutes"},
	{Name: "cgroup.pressure.io.full.total", Cluster: 65, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: usec, From: group2IOPressure, Col: 7, Help: "Time that all processes of the group waited for disks"},
	{Name: "cgroup.pressure.irq.full.avg10sec", Cluster: 76, Item: 0, Type: pcp.TypeFloat, Sem: instant, From: group2IRQPressure, Col: 4, Help: "Percent of the time that all processes waited for interrupts; last 10 seconds"},
	{Name: "cgroup.pressure.irq.full.avg1min", Cluster: 76, Item: 1, Type: pcp.TypeFloat, Sem: instant, From: group2IRQPressure, Col: 5, Help: "Percent of the time that all processes waited for interrupts; last minute"},
	{Name: "cgroup.pressure.irq.full.avg5min", Cluster: 76, Item: 2, Type: pcp.TypeFloat, Sem: instant, From: group2IRQPressure, Col: 6, Help: "Percent of the time that all processes waited for interrupts; last 5 minutes"},
	{Name: "cgroup.pressure.irq.full.total", Cluster: 76, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: usec, From: group2IRQPressure, Col: 7, Help: "Time that all processes of the group waited for interrupts"},
}

// group2IOMetrics are those of their devices.
var group2IOMetrics = []column.Metric{
	{Name: "cgroup.io.stat.rbytes", Cluster: 68, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Help: "Bytes read"},
	{Name: "cgroup.io.stat.wbytes", Cluster: 68, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 1, Help: "Bytes written"},
	{Name: "cgroup.io.stat.rios", Cluster: 68, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 2, Help: "Requests that read"},
	{Name: "cgroup.io.stat.wios", Cluster: 68, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 3, Help: "Requests that wrote"},
	{Name: "cgroup.io.stat.dbytes", Cluster: 68, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 4, Help: "Bytes discarded"},
	{Name: "cgroup.io.stat.dios", Cluster: 68, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 5, Help: "Requests that discarded"},
}
