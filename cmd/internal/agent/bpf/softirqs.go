package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp/pmda/column"
)

// numSoftirqs is the number of kinds of soft interrupts (NR_SOFTIRQS).
const numSoftirqs = 10

// softirqNames returns the names of soft interrupts, as /proc/softirqs has them.
func softirqNames() [numSoftirqs]string {
	return [numSoftirqs]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}
}

// softirqs measures how long soft interrupts run.
func softirqs(Config) *module {
	m := &module{name: "softirqs", write: writeSoftirqs}
	metric := counters("bpf.softirq.", clusterSoftirqs)
	metrics := []column.Metric{
		metric(0, 0, kindCount, "count", count(), "Number of soft interrupts", "By kind. /proc/softirqs counts the same."),
		metric(1, 0, kindTime, "time", nanoseconds(), "Time that soft interrupts have run", "By kind, the sum over all processors."),
		metric(2, 1, 0, "latency", count(), "Number of soft interrupts, by range of nanoseconds that they ran", "By kind and range."),
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: numKindColumns, Lists: true, InDom: &column.InDom{Serial: own(clusterSoftirqs), Help: "Kinds of soft interrupts", Long: "The names are those in /proc/softirqs."}},
		column.Layout{Cols: 1, Lists: true, InDom: &column.InDom{Serial: own(clusterSoftirqs) + 200, Help: "Kinds of soft interrupts, with ranges of nanoseconds", Long: "A kind and a range, as in NET_RX::1024-2047."}},
	)
	names := softirqNames()
	m.read = readKinds("", names[:], blocks)
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at softirq_entry and softirq_exit", Blocks: blocks}}}
	return m
}

func writeSoftirqs(_ *kernel, o *object) error {
	o.table(&ebpf.MapSpec{Name: "start", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	o.tallies(numSoftirqs)

	c := new(code)
	c.now()
	c.add(asm.Mov.Reg(asm.R6, asm.R0), asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word))
	c.lookup("start", -4)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.StoreMem(asm.R0, 0, asm.R6, asm.DWord))
	o.on("softirq_entry", c)

	c = new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.now()
	c.add(asm.Mov.Reg(asm.R9, asm.R0), asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word))
	c.since("start", -4)
	c.add(asm.StoreMem(asm.RFP, -4, asm.R6, asm.Word))
	c.lookup("hist", -4)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.Mov.Reg(asm.R6, asm.R0))
	c.tally(asm.R6, asm.R9, asm.R7)
	o.on("softirq_exit", c)
	return nil
}
