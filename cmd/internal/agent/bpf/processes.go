package bpf

import (
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// maxArgs is how many bytes of the arguments of a process are kept.
const maxArgs = 128

// An execEvent is what the program of execsnoop notes.
type execEvent struct {
	PID, Parent, User, Unused uint32
	Comm                      [commLen]byte
	Args                      [maxArgs]byte
}

// commands is the instance domain of the names of commands.
func commands(serial int) *column.InDom {
	return &column.InDom{
		Serial: serial, Help: "Names of commands",
		Long: "The first 15 bytes of the name of a program, as ps shows it. There are 4096 names; if there are more, those that were seen longest ago make room.",
	}
}

// execsnoop lists the programs that are started, and counts them by name.
func execsnoop(cfg Config) *module {
	m := &module{name: "execsnoop", write: writeExecsnoop}
	row := func(item int, name string, t pcp.Type, sem pcp.Sem, help, long string) column.Metric {
		return column.Metric{Name: "bpf.execsnoop." + name, Cluster: clusterExecsnoop, Item: item, Type: t, Sem: sem, Col: item, Help: help, Long: long}
	}
	lost := row(6, "lost", pcp.TypeU32, pcp.SemCounter, "Number of events that were lost", "Events are lost if more than 256 happen between two fetches. The counts by name have them.")
	lost.Units, lost.From, lost.Col = count(), 1, 0
	metrics := []column.Metric{
		row(0, "comm", pcp.TypeString, pcp.SemInstant, "Name of the program", "The first 15 bytes of its name."),
		row(1, "pid", pcp.TypeU32, pcp.SemDiscrete, "Number of the process", "The process that has begun the program."),
		row(2, "ppid", pcp.TypeU32, pcp.SemDiscrete, "Number of the parent process", "The process that has started this one."),
		row(3, "ret", pcp.TypeU32, pcp.SemInstant, "Result of the system call", "Always 0: programs that could not be started are not listed."),
		row(4, "args", pcp.TypeString, pcp.SemInstant, "Arguments of the program", "The first 128 bytes of the arguments, with blanks between them."),
		row(5, "uid", pcp.TypeU32, pcp.SemInstant, "Number of the user", "The user of the process."),
		lost,
		{
			Name: "bpf.execsnoop.starts", Cluster: own(clusterExecsnoop), Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count(), From: 2,
			Help: "Number of programs started, by name", Long: "All programs, however short they run.",
		},
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: 6, Lists: true, InDom: lastEvents(clusterExecsnoop, "programs that were started")},
		column.Layout{Cols: 1},
		column.Layout{Cols: 1, Lists: true, InDom: commands(own(clusterExecsnoop))},
	)
	list := &eventList[execEvent]{most: cfg.Settings.processes(m.name), block: blocks[0], lost: blocks[1]}
	byName := &pairs{block: blocks[2]}
	m.read = func(o *object) error {
		byName.begin()
		_, missing, err := list.fetch(o)
		if o == nil || err != nil {
			return err
		}
		list.lost.Set(0, 0, missing)
		list.newest(func(row int, e *execEvent) {
			b := list.block
			b.SetText(row, 0, text(e.Comm[:]))
			b.Set(row, 1, uint64(e.PID))
			b.Set(row, 2, uint64(e.Parent))
			b.Set(row, 3, 0)
			b.SetText(row, 4, strings.TrimSpace(strings.ReplaceAll(strings.TrimRight(string(e.Args[:]), "\x00"), "\x00", " ")))
			b.Set(row, 5, uint64(e.User))
		})
		return each(o.maps["starts"], func(key [commLen]byte, n uint64) { byName.addNamed(text(key[:]), 0, n) })
	}
	m.clear = list.reset
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sched_process_exec", Blocks: blocks, Restricted: true}}}
	return m
}

func writeExecsnoop(k *kernel, o *object) error {
	var parent, mm, begin, end field
	var err error
	find := func(to *field, structure, name string) {
		if err == nil {
			*to, err = k.field(structure, name)
		}
	}
	find(&parent, "task_struct", "real_parent")
	find(&mm, "task_struct", "mm")
	find(&begin, "mm_struct", "arg_start")
	find(&end, "mm_struct", "arg_end")
	if err != nil {
		return err
	}
	const size = 4*4 + commLen + maxArgs
	o.events(size)
	o.counts("starts", commLen, maxCommands)
	const at = -size
	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.zero(at, size)
	c.load(asm.R1, asm.R6, k.tgid)
	c.add(asm.StoreMem(asm.RFP, at, asm.R1, asm.Word))
	c.load(asm.R1, asm.R6, parent)
	c.load(asm.R1, asm.R1, k.tgid)
	c.add(asm.StoreMem(asm.RFP, at+4, asm.R1, asm.Word))
	c.add(asm.FnGetCurrentUidGid.Call(), asm.StoreMem(asm.RFP, at+8, asm.R0, asm.Word))
	c.comm(at+16, asm.R6, k)
	c.load(asm.R7, asm.R6, mm)
	c.load(asm.R8, asm.R7, begin)
	c.load(asm.R2, asm.R7, end)
	small := c.label()
	c.add(asm.Sub.Reg(asm.R2, asm.R8), asm.JLE.Imm(asm.R2, maxArgs, small), asm.Mov.Imm(asm.R2, maxArgs))
	c.mark(small)
	c.address(asm.R1, at+16+commLen)
	c.add(asm.Mov.Reg(asm.R3, asm.R8), asm.FnProbeReadUser.Call())
	c.event(at, at-8)
	c.bump("starts", at+16, at-8, asm.R0)
	o.on("sched_process_exec", c)
	return nil
}

// An exitEvent is what the program of exitsnoop notes.
type exitEvent struct {
	Age          uint64
	PID, Thread  uint32
	Parent, Code uint32
	Comm         [commLen]byte
}

// Kinds of counts of processes that ended.
const (
	exitsAll = iota
	exitsShort
	exitsAge
	numExits
)

// shortLife is the age in nanoseconds up to which a process is counted as short-lived.
const shortLife = 1_000_000_000

// exitsnoop lists the processes that end, and counts them by name.
func exitsnoop(cfg Config) *module {
	m := &module{name: "exitsnoop", write: writeExitsnoop}
	row := func(item int, name string, t pcp.Type, sem pcp.Sem, help, long string) column.Metric {
		return column.Metric{Name: "bpf.exitsnoop." + name, Cluster: clusterExitsnoop, Item: item, Type: t, Sem: sem, Col: item, Help: help, Long: long}
	}
	age := row(0, "age", pcp.TypeDouble, pcp.SemInstant, "Age of the process", "The time from its start to its end.")
	age.Units = nanoseconds()
	lost := row(8, "lost", pcp.TypeU32, pcp.SemCounter, "Number of events that were lost", "Events are lost if more than 256 happen between two fetches. The counts by name have them.")
	lost.Units, lost.From, lost.Col = count(), 1, 0
	byCommand := func(item int, name string, units pcp.Units, help, long string) column.Metric {
		return column.Metric{Name: "bpf.exitsnoop." + name, Cluster: own(clusterExitsnoop), Item: item, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: units, From: 2, Col: item, Help: help, Long: long}
	}
	metrics := []column.Metric{
		age,
		row(1, "pid", pcp.TypeU32, pcp.SemDiscrete, "Number of the process", "The process that has ended."),
		row(2, "tid", pcp.TypeU32, pcp.SemDiscrete, "Number of the thread", "The first thread of the process, so the number of the process."),
		row(3, "ppid", pcp.TypeU32, pcp.SemDiscrete, "Number of the parent process", "The process that had started it."),
		row(4, "sig", pcp.Type32, pcp.SemInstant, "Signal that ended the process", "0 if no signal did."),
		row(5, "exit_code", pcp.Type32, pcp.SemInstant, "Exit status of the process", "0 if a signal ended it."),
		row(6, "comm", pcp.TypeString, pcp.SemInstant, "Name of the program", "The first 15 bytes of its name."),
		row(7, "coredump", pcp.Type32, pcp.SemInstant, "Whether the kernel dumped the memory of the process", "1 if it did, else 0."),
		lost,
		byCommand(exitsAll, "ends", count(), "Number of processes that have ended, by name", "All processes, however short they lived."),
		byCommand(exitsShort, "short", count(), "Number of processes that have ended within a second, by name", "Samples of a second do not see most of them."),
		byCommand(exitsAge, "life", nanoseconds(), "Time that the processes that have ended had lived, by name", "Divided by the number of processes it is their average age."),
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: 8, Lists: true, InDom: lastEvents(clusterExitsnoop, "processes that ended")},
		column.Layout{Cols: 1},
		column.Layout{Cols: numExits, Lists: true, InDom: commands(own(clusterExitsnoop))},
	)
	list := &eventList[exitEvent]{most: cfg.Settings.processes(m.name), block: blocks[0], lost: blocks[1]}
	byName := &pairs{block: blocks[2]}
	m.read = func(o *object) error {
		byName.begin()
		_, missing, err := list.fetch(o)
		if o == nil || err != nil {
			return err
		}
		list.lost.Set(0, 0, missing)
		list.newest(func(row int, e *exitEvent) {
			b := list.block
			b.Set(row, 0, pcp.DoubleValue(float64(e.Age)).Bits())
			b.Set(row, 1, uint64(e.PID))
			b.Set(row, 2, uint64(e.Thread))
			b.Set(row, 3, uint64(e.Parent))
			b.Set(row, 4, uint64(e.Code&0x7f))
			b.Set(row, 5, uint64(e.Code>>8&0xff))
			b.SetText(row, 6, text(e.Comm[:]))
			b.Set(row, 7, uint64(e.Code>>7&1))
		})
		type key struct {
			Comm [commLen]byte
			Kind uint64
		}
		return each(o.maps["ends"], func(k key, n uint64) {
			if k.Kind < numExits {
				byName.addNamed(text(k.Comm[:]), int(k.Kind), n)
			}
		})
	}
	m.clear = list.reset
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sched_process_exit", Blocks: blocks, Restricted: true}}}
	return m
}

func writeExitsnoop(k *kernel, o *object) error {
	var parent, status, start field
	var err error
	find := func(to *field, name string) {
		if err == nil {
			*to, err = k.field("task_struct", name)
		}
	}
	find(&parent, "real_parent")
	find(&status, "exit_code")
	find(&start, "start_time")
	if err != nil {
		return err
	}
	const size = 8 + 4*4 + commLen
	o.events(size)
	o.counts("ends", commLen+8, numExits*maxCommands)
	const at, key = -size, -size - commLen - 8
	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.load(asm.R1, asm.R6, k.pid)
	c.load(asm.R2, asm.R6, k.tgid)
	c.add(asm.JNE.Reg(asm.R1, asm.R2, exit)) // another thread than the first
	c.zero(at, size)
	c.load(asm.R1, asm.R6, k.pid)
	c.add(asm.StoreMem(asm.RFP, at+8, asm.R1, asm.Word), asm.StoreMem(asm.RFP, at+12, asm.R1, asm.Word))
	c.load(asm.R1, asm.R6, parent)
	c.load(asm.R1, asm.R1, k.tgid)
	c.add(asm.StoreMem(asm.RFP, at+16, asm.R1, asm.Word))
	c.load(asm.R1, asm.R6, status)
	c.add(asm.StoreMem(asm.RFP, at+20, asm.R1, asm.Word))
	c.comm(at+24, asm.R6, k)
	c.now()
	c.add(asm.Mov.Reg(asm.R7, asm.R0))
	c.load(asm.R1, asm.R6, start)
	c.add(asm.Sub.Reg(asm.R7, asm.R1))
	c.store(at, asm.R7)
	for i := int16(0); i < commLen; i += 8 {
		c.get(asm.R1, at+24+i)
		c.store(key+i, asm.R1)
	}
	c.event(at, key-8)
	kind := func(n int32, by asm.Register) {
		c.add(asm.Mov.Imm(asm.R1, n))
		c.store(key+commLen, asm.R1)
		c.bump("ends", key, key-8, by)
	}
	kind(exitsAll, asm.R0)
	kind(exitsAge, asm.R7)
	c.add(asm.JGT.Imm(asm.R7, shortLife, exit))
	kind(exitsShort, asm.R0)
	o.on("sched_process_exit", c)
	return nil
}
