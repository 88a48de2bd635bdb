package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Reasons for which a task does not run, which are the columns of the metrics by process.
const (
	offRunnable = iota
	offSleep
	offDisk
	offOther
	numOff

	taskInterruptible   = 1 // states of tasks in the kernel
	taskUninterruptible = 2
	taskStateBits       = 0xff
)

// offcputime measures how long tasks do not run, by the reason.
func offcputime(Config) *module {
	m := &module{name: "offcputime", write: writeOffCPU}
	names := [numOff]string{"runnable", "sleep", "disk", "other"}
	help := [numOff]string{"lost the processor although it could run", "slept until an event", "slept without reacting to signals, mostly for a disk", "was stopped, or did not run for another reason"}
	metrics := []column.Metric{{
		Name: "bpf.offcpu.time", Cluster: own(clusterOffCPU), Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: nanoseconds(), Col: 0,
		Help: "Time that tasks did not run, by the reason", Long: "The sum over all tasks. A time counts when the task runs again. runnable is for tasks that lost the processor although they could run; the wait after a sleep counts for the sleep.",
	}, {
		Name: "bpf.offcpu.count", Cluster: own(clusterOffCPU), Item: 1, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count(), Col: 1,
		Help: "Number of times that tasks did not run, by the reason", Long: "As bpf.offcpu.time.",
	}}
	for i, name := range names {
		metrics = append(metrics, column.Metric{
			Name: "bpf.proc.offcpu." + name, Cluster: own(clusterOffCPU), Item: 10 + i, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: nanoseconds(), From: 1, Col: i,
			Help: "Time for which a process " + help[i], Long: "The sum over its threads. A time counts when the thread runs again.",
		})
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: 2, Lists: true, InDom: &column.InDom{Serial: own(clusterOffCPU), Help: "Reasons for which tasks do not run", Long: "runnable: it lost the processor; sleep: it waits for an event; disk: it waits without reacting to signals; other: it is stopped, or anything else."}},
		column.Layout{Cols: numOff, Lists: true, InDom: processInDom(own(clusterOffCPU)+200, "did not run")},
	)
	m.read = func(o *object) error {
		list := blocks[0]
		list.Clear()
		for i, name := range names {
			list.AddNamed(int32(i), name)
		}
		if o != nil {
			for i := range names {
				var perCPU [][2]uint64
				if err := o.maps["total"].Lookup(uint32(i), &perCPU); err != nil {
					return err
				}
				var sum [2]uint64
				for _, n := range perCPU {
					sum[0] += n[0]
					sum[1] += n[1]
				}
				list.Set(i, 0, sum[0])
				list.Set(i, 1, sum[1])
			}
		}
		return readProcesses(o, "processes", blocks[1])
	}
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sched_switch", Blocks: blocks, Restricted: true}}}
	return m
}

func writeOffCPU(k *kernel, o *object) error {
	state, err := k.field("task_struct", "__state", "state")
	if err != nil {
		return err
	}
	o.table(&ebpf.MapSpec{Name: "start", Type: ebpf.LRUHash, KeySize: 4, ValueSize: 16, MaxEntries: maxTasks})
	o.table(&ebpf.MapSpec{Name: "total", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 16, MaxEntries: numOff})
	o.counts("processes", 8, numOff*maxProcessCounts)

	const began, pid, key, spare = -16, -20, -32, -40
	c := new(code)
	c.add(asm.Mov.Reg(asm.R6, asm.R1))
	c.arg(asm.R7, asm.R6, 1) // the task that ran
	c.arg(asm.R8, asm.R6, 2) // the task that runs now
	c.now()
	c.add(asm.Mov.Reg(asm.R9, asm.R0))
	next, known := c.label(), c.label()
	c.load(asm.R1, asm.R7, k.pid)
	c.add(asm.JEq.Imm(asm.R1, 0, next), asm.StoreMem(asm.RFP, pid, asm.R1, asm.Word))
	c.store(began, asm.R9)
	c.arg(asm.R2, asm.R6, 0) // preempt
	c.add(asm.Mov.Imm(asm.R3, offRunnable), asm.JNE.Imm(asm.R2, 0, known))
	c.load(asm.R1, asm.R7, state)
	c.add(asm.And.Imm(asm.R1, taskStateBits), asm.JEq.Imm(asm.R1, 0, known))
	c.add(asm.Mov.Imm(asm.R3, offSleep), asm.JEq.Imm(asm.R1, taskInterruptible, known))
	c.add(asm.Mov.Imm(asm.R3, offDisk), asm.JEq.Imm(asm.R1, taskUninterruptible, known))
	c.add(asm.Mov.Imm(asm.R3, offOther))
	c.mark(known)
	c.store(began+8, asm.R3)
	c.update("start", pid, began, updateAny)

	c.mark(next)
	c.load(asm.R1, asm.R8, k.pid)
	c.add(asm.JEq.Imm(asm.R1, 0, exit), asm.StoreMem(asm.RFP, pid, asm.R1, asm.Word))
	c.lookup("start", pid)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.LoadMem(asm.R7, asm.R0, 8, asm.DWord))
	c.add(asm.JEq.Imm(asm.R1, 0, exit), asm.Mov.Imm(asm.R2, 0), asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord))
	c.add(asm.JGT.Reg(asm.R1, asm.R9, exit), asm.Sub.Reg(asm.R9, asm.R1))
	c.add(asm.StoreMem(asm.RFP, pid, asm.R7, asm.Word))
	c.lookup("total", pid)
	c.add(asm.JEq.Imm(asm.R0, 0, exit))
	c.add(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Add.Reg(asm.R1, asm.R9), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord))
	c.add(asm.LoadMem(asm.R1, asm.R0, 8, asm.DWord), asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R0, 8, asm.R1, asm.DWord))
	c.load(asm.R1, asm.R8, k.tgid)
	c.add(asm.StoreMem(asm.RFP, key, asm.R1, asm.Word), asm.StoreMem(asm.RFP, key+4, asm.R7, asm.Word))
	c.bump("processes", key, spare, asm.R9)
	o.on("sched_switch", c)
	return nil
}
