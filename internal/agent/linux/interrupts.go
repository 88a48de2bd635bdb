package linux

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of interruptMetrics.
const (
	blockIRQ       = iota // totals by interrupt
	blockCPUIRQ           // counts by interrupt and processor
	blockIntrByCPU        // totals by processor
	blockIRQMisc          // errors, and missed interrupts
	blockSoftirq
	blockCPUSoftirq
	blockSoftirqByCPU
)

// Columns of blockIRQMisc.
const (
	irqMissed = iota
	irqErrors
	numIRQMisc
)

// An irqReader reads /proc/interrupts or /proc/softirqs: a header of processors,
// then lines of a name, a count for each processor, and words about it.
type irqReader struct {
	total, perCPU, byCPU *column.Block
	misc                 *column.Block // nil if the file has no such lines

	irqs    column.Names // names of interrupts
	cpuIRQs column.Names // "name::cpuN"
	lines   []irqLine
	cpus    []int32 // the processor of each column
	header  []byte  // the header that cpus was made from
	key     []byte  // room to make names in
	pass    uint64
	seen    []uint64          // by interrupt: the last pass that found it
	texts   map[string]string // the file's text about each interrupt
}

// An irqLine describes a line of the file.
type irqLine struct {
	inst  int32
	name  string
	insts []int32 // of its columns
	names []string
	text  []byte // the line's text about the interrupt
}

// interruptsFamily reads /proc/interrupts and /proc/softirqs.
func interruptsFamily(h *host, cpus *column.InDom) column.Family {
	hard, soft := &irqReader{texts: make(map[string]string)}, &irqReader{texts: make(map[string]string)}
	irqs := &column.InDom{
		Serial: 4, Help: "Interrupts by number or name, without regard to processors",
		Labels: `{"device_type":"irq","indom_name":"per irq"}`,
		InstanceLabels: func(_ int32, name string) map[string]any {
			return map[string]any{"irq": name, "irqtext": hard.texts[name]}
		},
	}
	softirqs := &column.InDom{
		Serial: 36, Help: "Soft interrupts, without regard to processors", Labels: `{"indom_name":"per softirq"}`,
	}
	cpuIRQs := &column.InDom{
		Serial: 40, Help: "Interrupts on each processor",
		Labels: `{"device_type":["irq","cpu"],"indom_name":"per cpu, per irq"}`,
		InstanceLabels: func(_ int32, name string) map[string]any {
			irq, cpu := splitCPU(name)
			return map[string]any{"cpu": cpu, "irq": irq, "irqtext": hard.texts[irq]}
		},
	}
	cpuSoftirqs := &column.InDom{
		Serial: 41, Help: "Soft interrupts on each processor",
		Labels: `{"device_type":"cpu","indom_name":"per cpu, per softirq"}`,
		InstanceLabels: func(_ int32, name string) map[string]any {
			irq, cpu := splitCPU(name)
			return map[string]any{"cpu": cpu, "softirq": irq}
		},
	}
	b := column.NewBlocks(interruptMetrics, []column.Layout{
		blockIRQ:          {Cols: 1, InDom: irqs, Lists: true},
		blockCPUIRQ:       {Cols: 1, InDom: cpuIRQs, Lists: true},
		blockIntrByCPU:    {Cols: 1, InDom: cpus},
		blockIRQMisc:      {Cols: numIRQMisc},
		blockSoftirq:      {Cols: 1, InDom: softirqs, Lists: true},
		blockCPUSoftirq:   {Cols: 1, InDom: cpuSoftirqs, Lists: true},
		blockSoftirqByCPU: {Cols: 1, InDom: cpus},
	}...)
	hard.total, hard.perCPU, hard.byCPU, hard.misc = b[blockIRQ], b[blockCPUIRQ], b[blockIntrByCPU], b[blockIRQMisc]
	soft.total, soft.perCPU, soft.byCPU = b[blockSoftirq], b[blockCPUSoftirq], b[blockSoftirqByCPU]
	return column.Family{Name: "interrupts", Metrics: interruptMetrics, Sources: []*column.Source{
		{Name: "/proc/interrupts", File: h.file("proc/interrupts"), Parse: hard.parse, Blocks: b[:blockSoftirq]},
		{Name: "/proc/softirqs", File: h.wholeFile("proc/softirqs"), Parse: soft.parse, Blocks: b[blockSoftirq:]},
	}}
}

// splitCPU splits "24::cpu1".
func splitCPU(name string) (irq string, cpu json.Number) {
	irq, digits, _ := strings.Cut(name, "::cpu")
	return irq, json.Number(digits)
}

// parse fills the blocks.
func (r *irqReader) parse(b []byte) {
	total, perCPU, byCPU, misc := r.total, r.perCPU, r.byCPU, r.misc
	total.Clear()
	perCPU.Clear()
	byCPU.Clear()
	header, b, ok := procfs.Line(b)
	if !ok {
		return
	}
	if string(header) != string(r.header) {
		r.learn(header)
	}
	r.pass++
	for _, cpu := range r.cpus {
		byCPU.Set(byCPU.Add(cpu), 0, 0)
	}
	if misc != nil {
		misc.Set(0, irqMissed, 0)
		misc.Set(0, irqErrors, 0)
	}
	for n := 0; ; n++ {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		name, line := procfs.Field(line)
		if k := len(name); k > 0 && (name[k-1] == ':' || name[k-1] == '_') {
			name = name[:k-1]
		}
		if len(name) == 0 {
			continue
		}
		if misc != nil {
			col := -1
			switch string(name) {
			case "ERR", "Err", "BAD":
				col = irqErrors
			case "MIS":
				col = irqMissed
			}
			if col >= 0 {
				if v, _, ok := procfs.Uint(line); ok {
					misc.Set(0, col, v)
				}
				continue
			}
		}
		for len(r.lines) <= n {
			r.lines = append(r.lines, irqLine{})
		}
		l := &r.lines[n]
		if l.name != string(name) || len(l.insts) != len(r.cpus) {
			r.learnLine(l, name)
		}
		for len(r.seen) <= int(l.inst) {
			r.seen = append(r.seen, 0)
		}
		if r.seen[l.inst] == r.pass {
			continue // a name comes once
		}
		r.seen[l.inst] = r.pass
		sum := uint64(0)
		for i := range r.cpus {
			v, rest, ok := procfs.Uint(line)
			if ok {
				line = rest
			} // else fewer columns than processors: 0, as proc_interrupts.c has it
			sum += v
			perCPU.Set(perCPU.AddNamed(l.insts[i], l.names[i]), 0, v)
			byCPU.Row(i)[0].Bits += v
		}
		total.Set(total.AddNamed(l.inst, l.name), 0, sum)
		if string(l.text) != string(line) {
			l.text = append(l.text[:0], line...)
			r.texts[l.name] = squash(line)
		}
	}
}

// learn reads the header, which names the processors that are online.
func (r *irqReader) learn(header []byte) {
	r.header = append(r.header[:0], header...)
	r.cpus, r.lines = r.cpus[:0], r.lines[:0]
	for {
		var name []byte
		if name, header = procfs.Field(header); len(name) == 0 {
			return
		}
		if len(name) > 3 {
			n, rest, ok := procfs.Uint(name[3:])
			if !ok || len(rest) > 0 || n >= maxCPU {
				continue
			}
			// The numbers of a header ascend; any other line is not a header.
			if k := len(r.cpus); k > 0 && r.cpus[k-1] >= int32(n) {
				r.cpus = r.cpus[:0]
				return
			}
			r.cpus = append(r.cpus, int32(n))
		}
	}
}

// learnLine finds or adds the instances of a line that has moved.
func (r *irqReader) learnLine(l *irqLine, name []byte) {
	r.irqs.Begin()
	l.inst, l.name = r.irqs.ID(name)
	l.insts, l.names = make([]int32, len(r.cpus)), make([]string, len(r.cpus))
	l.text, r.texts[l.name] = nil, ""
	for i, cpu := range r.cpus {
		r.key = append(append(r.key[:0], name...), "::cpu"...)
		r.key = strconv.AppendInt(r.key, int64(cpu), 10)
		r.cpuIRQs.Begin()
		l.insts[i], l.names[i] = r.cpuIRQs.ID(r.key)
	}
}

// squash returns the words of b with one blank between them.
func squash(b []byte) string {
	var out []byte
	for {
		var word []byte
		if word, b = procfs.Field(b); len(word) == 0 {
			return string(out)
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(out, word...)
	}
}

// interruptMetrics are the metrics of /proc/interrupts and /proc/softirqs.
var interruptMetrics = []column.Metric{
	{Name: "kernel.all.interrupts.total", Cluster: 4, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockIRQ, Help: "Interrupts served on all processors, by line"},
	{Name: "kernel.all.interrupts.missed", Cluster: 4, Item: 2, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockIRQMisc, Col: irqMissed, Help: "Interrupts that the I/O APIC lost"},
	{Name: "kernel.all.interrupts.errors", Cluster: 4, Item: 3, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockIRQMisc, Col: irqErrors, Help: "Errors on the bus between I/O APICs, or interrupts that no driver wanted"},
	{Name: "kernel.all.softirqs.total", Cluster: 82, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftirq, Help: "Soft interrupts on all processors, by kind"},
	{Name: "kernel.percpu.interrupts", Cluster: 4, Item: 1, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockCPUIRQ, Help: "Interrupts by line and processor"},
	{Name: "kernel.percpu.softirqs", Cluster: 63, Item: 0, Type: pcp.TypeU32, Sem: counter, Units: count, From: blockCPUSoftirq, Help: "Soft interrupts by kind and processor"},
	{Name: "kernel.percpu.intr", Cluster: 4, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockIntrByCPU, Help: "Interrupts served by each processor"},
	{Name: "kernel.percpu.sirq", Cluster: 63, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockSoftirqByCPU, Help: "Soft interrupts served by each processor"},
}
