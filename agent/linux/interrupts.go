package linux

import (
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
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
	file   *procfs.File
	irqs   registry // names of interrupts
	perCPU registry // "name::cpuN"
	lines  []irqLine
	cpus   []int32 // the processor of each column
	header []byte  // the header that cpus was made from
	key    []byte  // room to make names in
	pass   uint64
	seen   []uint64 // by interrupt: the pass that found it last
}

// An irqLine is what is known about a line of the file.
type irqLine struct {
	inst   int32
	name   string
	insts  []int32 // of its columns
	names  []string
	text   string // what the line says about the interrupt
	rawTxt []byte
}

// parse fills a block of totals by interrupt, one of counts by interrupt and
// processor, and one of totals by processor. If misc is not nil, the lines of
// errors and of interrupts missed go there.
func (r *irqReader) parse(b []byte, total, perCPU, byCPU, misc *block) {
	total.clear()
	perCPU.clear()
	byCPU.clear()
	header, b, ok := procfs.Line(b)
	if !ok {
		return
	}
	if string(header) != string(r.header) {
		r.learn(header)
	}
	r.pass++
	for _, cpu := range r.cpus {
		byCPU.set(byCPU.add(cpu), 0, 0)
	}
	if misc != nil {
		misc.set(0, irqMissed, 0)
		misc.set(0, irqErrors, 0)
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
					misc.set(0, col, v)
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
			perCPU.set(perCPU.addNamed(l.insts[i], l.names[i]), 0, v)
			byCPU.cells[i].bits += v
		}
		total.set(total.addNamed(l.inst, l.name), 0, sum)
		if string(l.rawTxt) != string(line) {
			l.rawTxt = append(l.rawTxt[:0], line...)
			l.text = squash(line)
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
			// The kernel counts up; a header that does not is no header.
			if k := len(r.cpus); k > 0 && r.cpus[k-1] >= int32(n) {
				r.cpus = r.cpus[:0]
				return
			}
			r.cpus = append(r.cpus, int32(n))
		}
	}
}

// learnLine finds or gives the instances of a line that was not where it was.
func (r *irqReader) learnLine(l *irqLine, name []byte) {
	r.irqs.begin()
	l.inst, l.name = r.irqs.id(name)
	l.insts, l.names = make([]int32, len(r.cpus)), make([]string, len(r.cpus))
	l.text, l.rawTxt = "", nil
	for i, cpu := range r.cpus {
		r.key = append(append(r.key[:0], name...), "::cpu"...)
		r.key = strconv.AppendInt(r.key, int64(cpu), 10)
		r.perCPU.begin()
		l.insts[i], l.names[i] = r.perCPU.id(r.key)
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

func readInterrupts(a *Agent) error {
	b, err := a.interrupts.file.Read()
	if err != nil {
		return err
	}
	a.interrupts.parse(b, &a.blocks[blockIRQ], &a.blocks[blockCPUIRQ], &a.blocks[blockIntrByCPU], &a.blocks[blockIRQMisc])
	return nil
}

func readSoftirqs(a *Agent) error {
	b, err := a.softirqs.file.Read()
	if err != nil {
		return err
	}
	a.softirqs.parse(b, &a.blocks[blockSoftirq], &a.blocks[blockCPUSoftirq], &a.blocks[blockSoftirqByCPU], nil)
	return nil
}
