package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of kernelMetrics.
const (
	blockSysKernel = iota
	blockUevent
)

// Columns of blockSysKernel.
const (
	kernEntropy = iota
	kernPoolSize
	kernPIDMax
	kernPtys
	numSysKernel
)

// kernelFamily reads settings and states that have a file each.
func kernelFamily(h *host) column.Family {
	b := column.NewBlocks(kernelMetrics, []column.Layout{blockSysKernel: {Cols: numSysKernel}, blockUevent: {Cols: 1}}...)
	file := func(name string) *procfs.File { return h.wholeFile("proc/sys/kernel/" + name) }
	pidMax, ptys := file("pid_max"), file("pty/nr")
	entropy, pool := file("random/entropy_avail"), file("random/poolsize")
	uevent := h.wholeFile("sys/kernel/uevent_seqnum")
	return column.Family{Name: "kernel", Metrics: kernelMetrics, Sources: []*column.Source{{
		Name: "/proc/sys/kernel", Blocks: b[:blockUevent],
		Read: func() error {
			out := b[blockSysKernel]
			out.Clear()
			out.Set(0, kernPIDMax, number(pidMax, 1<<22)) // PID_MAX_LIMIT
			out.Set(0, kernPtys, number(ptys, 0))
			setNumber(out, kernEntropy, entropy)
			setNumber(out, kernPoolSize, pool)
			return nil
		},
	}, {
		Name: "/sys/kernel/uevent_seqnum", Blocks: b[blockUevent:],
		Read: func() error {
			b[blockUevent].Clear()
			setNumber(b[blockUevent], 0, uevent)
			return nil
		},
	}}}
}

// setNumber sets a column of a single row to the number in a file, if the file
// exists.
func setNumber(out *column.Block, col int, f *procfs.File) {
	if b, err := f.Read(); err == nil {
		if v, _, ok := procfs.Uint(b); ok {
			out.Set(0, col, v)
		}
	}
}

// kernelMetrics are the metrics of the kernel as a whole.
var kernelMetrics = []column.Metric{
	{Name: "kernel.all.pid_max", Cluster: 72, Item: 2, Type: pcp.TypeU32, Sem: discrete, From: blockSysKernel, Col: kernPIDMax, Help: "Process identifiers stay below this number"},
	{Name: "kernel.all.nptys", Cluster: 72, Item: 3, Type: pcp.TypeU32, Sem: instant, From: blockSysKernel, Col: kernPtys, Help: "Pseudo terminals in use"},
	{Name: "kernel.all.entropy.avail", Cluster: 72, Item: 0, Type: pcp.TypeU32, Sem: instant, From: blockSysKernel, Col: kernEntropy, Help: "Bits of entropy in the random number pool"},
	{Name: "kernel.all.entropy.poolsize", Cluster: 72, Item: 1, Type: pcp.TypeU32, Sem: instant, From: blockSysKernel, Col: kernPoolSize, Help: "Bits that the random number pool can hold"},
	{Name: "sysfs.kernel.uevent_seqnum", Cluster: 35, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockUevent, Help: "Number of the last device event"},
}
