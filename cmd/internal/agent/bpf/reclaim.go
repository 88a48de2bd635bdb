package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp/pmda/column"
)

// Kinds of reclaim, and the numbers of each.
const (
	reclaimDirect = iota
	reclaimGroup
	numReclaim
)

// drsnoop measures how long tasks free memory themselves, because there is too little for their requests.
func drsnoop(cfg Config) *module {
	m := &module{name: "drsnoop", write: writeReclaim}
	metric := counters("bpf.reclaim.", clusterReclaim)
	metrics := []column.Metric{
		metric(0, 0, kindCount, "count", count(), "Number of times that tasks freed memory themselves", "The kernel lets a task free memory when its request finds too little."),
		metric(1, 0, kindTime, "time", nanoseconds(), "Time that tasks spent on freeing memory", "The time for which their requests for memory were delayed."),
		metric(2, 0, kindExtra, "pages", count(), "Number of pages that tasks freed", "Pages that were reclaimed."),
		metric(3, 1, 0, "latency", count(), "Number of times that tasks freed memory themselves, by range of nanoseconds", "By kind and range."),
		metric(4, 2, 0, "cgroup.latency", count(), "Number of times that tasks of a control group freed memory themselves, by range of nanoseconds", "For either reason. The group is that of the task, and may be below the group that has reached its limit."),
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: numKindColumns, Lists: true, InDom: &column.InDom{Serial: own(clusterReclaim), Help: "Kinds of reclaim", Long: "direct: the host has too little memory; cgroup: a control group has reached its limit."}},
		column.Layout{Cols: 1, Lists: true, InDom: &column.InDom{Serial: own(clusterReclaim) + 200, Help: "Kinds of reclaim, with ranges of nanoseconds", Long: "A kind and a range, as in direct::65536-131071."}},
		column.Layout{Cols: 1, Lists: true, InDom: groupInDom(own(clusterReclaim)+400, "nanoseconds")},
	)
	names := [numReclaim]string{"direct", "cgroup"}
	m.read = readKinds(cfg.HostRoot, names[:], blocks)
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at mm_vmscan_direct_reclaim_begin and others", Blocks: blocks}}}
	return m
}

func writeReclaim(k *kernel, o *object) error {
	o.table(&ebpf.MapSpec{Name: "start", Type: ebpf.LRUHash, KeySize: 8, ValueSize: 8, MaxEntries: maxTasks})
	o.tallies(numReclaim)
	o.groupCounts()
	for kind, name := range map[int32]string{reclaimDirect: "mm_vmscan_direct_reclaim", reclaimGroup: "mm_vmscan_memcg_reclaim"} {
		c := new(code)
		c.add(asm.FnGetCurrentPidTgid.Call())
		c.store(-8, asm.R0)
		c.now()
		c.store(-16, asm.R0)
		c.update("start", -8, -16, updateAny)
		o.on(name+"_begin", c)

		c = new(code)
		c.arg(asm.R8, asm.R1, 0) // pages
		c.add(asm.FnGetCurrentPidTgid.Call())
		c.store(-8, asm.R0)
		c.now()
		c.add(asm.Mov.Reg(asm.R9, asm.R0))
		c.since("start", -8)
		c.add(asm.Mov.Imm(asm.R1, kind), asm.StoreMem(asm.RFP, -12, asm.R1, asm.Word))
		c.lookup("hist", -12)
		c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.Mov.Reg(asm.R6, asm.R0))
		c.add(asm.LoadMem(asm.R1, asm.R6, 8*extraSlot, asm.DWord), asm.Add.Reg(asm.R1, asm.R8), asm.StoreMem(asm.R6, 8*extraSlot, asm.R1, asm.DWord))
		c.tally(asm.R6, asm.R9, asm.R7)
		c.ownGroup(k)
		c.countGroup(-32, asm.R7)
		o.on(name+"_end", c)
	}
	return nil
}
