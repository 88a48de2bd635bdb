package proc

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// pidsFamily is that of the controller pids, which the C agent lacks. Its files are the same in both versions.
func (g *groups) pidsFamily() column.Family {
	d := g.newDomain(pidsSerial, "pids", "pids.current", "Control groups, as the controller pids has them", "")
	return d.family("pids groups", pidsMetrics, numberFile("pids.current"), numberFile("pids.max"), numberFile("pids.peak"), groupFile{name: "pids.events"})
}

// Blocks of pidsMetrics.
const (
	pidsCurrent = 1 + iota
	pidsMax
	pidsPeak
	pidsEvents
)

// pidsMetrics are the metrics of the controller pids.
var pidsMetrics = []column.Metric{
	{Name: "cgroup.pids.current", Cluster: 1000, Item: 0, Type: pcp.TypeU64, Sem: instant, From: pidsCurrent, Help: "Processes and threads of the group and those below it"},
	{Name: "cgroup.pids.max", Cluster: 1000, Item: 1, Type: pcp.TypeU64, Sem: instant, From: pidsMax, Help: "Most processes and threads of the group; no value without a limit"},
	{Name: "cgroup.pids.peak", Cluster: 1000, Item: 2, Type: pcp.TypeU64, Sem: instant, From: pidsPeak, Help: "Most processes and threads that the group has had"},
	{Name: "cgroup.pids.events.max", Cluster: 1000, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, From: pidsEvents, Key: "max", Help: "Times that a process or thread was not created, because of the limit"},
	{Name: "cgroup.pids.id.container", Cluster: 1000, Item: 4, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}
