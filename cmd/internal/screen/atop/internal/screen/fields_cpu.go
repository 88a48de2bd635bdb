package screen

import (
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// prcFields are the fields of the line about all processes.
var prcFields = sync.OnceValue(func() []field {
	return []field{
		{name: "PRCSYS", put: func(x *line) { x.cpuTime("sys   ", x.sys) }},
		{name: "PRCUSER", put: func(x *line) { x.cpuTime("user  ", x.user) }},
		number("PRCNPROC", "#proc ", 6, short, func(x *line) sample.Count { return int64(x.procs - x.exited) }),
		number("PRCNRUNNING", "#trun ", 6, short, func(x *line) sample.Count { return int64(x.running) }),
		number("PRCNSLEEPING", "#tslpi  ", 4, short, func(x *line) sample.Count { return int64(x.sleeping) }),
		number("PRCNDSLEEPING", "#tslpu  ", 4, short, func(x *line) sample.Count { return int64(x.diskSleep) }),
		number("PRCNIDLE", "#tidle  ", 4, short, func(x *line) sample.Count { return int64(x.idle) }),
		number("PRCNZOMBIE", "#zombie ", 4, short, func(x *line) sample.Count {
			if x.zombies > 50 {
				x.color = colorCrit
			} else if x.zombies > 30 {
				x.color = colorAlmost
			}
			return int64(x.zombies)
		}),
		count("PRCCLONES", "clones ", 5, func(x *line) sample.Count { return x.s.Forks }),
		{name: "PRCNNEXIT", put: func(x *line) {
			switch {
			case !x.p.s.Accounting:
				if x.color = colorInfo; !x.p.saidAccounting {
					x.p.saidAccounting = true
					x.color = colorCrit
				}
				x.b = append(x.b, "no  procacct"...)
				return
			case x.overflow != 0:
				x.color = colorCrit
				x.b = append(x.b, "#exit >"...)
				x.b = figure.Value(x.b, int64(x.exited), 5, x.div())
			default:
				x.b = append(x.b, "#exit "...)
				x.b = figure.Value(x.b, int64(x.exited), 6, x.div())
			}
			x.trim(short)
		}},
		blankBox,
	}
})

func (x *line) cpuTime(label string, n sample.Count) {
	x.b = append(x.b, label...)
	x.b = figure.CPU(x.b, n)
	x.trim(short)
}

// of returns the share of n in the time of a processor.
func (x *line) of(n sample.Count) float64 { return float64(n) * 100.0 / float64(x.perCPU) }

// cpu is the processor of the line.
func (x *line) cpu() *sample.CPU { return &x.s.CPUs[x.index] }

// percent is the size of C's buffer for percentages.
const percent = 13

// cpuFields are the fields of the line about all processors.
var cpuFields = sync.OnceValue(func() []field {
	return []field{
		share("CPUSYS", "sys  ", 6, percent, func(x *line) float64 { return x.of(x.s.CPU.Sys) }),
		share("CPUUSER", "user ", 6, percent, func(x *line) float64 { return x.of(x.s.CPU.User + x.s.CPU.Nice) }),
		share("CPUIRQ", "irq  ", 6, percent, func(x *line) float64 { return x.of(x.s.CPU.IRQ + x.s.CPU.SoftIRQ) }),
		quiet(share("CPUIDLE", "idle ", 6, percent, func(x *line) float64 { return x.of(x.s.CPU.Idle) })),
		quiet(share("CPUWAIT", "wait ", 6, percent, func(x *line) float64 { return x.of(x.s.CPU.Wait) })),
		blankBox,
		onlyIf(field{name: "CPUIPC", put: func(x *line) { x.perCycle(&x.s.CPU) }}, hasCycles),
		onlyIf(field{name: "CPUCYCLE", put: func(x *line) {
			x.cycles(figure.Count(float64(x.s.CPU.Cycles/1000000) / x.seconds / float64(len(x.s.CPUs))))
		}}, hasCycles),
		since7(onlyIf(field{name: "CPUFREQ", put: func(x *line) {
			freq, _ := meanFrequency(x.s)
			switch {
			case freq.FreqTicks != 0:
				x.b = figure.Frequency(append(x.b, "avgf "...), freq.Freq/freq.FreqTicks)
			case freq.Freq != 0:
				x.b = figure.Frequency(append(x.b, "curf "...), freq.Freq)
			case x.p.Seven:
				x.b = append(x.b, noFrequency...)
			default:
				x.missing = true
			}
			x.trim(13)
		}}, func(s *sample.System) bool {
			freq, _ := meanFrequency(s)
			return freq.FreqTicks != 0 || freq.Freq != 0
		})),
		since7(onlyIf(field{name: "CPUSCALE", put: func(x *line) {
			_, freq := meanFrequency(x.s)
			x.scale(freq, &x.p.lastScale)
		}}, hasScale)),
		share("CPUSTEAL", "steal ", 5, percent, func(x *line) float64 { return x.of(x.s.CPU.Steal) }),
		share("CPUGUEST", "guest ", 5, percent, func(x *line) float64 { return x.of(x.s.CPU.Guest) }),
	}
})

// cpiFields are the fields of the line about one processor.
var cpiFields = sync.OnceValue(func() []field {
	return []field{
		share("CPUISYS", "sys  ", 6, percent, func(x *line) float64 { return x.of(x.cpu().Sys) }),
		share("CPUIUSER", "user ", 6, percent, func(x *line) float64 { return x.of(x.cpu().User + x.cpu().Nice) }),
		share("CPUIIRQ", "irq  ", 6, percent, func(x *line) float64 { return x.of(x.cpu().IRQ + x.cpu().SoftIRQ) }),
		quiet(share("CPUIIDLE", "idle ", 6, percent, func(x *line) float64 { return x.of(x.cpu().Idle) })),
		{name: "CPUIWAIT", put: func(x *line) {
			x.b = padded(append(x.b, "cpu"...), int64(x.cpu().Nr), 3)
			x.b = append(x.b, " w"...)
			x.b = append(figure.Float(x.b, 3, 0, max(float64(float32(x.of(x.cpu().Wait))), 0)), '%')
			x.trim(percent)
		}},
		blankBox,
		onlyIf(field{name: "CPUIIPC", put: func(x *line) { x.perCycle(x.cpu()) }}, hasCycles),
		onlyIf(field{name: "CPUICYCLE", put: func(x *line) {
			x.cycles(figure.Count(float64(x.cpu().Cycles/1000000) / x.seconds))
		}}, hasCycles),
		since7(onlyIf(field{name: "CPUIFREQ", put: func(x *line) { // C shows the scale here too, or the text before
			x.oldScale(x.cpu(), &x.p.lastFreqOne)
		}}, func(s *sample.System) bool {
			freq, _ := meanFrequency(s)
			return freq.FreqTicks != 0 || freq.Freq != 0
		})),
		since7(onlyIf(field{name: "CPUISCALE", put: func(x *line) { x.scale(x.cpu(), &x.p.lastScaleOne) }}, hasScale)),
		share("CPUISTEAL", "steal ", 5, percent, func(x *line) float64 { return x.of(x.cpu().Steal) }),
		share("CPUIGUEST", "guest ", 5, percent, func(x *line) float64 { return x.of(x.cpu().Guest) }),
	}
})

// padded appends n with leading zeros.
func padded(b []byte, n int64, width int) []byte {
	start := len(b)
	b = figure.Int(b, width, n)
	for i := start; i < len(b) && b[i] == ' '; i++ {
		b[i] = '0'
	}
	return b
}

// hasCycles compares 32 bits of the cycles with 0, as in C.
func hasCycles(s *sample.System) bool { return int32(s.CPU.Cycles) != 0 }

func hasScale(s *sample.System) bool {
	_, freq := meanFrequency(s)
	return freq.FreqTicks != 0 || freq.FreqMax != 0
}

// meanFrequency returns the mean of the frequencies of all processors. Both results are the same.
func meanFrequency(s *sample.System) (*sample.CPU, *sample.CPU) {
	var sum sample.CPU
	for i := range s.CPUs {
		c := &s.CPUs[i]
		sum.FreqMax, sum.Freq, sum.FreqTicks = sum.FreqMax+c.FreqMax, sum.Freq+c.Freq, sum.FreqTicks+c.FreqTicks
	}
	n := max(int64(len(s.CPUs)), 1)
	sum.FreqMax, sum.Freq, sum.FreqTicks = sum.FreqMax/n, sum.Freq/n, sum.FreqTicks/n
	return &sum, &sum
}

// noFrequency is the text of PCP 7 for an unknown frequency.
const noFrequency = "           -"

// scale puts the share of the highest frequency, or oldScale in PCP 6.
func (x *line) scale(c *sample.CPU, last *string) {
	if x.p.Seven && c.FreqTicks == 0 && c.FreqMax == 0 {
		x.b = append(x.b, noFrequency...)
		return
	}
	x.oldScale(c, last)
}

// oldScale puts the share of the highest frequency. If it is not known, the last text is used again, as in
// C.
func (x *line) oldScale(c *sample.CPU, last *string) {
	switch {
	case c.FreqTicks != 0:
		part := int64(0)
		if c.FreqMax != 0 {
			part = 100 * (c.Freq / c.FreqTicks) / c.FreqMax
		}
		x.b = append(figure.Int(append(x.b, "avgscal"...), 4, int64(int32(part))), '%')
	case c.FreqMax != 0:
		x.b = append(figure.Int(append(x.b, "curscal"...), 4, 100*c.Freq/c.FreqMax), '%')
	default:
		x.b = append(x.b, *last...)
		return
	}
	*last = string(x.b)
}

// perCycle puts instructions per cycle.
func (x *line) perCycle(c *sample.CPU) {
	switch x.s.CPU.Cycles {
	case 0:
		x.color = colorInfo
		x.b = append(x.b, "ipc notavail"...)
	case 1:
		x.color = colorInfo
		x.b = append(x.b, "ipc  initial"...)
	default:
		ipc := float32(0)
		if c.Cycles != 0 {
			ipc = max(float32(float64(c.Instr*100/c.Cycles)/100.0), 0)
		}
		x.b = figure.Float(append(x.b, "ipc "...), 8, 2, float64(ipc))
	}
	x.trim(short)
}

// cycles puts cycles per second in MHz.
func (x *line) cycles(mhz int64) {
	x.b = append(x.b, "cycl "...)
	switch x.s.CPU.Cycles {
	case 0:
		x.color = colorInfo
		x.b = append(x.b, "missing"...)
	case 1:
		x.color = colorInfo
		x.b = append(x.b, "initial"...)
	default:
		x.b = figure.Frequency(x.b, mhz)
	}
	x.trim(short)
}

// load returns a field with a load average.
func load(name, label string, width int, most float64, of func(s *sample.System) float32) field {
	return field{name: name, put: func(x *line) {
		f := float64(of(x.s))
		x.b = append(x.b, label...)
		switch {
		case f > most:
			x.b = append(x.b, '>')
			x.b = figure.Int(x.b, 0, int64(most))
		case f > 999:
			x.b = figure.Float(x.b, width, 0, f)
		default:
			x.b = figure.Float(x.b, width, 2, f)
		}
		x.trim(short)
	}}
}

// cplFields are the fields of the line about the load of processors.
var cplFields = sync.OnceValue(func() []field {
	return []field{
		number("CPLNUMCPU", "numcpu ", 5, long, func(x *line) sample.Count { return int64(len(x.s.CPUs)) }),
		load("CPLAVG1", "avg1 ", 7, 999999, func(s *sample.System) float32 { return s.Load1 }),
		load("CPLAVG5", "avg5 ", 7, 999999, func(s *sample.System) float32 { return s.Load5 }),
		{name: "CPLAVG15", put: func(x *line) {
			if float64(x.s.Load15) > float64(2*len(x.s.CPUs)) {
				x.color = colorAlmost
			}
			load("", "avg15 ", 6, 99999, func(s *sample.System) float32 { return s.Load15 }).put(x)
		}},
		count("CPLCSW", "csw ", 8, func(x *line) sample.Count { return x.s.Switches }),
		count("CPLINTR", "intr ", 7, func(x *line) sample.Count { return x.s.Interrupts }),
		blankBox,
	}
})

// gpu is the graphics processor of the line.
func (x *line) gpu() *sample.GPU { return &x.s.GPUs[x.index] }

// gpuFields are the fields of the line about a graphics processor.
var gpuFields = sync.OnceValue(func() []field {
	return []field{
		{name: "GPUBUS", put: func(x *line) {
			x.b = right(x.b, 9, tail(x.gpu().Bus, 9))
			x.b = figure.Int(append(x.b, ' '), 2, int64(x.gpu().Nr))
			x.trim(long)
		}},
		{name: "GPUGPUPERC", put: func(x *line) { x.gpuShare("gpubusy ", x.gpu().BusyNow, x.gpu().Busy, 90) }},
		{name: "GPUMEMPERC", put: func(x *line) { x.gpuShare("membusy ", x.gpu().MemBusyNow, x.gpu().MemBusy, 40) }},
		{name: "GPUMEMOCC", put: func(x *line) {
			g := x.gpu()
			total := g.MemTotal
			if total == 0 {
				total = 1
			}
			x.b = append(figure.Int(append(x.b, "memocc "...), 4, int64(int32(g.MemUsed*100/total))), '%')
			x.trim(long)
		}},
		plainMemory("GPUMEMTOT", "total ", func(x *line) sample.Count { return x.gpu().MemTotal * 1024 }),
		plainMemory("GPUMEMUSE", "used  ", func(x *line) sample.Count { return x.gpu().MemUsed * 1024 }),
		{name: "GPUMEMAVG", put: func(x *line) {
			g := x.gpu()
			if g.Samples == 0 {
				x.b = append(x.b, "usavg ?"...)
				return
			}
			x.b = figure.Memory(append(x.b, "usavg "...), g.MemUsedSum*1024/g.Samples, figure.MiB, 0)
			x.trim(long)
		}},
		{name: "GPUTYPE", put: func(x *line) { x.b = right(x.b, 12, tail(x.gpu().Type, 12)) }},
		number("GPUNRPROC", "#proc ", 6, long, func(x *line) sample.Count { return int64(x.gpu().Procs) }),
		blankBox,
	}
})

// gpuShare puts a share: the mean of the interval if it is known.
func (x *line) gpuShare(label string, now int32, sum sample.Count, many int32) {
	x.b = append(x.b, label...)
	if now == -1 {
		x.b = append(x.b, " N/A"...)
		return
	}
	if n := x.gpu().Samples; n != 0 {
		now = int32(sum / n)
	}
	if now >= many {
		x.color = colorAlmost
	}
	x.b = append(figure.Int(x.b, 3, int64(now)), '%')
	x.trim(long)
}

// right appends a string right-aligned in width columns.
func right(b []byte, width int, s string) []byte {
	for n := len(s); n < width; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// left appends a string in width columns, cut or followed by blanks.
func left(b []byte, width int, s string) []byte {
	b = append(b, s[:min(len(s), width)]...)
	for n := len(s); n < width; n++ {
		b = append(b, ' ')
	}
	return b
}

// tail returns the end of a string, of at most n bytes.
func tail(s string, n int) string { return s[max(len(s)-n, 0):] }
