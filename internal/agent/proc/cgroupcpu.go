package proc

import (
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

const deviceCPU = `{"device_type":"cpu"}`

// cpuFamilies are those of the controllers of processors: cpuset, cpuacct and cpu.
func (g *groups) cpuFamilies() []column.Family {
	cpuset := g.newDomain(cpusetSerial, "cpuset", "", "Control groups, as the controller cpuset has them", deviceCPU)
	cpuacct := g.newDomain(cpuacctSerial, "cpuacct", "", "Control groups, as the controller cpuacct has them", deviceCPU)
	cpusched := g.newDomain(cpuschedSerial, "cpu", "cpu.shares", "Control groups, as the controller cpu of version 1 has them", deviceCPU)
	// A group without the file has used no time, as in C: version 2 has other files.
	stat := groupFile{name: "cpuacct.stat", always: true, zero: true}
	quota := groupFile{name: "cpu.cfs_quota_us", cols: 1, parse: func(b *column.Block, row int, text []byte) {
		if v, _, ok := procfs.Int(text); ok && v != -1 { // -1 is for unlimited
			b.Set(row, 0, uint64(v))
		}
	}}
	families := []column.Family{
		cpuset.family("cpuset groups", cpusetMetrics, lineFile("cpuset.cpus"), lineFile("cpuset.mems")),
		cpuacct.family("cpuacct groups", cpuacctMetrics, stat, numberFile("cpuacct.usage")),
		cpusched.family("cpu groups", cpuschedMetrics, groupFile{name: "cpu.stat"}, numberFile("cpu.shares"), numberFile("cpu.cfs_period_us"), quota),
	}
	percpu := newPairs(cpuacct, cpuacctCPUSerial, "Control groups and processors", "cpu", "cpu")
	cpu := []byte("cpu")
	return append(families, percpu.family("cpuacct.usage_percpu", percpuMetrics, 1, nil, func(of *group) {
		text, err := g.file(of, "cpuacct.usage_percpu")
		if err != nil {
			return
		}
		for i := int64(0); ; i++ {
			v, rest, ok := procfs.Uint(text)
			if !ok {
				return
			}
			text = rest
			cpu = strconv.AppendInt(cpu[:len("cpu")], i, 10)
			if row, _ := percpu.row(of, cpu); v != noValue {
				percpu.block.Set(row, 0, v)
			}
		}
	}))
}

// cpusetMetrics are the metrics of the controller cpuset.
var cpusetMetrics = []column.Metric{
	{Name: "cgroup.cpuset.cpus", Cluster: 39, Item: 0, Type: pcp.TypeString, Sem: instant, From: 1, Help: "Processors that the group may use, as a list"},
	{Name: "cgroup.cpuset.mems", Cluster: 39, Item: 1, Type: pcp.TypeString, Sem: instant, From: 2, Help: "Memory nodes that the group may use, as a list"},
	{Name: "cgroup.cpuset.id.container", Cluster: 39, Item: 2, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}

// cpuacctMetrics are those of the controller cpuacct.
var cpuacctMetrics = []column.Metric{
	{Name: "cgroup.cpuacct.stat.user", Cluster: 41, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: msec, From: 1, Key: "user", Help: "Processor time in user mode; the number is the kernel's, which counts ticks"},
	{Name: "cgroup.cpuacct.stat.system", Cluster: 41, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: msec, From: 1, Key: "system", Help: "Processor time in the kernel; the number is the kernel's, which counts ticks"},
	{Name: "cgroup.cpuacct.usage", Cluster: 41, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 2, Help: "Processor time"},
	{Name: "cgroup.cpuacct.id.container", Cluster: 41, Item: 4, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}

// percpuMetrics is that of each processor.
var percpuMetrics = []column.Metric{
	{Name: "cgroup.cpuacct.usage_percpu", Cluster: 41, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: nsec, Help: "Processor time on each processor"},
}

// cpuschedMetrics are those of the controller cpu of version 1.
var cpuschedMetrics = []column.Metric{
	{Name: "cgroup.cpusched.shares", Cluster: 43, Item: 0, Type: pcp.TypeU64, Sem: instant, From: 2, Help: "Weight of the group when processors are short"},
	{Name: "cgroup.cpusched.periods", Cluster: 43, Item: 1, Type: pcp.TypeU64, Sem: instant, From: 1, Key: "nr_periods", Help: "Periods that are over in which the group could run"},
	{Name: "cgroup.cpusched.throttled", Cluster: 43, Item: 2, Type: pcp.TypeU64, Sem: instant, From: 1, Key: "nr_throttled", Help: "Periods in which the group used up its quota"},
	{Name: "cgroup.cpusched.throttled_time", Cluster: 43, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 1, Key: "throttled_time", Help: "Time that the group was kept from running"},
	{Name: "cgroup.cpusched.cfs_period", Cluster: 43, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: usec, From: 3, Help: "Length of a period"},
	{Name: "cgroup.cpusched.cfs_quota", Cluster: 43, Item: 5, Type: pcp.Type64, Sem: instant, Units: usec, From: 4, Help: "Processor time that the group may use in a period"},
	{Name: "cgroup.cpusched.id.container", Cluster: 43, Item: 6, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}
