package proc

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of statMetrics.
const (
	blockStat = iota
	blockText
)

// Columns of blockStat.
const (
	statParent = iota
	statGroup
	statSession
	statTTY
	statTTYGroup
	statFlags
	statMinFaults
	statChildMinFaults
	statMajFaults
	statChildMajFaults
	statUser
	statSystem
	statChildUser
	statChildSystem
	statPriority
	statNice
	statTimer
	statStart
	statVirtual
	statResident
	statResidentLimit
	statStartCode
	statEndCode
	statStartStack
	statStackPointer
	statInstruction
	statSignal
	statBlocked
	statIgnored
	statCaught
	statWaitChannel
	statSwapped
	statChildSwapped
	statExitSignal
	statProcessor
	statRealTime
	statPolicy
	statBlockDelay
	statGuest
	statChildGuest
	numStat
)

// Columns of blockText.
const (
	textCommand = iota
	textState
	textTTY
	textPolicy
	numText
)

// A statSource reads /proc/PID/stat.
type statSource struct {
	*processes
	source     *column.Source
	stat, text *column.Block
}

func newStatSource(p *processes) *statSource {
	s := &statSource{processes: p}
	var b []*column.Block
	s.source, b = p.each("/proc/PID/stat", statMetrics, column.Layout{Cols: numStat}, column.Layout{Cols: numText})
	s.stat, s.text = b[blockStat], b[blockText]
	s.source.Row = func(row int) { s.parse(s.stat.Insts()[row], row) }
	return s
}

func (s *statSource) family() column.Family {
	return column.Family{Name: "stat", Metrics: s.table(statMetrics), Sources: []*column.Source{s.source}}
}

func (s *statSource) parse(pid int32, row int) {
	b, err := s.file(pid, "stat", true)
	if err != nil {
		return
	}
	command, state, ok := parseStat(b, s.stat.Row(row))
	if !ok {
		return
	}
	cells := s.stat.Row(row)
	s.convert(cells)
	s.text.SetString(row, textCommand, command)
	s.text.SetString(row, textState, state)
	if tty := cells[statTTY]; tty.OK {
		s.text.SetText(row, textTTY, s.ttys.name(uint32(tty.Bits)))
	}
	if policy := cells[statPolicy]; policy.OK {
		s.text.SetText(row, textPolicy, policyName(policy.Bits))
	}
}

// convert converts the numbers of the kernel to the units of the metrics.
func (s *statSource) convert(cells []column.Cell) {
	for _, col := range [...]int{
		statUser, statSystem, statChildUser, statChildSystem, statStart, statBlockDelay, statGuest, statChildGuest,
	} {
		cells[col].Bits = cells[col].Bits * 1000 / s.hz
	}
	cells[statVirtual].Bits /= 1024
	cells[statResidentLimit].Bits /= 1024
	cells[statResident].Bits = cells[statResident].Bits * s.page / 1024
	if int64(cells[statTTYGroup].Bits) < 0 {
		cells[statTTYGroup] = column.Cell{}
	}
	if s.private {
		for col := statStartCode; col <= statInstruction; col++ {
			cells[col] = column.Cell{}
		}
		cells[statWaitChannel] = column.Cell{}
	}
}

// skipThreads is the place of a field of /proc/PID/stat that no metric uses.
const skipThreads = statNice + 1

// parseStat reads "1 (init) S 0 1 ...", and returns the name and the state. The name can
// have any characters. Old kernels have fewer numbers at the end.
func parseStat(b []byte, cells []column.Cell) (command, state []byte, ok bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open || len(b) < end+3 {
		return nil, nil, false
	}
	command, state = b[open+1:end], b[end+2:end+3]
	b = b[end+3:]
	for col, skipped := 0, false; col < numStat; {
		u, rest, ok := procfs.Uint(b)
		if !ok { // negative
			var v int64
			if v, rest, ok = procfs.Int(b); !ok {
				break
			}
			u = uint64(v)
		}
		b = rest
		if col == skipThreads && !skipped {
			skipped = true
			continue
		}
		cells[col] = column.Num(u)
		col++
	}
	return command, state, true
}

// policyName returns the name of a scheduling policy (SCHED_*).
func policyName(policy uint64) string {
	switch policy {
	case 0:
		return "NORMAL"
	case 1:
		return "FIFO"
	case 2:
		return "RR"
	case 3:
		return "BATCH"
	case 5:
		return "IDLE"
	case 6:
		return "DEADLN"
	}
	return "?"
}

// statMetrics are the metrics of /proc/PID/stat.
var statMetrics = []column.Metric{
	{Name: "proc.psinfo.cmd", Cluster: 8, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockText, Col: textCommand, Help: "Name of the command, as the kernel keeps it"},
	{Name: "proc.psinfo.sname", Cluster: 8, Item: 2, Type: pcp.TypeString, Sem: instant, From: blockText, Col: textState, Help: "State: R running, S sleeping, D waiting for a disk, Z zombie, T stopped, I idle"},
	{Name: "proc.psinfo.ppid", Cluster: 8, Item: 3, Type: pcp.TypeU32, Sem: discrete, Col: statParent, Help: "Process identifier of the parent"},
	{Name: "proc.psinfo.pgrp", Cluster: 8, Item: 4, Type: pcp.TypeU32, Sem: discrete, Col: statGroup, Help: "Process group"},
	{Name: "proc.psinfo.session", Cluster: 8, Item: 5, Type: pcp.TypeU32, Sem: discrete, Col: statSession, Help: "Session"},
	{Name: "proc.psinfo.tty", Cluster: 8, Item: 6, Type: pcp.TypeU32, Sem: discrete, Col: statTTY, Help: "Device number of the controlling terminal, 0 for none"},
	{Name: "proc.psinfo.tty_pgrp", Cluster: 8, Item: 7, Type: pcp.TypeU32, Sem: discrete, Col: statTTYGroup, Help: "Process group in the foreground of the terminal"},
	{Name: "proc.psinfo.flags", Cluster: 8, Item: 8, Type: pcp.TypeU32, Sem: discrete, Col: statFlags, Help: "Flags of the kernel (PF_*)"},
	{Name: "proc.psinfo.minflt", Cluster: 8, Item: 9, Type: pcp.TypeU32, Sem: counter, Units: count, Col: statMinFaults, Help: "Page faults that needed no disk"},
	{Name: "proc.psinfo.cmin_flt", Cluster: 8, Item: 10, Type: pcp.TypeU32, Sem: counter, Units: count, Col: statChildMinFaults, Help: "Page faults that needed no disk, of children that were waited for"},
	{Name: "proc.psinfo.maj_flt", Cluster: 8, Item: 11, Type: pcp.TypeU32, Sem: counter, Units: count, Col: statMajFaults, Help: "Page faults that needed a disk"},
	{Name: "proc.psinfo.cmaj_flt", Cluster: 8, Item: 12, Type: pcp.TypeU32, Sem: counter, Units: count, Col: statChildMajFaults, Help: "Page faults that needed a disk, of children that were waited for"},
	{Name: "proc.psinfo.utime", Cluster: 8, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statUser, Help: "Processor time in user mode"},
	{Name: "proc.psinfo.stime", Cluster: 8, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statSystem, Help: "Processor time in the kernel"},
	{Name: "proc.psinfo.cutime", Cluster: 8, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statChildUser, Help: "Processor time in user mode, of children that were waited for"},
	{Name: "proc.psinfo.cstime", Cluster: 8, Item: 16, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statChildSystem, Help: "Processor time in the kernel, of children that were waited for"},
	{Name: "proc.psinfo.priority", Cluster: 8, Item: 17, Type: pcp.Type32, Sem: instant, Col: statPriority, Help: "Priority as the scheduler has it; lower runs first"},
	{Name: "proc.psinfo.nice", Cluster: 8, Item: 18, Type: pcp.Type32, Sem: instant, Col: statNice, Help: "Nice value, from -20, the best, to 19"},
	{Name: "proc.psinfo.it_real_value", Cluster: 8, Item: 20, Type: pcp.TypeU32, Sem: discrete, Col: statTimer, Help: "Time to the next alarm signal; 0 since Linux 2.6.17"},
	{Name: "proc.psinfo.start_time", Cluster: 8, Item: 21, Type: pcp.TypeU64, Sem: discrete, Units: msec, Col: statStart, Help: "When the process began, after the system was booted"},
	{Name: "proc.psinfo.vsize", Cluster: 8, Item: 22, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: statVirtual, Help: "Size of the address space"},
	{Name: "proc.psinfo.rss", Cluster: 8, Item: 23, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: statResident, Help: "Memory that is resident"},
	{Name: "proc.psinfo.rss_rlim", Cluster: 8, Item: 24, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: statResidentLimit, Help: "Limit of resident memory"},
	{Name: "proc.psinfo.start_code", Cluster: 8, Item: 25, Type: pcp.TypeU32, Sem: discrete, Col: statStartCode, Help: "Address at which the program text begins, its low 32 bits"},
	{Name: "proc.psinfo.end_code", Cluster: 8, Item: 26, Type: pcp.TypeU32, Sem: discrete, Col: statEndCode, Help: "Address at which the program text ends, its low 32 bits"},
	{Name: "proc.psinfo.start_stack", Cluster: 8, Item: 27, Type: pcp.TypeU32, Sem: discrete, Col: statStartStack, Help: "Address of the bottom of the stack, its low 32 bits"},
	{Name: "proc.psinfo.esp", Cluster: 8, Item: 28, Type: pcp.TypeU32, Sem: discrete, Col: statStackPointer, Help: "Stack pointer, its low 32 bits; 0 unless the process is exiting"},
	{Name: "proc.psinfo.eip", Cluster: 8, Item: 29, Type: pcp.TypeU32, Sem: discrete, Col: statInstruction, Help: "Instruction pointer, its low 32 bits; 0 unless the process is exiting"},
	{Name: "proc.psinfo.signal", Cluster: 8, Item: 30, Type: pcp.TypeU32, Sem: discrete, Col: statSignal, Help: "Signals that are pending, a bit each; see proc.psinfo.signal_s"},
	{Name: "proc.psinfo.blocked", Cluster: 8, Item: 31, Type: pcp.TypeU32, Sem: discrete, Col: statBlocked, Help: "Signals that are blocked, a bit each; see proc.psinfo.blocked_s"},
	{Name: "proc.psinfo.sigignore", Cluster: 8, Item: 32, Type: pcp.TypeU32, Sem: discrete, Col: statIgnored, Help: "Signals that are ignored, a bit each; see proc.psinfo.sigignore_s"},
	{Name: "proc.psinfo.sigcatch", Cluster: 8, Item: 33, Type: pcp.TypeU32, Sem: discrete, Col: statCaught, Help: "Signals that are caught, a bit each; see proc.psinfo.sigcatch_s"},
	{Name: "proc.psinfo.wchan", Cluster: 8, Item: 34, Type: pcp.TypeU64, Sem: discrete, Col: statWaitChannel, Help: "Whether the process waits in the kernel; an address in old kernels"},
	{Name: "proc.psinfo.nswap", Cluster: 8, Item: 35, Type: pcp.TypeU32, Sem: counter, Units: count, Col: statSwapped, Help: "Pages swapped; 0, as Linux does not count them"},
	{Name: "proc.psinfo.cnswap", Cluster: 8, Item: 36, Type: pcp.TypeU32, Sem: counter, Units: count, Col: statChildSwapped, Help: "Pages swapped of children; 0, as Linux does not count them"},
	{Name: "proc.psinfo.exit_signal", Cluster: 8, Item: 37, Type: pcp.TypeU32, Sem: discrete, Col: statExitSignal, Help: "Signal that the parent gets when the process ends"},
	{Name: "proc.psinfo.processor", Cluster: 8, Item: 38, Type: pcp.TypeU32, Sem: instant, Col: statProcessor, Help: "Processor on which the process ran last"},
	{Name: "proc.psinfo.ttyname", Cluster: 8, Item: 39, Type: pcp.TypeString, Sem: discrete, From: blockText, Col: textTTY, Help: "Name of the controlling terminal, ? for none"},
	{Name: "proc.psinfo.rt_priority", Cluster: 8, Item: 42, Type: pcp.TypeU32, Sem: instant, Col: statRealTime, Help: "Real-time priority, 0 for others"},
	{Name: "proc.psinfo.policy", Cluster: 8, Item: 43, Type: pcp.TypeU32, Sem: instant, Col: statPolicy, Help: "Scheduling policy (SCHED_*); see proc.psinfo.policy_s"},
	{Name: "proc.psinfo.delayacct_blkio_time", Cluster: 8, Item: 44, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statBlockDelay, Help: "Time spent waiting for disks"},
	{Name: "proc.psinfo.guest_time", Cluster: 8, Item: 45, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statGuest, Help: "Processor time of virtual machines that the process runs"},
	{Name: "proc.psinfo.cguest_time", Cluster: 8, Item: 46, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: statChildGuest, Help: "Processor time of virtual machines, of children that were waited for"},
	{Name: "proc.psinfo.policy_s", Cluster: 8, Item: 48, Type: pcp.TypeString, Sem: instant, From: blockText, Col: textPolicy, Help: "Scheduling policy: NORMAL, FIFO, RR, BATCH, IDLE or DEADLN"},
}
