package bpf

import (
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Clusters of modules: those that only this agent has are own(cluster).
const (
	clusterBiolatency = 0
	clusterRunqlat    = 1
	clusterExecsnoop  = 2
	clusterOomkill    = 4
	clusterExitsnoop  = 5
	clusterTCPConnLat = 11
	clusterNetatop    = 14
	clusterSoftirqs   = 20 // and those below are not upstream's
	clusterOffCPU     = 21
	clusterReclaim    = 22
	clusterSyscalls   = 23
	clusterCachestat  = 24
	clusterControl    = 1100
)

// own returns the cluster of the metrics of a module that upstream's lacks.
func own(cluster int) int { return 1000 + cluster }

// Units of metrics.
func nanoseconds() pcp.Units  { return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec} }
func microseconds() pcp.Units { return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec} }
func count() pcp.Units        { return pcp.Units{DimCount: 1} }

// maxTasks is how many tasks have a time at which they were woken up, or began something else.
const maxTasks = 16384

// runqlat measures how long tasks that can run wait for a processor: from the wake-up, or from the switch to another task, until they run.
func runqlat(hostRoot string) *module {
	m := &module{name: "runqlat", on: true, about: "time that tasks wait for a processor"}
	m.write = writeRunqlat
	metric := counters("bpf.runq.", clusterRunqlat)
	metrics := []column.Metric{
		{
			Name: "bpf.runq.latency", Cluster: clusterRunqlat, Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: nanoseconds(),
			Help: "Number of waits of tasks for a processor, by range of nanoseconds",
			Long: "A wait begins when a task is woken up or loses the processor although it could run, and ends when it runs. The value counts waits; as in PCP's agent of the same name its unit is that of the ranges.",
		},
		metric(
			0, 1, 0, "cgroup.latency", count(), "Number of waits of tasks of a control group for a processor, by range of nanoseconds",
			"As bpf.runq.latency, for each control group that had waits. Time for which the group's quota was used up counts as well. If there are more than 16384 counts, those of the groups that were idle longest begin again.",
		),
		metric(1, 2, 0, "time", nanoseconds(), "Time that tasks have waited for a processor", "The sum of the waits that bpf.runq.latency counts. Its rate is the average number of tasks that wait."),
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: 1, InDom: buckets(clusterRunqlat, "waits for a processor, in nanoseconds"), Lists: true},
		column.Layout{Cols: 1, Lists: true, InDom: groupInDom(own(clusterRunqlat), "nanoseconds")},
		column.Layout{Cols: 1},
	)
	dir, _ := groupDir(hostRoot)
	host, byGroup, total := &histogram{block: blocks[0]}, newGroupRanges(dir, blocks[1]), blocks[2]
	m.read = func(o *object) error {
		host.list()
		total.Clear()
		if err := byGroup.read(o); o == nil || err != nil {
			return err
		}
		sums, err := o.tallied(0)
		if err != nil {
			return err
		}
		host.set(0, sums[:])
		total.Set(0, 0, sums[sumSlot])
		return nil
	}
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sched_wakeup, sched_wakeup_new and sched_switch", Blocks: blocks}}}
	return m
}

func writeRunqlat(k *kernel, o *object) error {
	state, err := k.field("task_struct", "__state", "state")
	if err != nil {
		return err
	}
	o.counts("start", 4, maxTasks)
	o.groupCounts()
	o.tallies(1)

	// waits notes the time at -16 as the begin of the wait of the task whose number is at -4.
	waits := func(c *code) {
		known, done := c.label(), c.label()
		c.lookup("start", -4)
		c.add(asm.JNE.Imm(asm.R0, 0, known))
		c.update("start", -4, -16, updateAny)
		c.add(asm.Ja.Label(done))
		c.mark(known)
		c.get(asm.R1, -16)
		c.add(asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord))
		c.mark(done)
	}
	for _, tracepoint := range []string{"sched_wakeup", "sched_wakeup_new"} {
		c := new(code)
		c.arg(asm.R6, asm.R1, 0)
		c.load(asm.R1, asm.R6, k.pid)
		c.add(asm.JEq.Imm(asm.R1, 0, exit), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word))
		c.now()
		c.store(-16, asm.R0)
		waits(c)
		o.on(tracepoint, c)
	}

	c := new(code)
	c.add(asm.Mov.Reg(asm.R6, asm.R1))
	c.arg(asm.R7, asm.R6, 1)
	c.arg(asm.R8, asm.R6, 2)
	c.now()
	c.store(-16, asm.R0)
	c.load(asm.R1, asm.R7, k.pid)
	next, runnable := c.label(), c.label()
	c.add(asm.JEq.Imm(asm.R1, 0, next), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word))
	c.arg(asm.R1, asm.R6, 0) // preempt
	c.add(asm.JNE.Imm(asm.R1, 0, runnable))
	c.load(asm.R1, asm.R7, state)
	c.add(asm.JNE.Imm(asm.R1, 0, next))
	c.mark(runnable)
	waits(c)

	c.mark(next)
	c.load(asm.R1, asm.R8, k.pid)
	c.add(asm.JEq.Imm(asm.R1, 0, exit), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word))
	c.get(asm.R9, -16)
	c.since("start", -4)
	c.add(asm.StoreImm(asm.RFP, -4, 0, asm.Word))
	c.lookup("hist", -4)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.Mov.Reg(asm.R6, asm.R0))
	c.tally(asm.R6, asm.R9, asm.R7)
	c.group(asm.R1, asm.R8, k)
	c.countGroup(-32, asm.R7)
	o.on("sched_switch", c)
	return nil
}
