package bpf

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
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
func offcputime(cfg Config) *module {
	m := &module{name: "offcputime", write: writeOffCPU}
	names := [numOff]string{"runnable", "sleep", "disk", "other"}
	help := [numOff]string{"lost the processor although it could run", "slept until an event", "slept without reacting to signals, mostly for a disk", "was stopped, or did not run for another reason"}
	metric, byProcess := counters("bpf.offcpu.", clusterOffCPU), counters("bpf.proc.offcpu.", clusterOffCPU)
	metrics := []column.Metric{
		metric(
			0, 0, kindTime, "time", nanoseconds(), "Time that tasks did not run, by the reason",
			"The sum over all tasks. A time counts when the task runs again. runnable is for tasks that lost the processor although they could run; the wait after a sleep counts for the sleep.",
		),
		metric(1, 0, kindCount, "count", count(), "Number of times that tasks did not run, by the reason", "As bpf.offcpu.time."),
		metric(2, 1, 0, "latency", count(), "Number of times that tasks did not run, by the reason and range of nanoseconds", "As bpf.offcpu.time."),
	}
	for i, name := range names {
		metrics = append(
			metrics,
			byProcess(10+i, 3, i, name, nanoseconds(), "Time for which a process "+help[i], "The sum over its threads. A time counts when the thread runs again."),
			metric(
				20+i, 2, i, "cgroup."+name+".latency", count(), "Number of times that a task of a control group "+help[i]+", by range of nanoseconds",
				"As bpf.offcpu.latency, for one reason and each control group. If there are more than 16384 counts, those that were used longest ago begin again.",
			),
		)
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: numKindColumns, Lists: true, InDom: &column.InDom{Serial: own(clusterOffCPU), Help: "Reasons for which tasks do not run", Long: "runnable: it lost the processor; sleep: it waits for an event; disk: it waits without reacting to signals; other: it is stopped, or anything else."}},
		column.Layout{Cols: 1, Lists: true, InDom: &column.InDom{Serial: own(clusterOffCPU) + 300, Help: "Reasons for which tasks do not run, with ranges of nanoseconds", Long: "A reason and a range, as in sleep::65536-131071."}},
		column.Layout{Cols: numOff, Lists: true, InDom: groupInDom(own(clusterOffCPU)+400, "nanoseconds")},
		column.Layout{Cols: numOff, Lists: true, InDom: processInDom(own(clusterOffCPU)+200, "did not run")},
	)
	read := readKinds(cfg.HostRoot, names[:], blocks[:3])
	m.read = func(o *object) error { return errors.Join(read(o), readProcesses(o, "processes", blocks[3])) }
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sched_switch", Blocks: blocks, Restricted: true}}}
	return m
}

func writeOffCPU(k *kernel, o *object) error {
	state, err := k.field("task_struct", "__state", "state")
	if err != nil {
		return err
	}
	o.table(&ebpf.MapSpec{Name: "start", Type: ebpf.LRUHash, KeySize: 4, ValueSize: 16, MaxEntries: maxTasks})
	o.tallies(numOff)
	o.groupCounts()
	o.counts("processes", 8, numOff*maxProcessCounts)

	const began, pid, key, spare, group = -16, -20, -32, -40, -48
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
	c.since("start", pid)
	c.add(asm.LoadMem(asm.R7, asm.R0, 8, asm.DWord), asm.StoreMem(asm.RFP, pid, asm.R7, asm.Word))
	c.load(asm.R1, asm.R8, k.tgid)
	c.add(asm.StoreMem(asm.RFP, key, asm.R1, asm.Word), asm.StoreMem(asm.RFP, key+4, asm.R7, asm.Word))
	c.bump("processes", key, spare, asm.R9)
	c.lookup("hist", pid)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.Mov.Reg(asm.R6, asm.R0), asm.LSh.Imm(asm.R7, 8))
	c.store(began, asm.R7)
	c.tally(asm.R6, asm.R9, asm.R7)
	c.get(asm.R1, began)
	c.add(asm.Or.Reg(asm.R7, asm.R1))
	c.group(asm.R1, asm.R8, k)
	c.countGroup(group, asm.R7)
	o.on("sched_switch", c)
	return nil
}
