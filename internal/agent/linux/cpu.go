package linux

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of cpuMetrics.
const (
	blockStat = iota
	blockCPU
	blockNodeCPU
)

// Columns of the processor times in milliseconds, of all three blocks.
const (
	cpuUser = iota
	cpuNice
	cpuSys
	cpuIdle
	cpuWait
	cpuIntr
	cpuSoft
	cpuHard
	cpuSteal
	cpuGuest
	cpuGuestNice
	cpuVuser
	cpuVnice
	numCPUTimes
)

// Columns of blockStat after the processor times.
const (
	statIntr = numCPUTimes + iota
	statCtxt
	statForks
	statRunning
	statBlocked
	statBoottime
	statNCPU
	statNNode
	numStat
)

// waitSlop is the smallest decrease of a wait time that is reported. The kernel's may
// decrease a little (proc(5)); a counter must not.
const waitSlop = 100

// maxCPU bounds processor and node numbers found in files.
const maxCPU = 1 << 16

// cpuTicks are the times of one cpu line of /proc/stat, in its order.
type cpuTicks struct {
	user, nice, sys, idle, wait, hard, soft, steal, guest, guestNice uint64
}

// parseCPUTicks reads the numbers after "cpu" or "cpuN". Older kernels have
// fewer; the missing ones are 0. Without any, ok is false.
func parseCPUTicks(b []byte) (t cpuTicks, ok bool) {
	for i, p := range [...]*uint64{&t.user, &t.nice, &t.sys, &t.idle, &t.wait, &t.hard, &t.soft, &t.steal, &t.guest, &t.guestNice} {
		v, rest, have := procfs.Uint(b)
		if !have {
			return t, i > 0
		}
		*p, b = v, rest
	}
	return t, true
}

func (t *cpuTicks) add(u *cpuTicks) {
	t.user += u.user
	t.nice += u.nice
	t.sys += u.sys
	t.idle += u.idle
	t.wait += u.wait
	t.hard += u.hard
	t.soft += u.soft
	t.steal += u.steal
	t.guest += u.guest
	t.guestNice += u.guestNice
}

// steadyWait keeps the wait time from going back a little.
func (t *cpuTicks) steadyWait(prev *uint64) {
	if t.wait < *prev && *prev-t.wait < waitSlop {
		t.wait = *prev
	}
	*prev = t.wait
}

// putTimes stores t in milliseconds. mult is 1000/HZ, or 0 if that is not a whole number.
func putTimes(row []column.Cell, t *cpuTicks, hz, mult uint64) {
	ms := func(col int, ticks uint64) {
		switch {
		case mult != 0:
			ticks *= mult
		case ticks < 1<<53:
			ticks = ticks * 1000 / hz
		default:
			ticks = uint64(1000 * float64(ticks) / float64(hz))
		}
		row[col] = column.Num(ticks)
	}
	ms(cpuUser, t.user)
	ms(cpuNice, t.nice)
	ms(cpuSys, t.sys)
	ms(cpuIdle, t.idle)
	ms(cpuWait, t.wait)
	ms(cpuIntr, t.hard+t.soft)
	ms(cpuSoft, t.soft)
	ms(cpuHard, t.hard)
	ms(cpuSteal, t.steal)
	ms(cpuGuest, t.guest)
	ms(cpuGuestNice, t.guestNice)
	ms(cpuVuser, atLeast0(t.user, t.guest))
	ms(cpuVnice, atLeast0(t.nice, t.guestNice))
}

// A cpuReader reads /proc/stat. It determines the processors that are online, and
// adds up their times by node.
type cpuReader struct {
	blocks    []*column.Block
	source    *column.Source
	cpuInDom  *column.InDom
	nodeInDom *column.InDom
	hz        uint64
	nodesDir  string   // directory of the nodes, "" to put all processors into one
	all       uint64   // the last wait time of all processors together
	prevWait  []uint64 // and of each, by number
	names     []string // "cpu0", ...
	pass      uint64
	seen      []uint64 // by number: the last pass that found it

	topology
	sums []cpuTicks // by node
}

// A topology maps processors to NUMA nodes.
type topology struct {
	nodes    []node
	nodeOf   []int32 // by processor number: index in nodes, -1 if in none
	oneNode  bool    // the kernel has no NUMA support: everything is in node0
	surveyed bool
}

type node struct {
	id   int // the number in its name; its instance is its place in nodes
	name string
}

// survey reads the directories of the nodes.
func (t *topology) survey(dir string) {
	t.surveyed, t.oneNode = true, false
	t.nodes, t.nodeOf = t.nodes[:0], t.nodeOf[:0]
	for _, id := range numbered(dir, "node") {
		name := "node" + strconv.Itoa(id)
		for _, cpu := range numbered(dir+"/"+name, "cpu") {
			for len(t.nodeOf) <= cpu {
				t.nodeOf = append(t.nodeOf, -1)
			}
			t.nodeOf[cpu] = int32(len(t.nodes))
		}
		t.nodes = append(t.nodes, node{id, name})
	}
	if len(t.nodes) == 0 {
		t.oneNode = true
		t.nodes = append(t.nodes, node{0, "node0"})
	}
}

// node returns the index of the node of a processor, -1 if it is in none.
func (t *topology) node(cpu int) int {
	switch {
	case t.oneNode:
		return 0
	case cpu < len(t.nodeOf):
		return int(t.nodeOf[cpu])
	}
	return -1
}

const nodeDir = "sys/devices/system/node"

func newCPUReader(h *host) *cpuReader {
	r := &cpuReader{
		hz: h.hz,
		cpuInDom: &column.InDom{
			Serial: 0, Help: "Processors that are online", Labels: `{"device_type":"cpu","indom_name":"per cpu"}`,
			InstanceLabels: func(inst int32, _ string) map[string]any { return map[string]any{"cpu": inst} },
		},
		nodeInDom: &column.InDom{
			Serial: 19, Help: "NUMA nodes", Labels: `{"device_type":"numa_node","indom_name":"per numa_node"}`,
			InstanceLabels: func(inst int32, _ string) map[string]any { return map[string]any{"numa_node": inst} },
		},
	}
	if !h.cfg.OneNode {
		r.nodesDir = h.path(nodeDir)
	}
	r.blocks = column.NewBlocks(cpuMetrics, []column.Layout{
		blockStat:    {Cols: numStat},
		blockCPU:     {Cols: numCPUTimes, InDom: r.cpuInDom, Lists: true},
		blockNodeCPU: {Cols: numCPUTimes, InDom: r.nodeInDom, Lists: true},
	}...)
	r.source = &column.Source{Name: "/proc/stat", File: h.wholeFile("proc/stat"), Parse: r.parse, Blocks: r.blocks}
	return r
}

func (r *cpuReader) family() column.Family {
	return column.Family{Name: "cpu", Metrics: cpuMetrics, Sources: []*column.Source{r.source}}
}

// online returns the block of processors that are online.
func (r *cpuReader) online() *column.Block { return r.blocks[blockCPU] }

// survey returns the topology, which it reads unless it is known.
func (r *cpuReader) survey() *topology {
	if !r.surveyed {
		r.topology.survey(r.nodesDir)
	}
	return &r.topology
}

// parse fills the blocks from /proc/stat.
func (r *cpuReader) parse(b []byte) {
	r.survey()
	stat, cpus := r.blocks[blockStat], r.blocks[blockCPU]
	stat.Clear()
	cpus.Clear()
	mult := uint64(0)
	if 1000%r.hz == 0 {
		mult = 1000 / r.hz
	}
	for len(r.sums) < len(r.nodes) {
		r.sums = append(r.sums, cpuTicks{})
	}
	clear(r.sums)
	r.pass++
	var all cpuTicks
	haveAll, resurvey, ok := false, false, false
	for line := range procfs.Lines(b) {
		if len(line) < 4 {
			continue
		}
		if line[0] == 'c' && line[1] == 'p' && line[2] == 'u' {
			if line[3] == ' ' {
				if all, ok = parseCPUTicks(line[3:]); ok {
					haveAll = true
					all.steadyWait(&r.all)
					putTimes(stat.Row(0), &all, r.hz, mult)
				}
				continue
			}
			n, rest, ok := procfs.Uint(line[3:])
			if !ok || n >= maxCPU {
				continue
			}
			t, ok := parseCPUTicks(rest)
			if !ok {
				continue
			}
			cpu := int(n)
			r.grow(cpu)
			if r.seen[cpu] == r.pass {
				continue
			}
			r.seen[cpu] = r.pass
			node := r.node(cpu)
			if node < 0 {
				// As in C only processors that are in a node are reported.
				resurvey = true
				continue
			}
			t.steadyWait(&r.prevWait[cpu])
			putTimes(cpus.Row(cpus.AddNamed(int32(cpu), r.names[cpu])), &t, r.hz, mult)
			r.sums[node].add(&t)
			continue
		}
		key, rest := procfs.Field(line)
		col := -1
		switch string(key) {
		case "intr":
			col = statIntr
		case "ctxt":
			col = statCtxt
		case "btime":
			col = statBoottime
		case "processes":
			col = statForks
		case "procs_running":
			col = statRunning
		case "procs_blocked":
			col = statBlocked
		}
		if col >= 0 {
			if v, _, ok := procfs.Uint(rest); ok {
				stat.Set(0, col, v)
			}
		}
	}
	if cpus.Rows() == 0 && haveAll {
		// A kernel without SMP has only one line.
		r.grow(0)
		putTimes(cpus.Row(cpus.AddNamed(0, r.names[0])), &all, r.hz, mult)
		r.sums[0] = all
	}
	nodes := r.blocks[blockNodeCPU]
	nodes.Clear()
	for i := range r.nodes {
		putTimes(nodes.Row(nodes.AddNamed(int32(i), r.nodes[i].name)), &r.sums[i], r.hz, mult)
	}
	stat.Set(0, statNCPU, uint64(cpus.Rows()))
	stat.Set(0, statNNode, uint64(len(r.nodes)))
	if resurvey {
		r.surveyed = false // a processor was plugged in: look again next time
	}
}

// grow makes room for the processor numbered cpu.
func (r *cpuReader) grow(cpu int) {
	for len(r.names) <= cpu {
		r.names = append(r.names, "cpu"+strconv.Itoa(len(r.names)))
		r.prevWait = append(r.prevWait, 0)
		r.seen = append(r.seen, 0)
	}
}

// numbered returns N of the names prefixN in a directory, ascending.
func numbered(dir, prefix string) []int {
	var ns []int
	for _, name := range procfs.Names(dir) {
		digits, ok := bytes.CutPrefix([]byte(name), []byte(prefix))
		if !ok {
			continue
		}
		if n, rest, ok := procfs.Uint(digits); ok && len(rest) == 0 && n < maxCPU {
			ns = append(ns, int(n))
		}
	}
	slices.Sort(ns)
	return ns
}

// Labels of times.
const (
	cpuLabels     = `{"device_type":"cpu"}`
	nodeCPULabels = `{"device_type":["numa_node","cpu"]}`
)

// cpuMetrics are the metrics of /proc/stat.
var cpuMetrics = []column.Metric{
	{Name: "kernel.all.intr", Cluster: 0, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockStat, Col: statIntr, Help: "Interrupts served"},
	{Name: "kernel.all.pswitch", Cluster: 0, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockStat, Col: statCtxt, Help: "Switches from one task to another"},
	{Name: "kernel.all.sysfork", Cluster: 0, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockStat, Col: statForks, Help: "Processes and threads created"},
	{Name: "kernel.all.running", Cluster: 0, Item: 15, Type: pcp.TypeU64, Sem: instant, From: blockStat, Col: statRunning, Help: "Tasks that can run"},
	{Name: "kernel.all.blocked", Cluster: 0, Item: 16, Type: pcp.TypeU64, Sem: instant, From: blockStat, Col: statBlocked, Help: "Tasks that wait for I/O to end"},
	{Name: "kernel.all.boottime", Cluster: 0, Item: 17, Type: pcp.Type64, Sem: discrete, Units: second, From: blockStat, Col: statBoottime, Help: "When the system was booted, in seconds since 1970"},
	{Name: "kernel.all.cpu.user", Cluster: 0, Item: 20, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuUser, Help: "Time in user mode, at normal priority, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.nice", Cluster: 0, Item: 21, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuNice, Help: "Time in user mode, at lowered priority, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.sys", Cluster: 0, Item: 22, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuSys, Help: "Time in kernel mode, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.idle", Cluster: 0, Item: 23, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuIdle, Help: "Time with nothing to do, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.intr", Cluster: 0, Item: 34, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuIntr, Help: "Time spent on interrupts, hard and soft, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.steal", Cluster: 0, Item: 55, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuSteal, Help: "Time that the hypervisor gave to others, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.guest", Cluster: 0, Item: 60, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuGuest, Help: "Time spent running virtual machines, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.vuser", Cluster: 0, Item: 78, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuVuser, Help: "Time in user mode without that of virtual machines, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.guest_nice", Cluster: 0, Item: 81, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuGuestNice, Help: "Time spent running virtual machines at lowered priority, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.vnice", Cluster: 0, Item: 82, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuVnice, Help: "Time at lowered priority without that of virtual machines, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.wait.total", Cluster: 0, Item: 35, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuWait, Help: "Time idle while I/O was outstanding, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.irq.soft", Cluster: 0, Item: 53, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuSoft, Help: "Time spent on soft interrupts, of all processors", Labels: cpuLabels},
	{Name: "kernel.all.cpu.irq.hard", Cluster: 0, Item: 54, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockStat, Col: cpuHard, Help: "Time spent on hard interrupts, of all processors", Labels: cpuLabels},
	{Name: "kernel.percpu.cpu.user", Cluster: 0, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuUser, Help: "Time in user mode, at normal priority, of each processor"},
	{Name: "kernel.percpu.cpu.nice", Cluster: 0, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuNice, Help: "Time in user mode, at lowered priority, of each processor"},
	{Name: "kernel.percpu.cpu.sys", Cluster: 0, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuSys, Help: "Time in kernel mode, of each processor"},
	{Name: "kernel.percpu.cpu.idle", Cluster: 0, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuIdle, Help: "Time with nothing to do, of each processor"},
	{Name: "kernel.percpu.cpu.intr", Cluster: 0, Item: 31, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuIntr, Help: "Time spent on interrupts, hard and soft, of each processor"},
	{Name: "kernel.percpu.cpu.steal", Cluster: 0, Item: 58, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuSteal, Help: "Time that the hypervisor gave to others, of each processor"},
	{Name: "kernel.percpu.cpu.guest", Cluster: 0, Item: 61, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuGuest, Help: "Time spent running virtual machines, of each processor"},
	{Name: "kernel.percpu.cpu.vuser", Cluster: 0, Item: 76, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuVuser, Help: "Time in user mode without that of virtual machines, of each processor"},
	{Name: "kernel.percpu.cpu.guest_nice", Cluster: 0, Item: 83, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuGuestNice, Help: "Time spent running virtual machines at lowered priority, of each processor"},
	{Name: "kernel.percpu.cpu.vnice", Cluster: 0, Item: 84, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuVnice, Help: "Time at lowered priority without that of virtual machines, of each processor"},
	{Name: "kernel.percpu.cpu.wait.total", Cluster: 0, Item: 30, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuWait, Help: "Time idle while I/O was outstanding, of each processor"},
	{Name: "kernel.percpu.cpu.irq.soft", Cluster: 0, Item: 56, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuSoft, Help: "Time spent on soft interrupts, of each processor"},
	{Name: "kernel.percpu.cpu.irq.hard", Cluster: 0, Item: 57, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCPU, Col: cpuHard, Help: "Time spent on hard interrupts, of each processor"},
	{Name: "kernel.pernode.cpu.user", Cluster: 0, Item: 62, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuUser, Help: "Time in user mode, at normal priority, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.nice", Cluster: 0, Item: 63, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuNice, Help: "Time in user mode, at lowered priority, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.sys", Cluster: 0, Item: 64, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuSys, Help: "Time in kernel mode, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.idle", Cluster: 0, Item: 65, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuIdle, Help: "Time with nothing to do, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.intr", Cluster: 0, Item: 66, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuIntr, Help: "Time spent on interrupts, hard and soft, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.steal", Cluster: 0, Item: 67, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuSteal, Help: "Time that the hypervisor gave to others, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.guest", Cluster: 0, Item: 68, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuGuest, Help: "Time spent running virtual machines, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.vuser", Cluster: 0, Item: 77, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuVuser, Help: "Time in user mode without that of virtual machines, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.guest_nice", Cluster: 0, Item: 85, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuGuestNice, Help: "Time spent running virtual machines at lowered priority, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.vnice", Cluster: 0, Item: 86, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuVnice, Help: "Time at lowered priority without that of virtual machines, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.wait.total", Cluster: 0, Item: 69, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuWait, Help: "Time idle while I/O was outstanding, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.irq.soft", Cluster: 0, Item: 70, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuSoft, Help: "Time spent on soft interrupts, of each NUMA node", Labels: nodeCPULabels},
	{Name: "kernel.pernode.cpu.irq.hard", Cluster: 0, Item: 71, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockNodeCPU, Col: cpuHard, Help: "Time spent on hard interrupts, of each NUMA node", Labels: nodeCPULabels},
	{Name: "hinv.ncpu", Cluster: 0, Item: 32, Type: pcp.TypeU32, Sem: discrete, From: blockStat, Col: statNCPU, Help: "Processors online"},
	{Name: "hinv.nnode", Cluster: 0, Item: 19, Type: pcp.TypeU32, Sem: discrete, From: blockStat, Col: statNNode, Help: "NUMA nodes"},
}
