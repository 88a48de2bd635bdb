package sample

import "strings"

// A Task is a process or a thread.
type Task struct {
	PID, TGID, PPID              int32
	RUID, EUID, SUID, FSUID      int32
	RGID, EGID, SGID, FSGID      int32
	Threads                      int32
	Name                         string
	IsProcess                    bool
	State                        byte // 'E' has ended
	ExitCode                     int32
	Started                      int64 // milliseconds after the system
	Elapsed                      int64
	Command                      string
	Running, Sleeping, DiskSleep int32 // threads
	Idle                         int32 // threads, which DiskSleep counts before PCP 7
	EnvID, VPID                  int32
	Inactive                     bool
	Container, CGroup            string

	User, Sys                             Count // milliseconds
	Nice, Prio, RTPrio, Policy, Processor int32
	RunDelay, BlockDelay                  Count // nanoseconds, hundredths of a second
	WaitChannel                           string
	Switches, Preemptions                 Count // of PCP 7

	ReadIO, ReadSectors, WriteIO, WriteSectors, Cancelled Count

	MinorFaults, MajorFaults                Count
	Text, Virtual, Resident, Proportional   Count // kilobytes, as all below; Proportional is -1 if it is not known
	VirtualGrowth, ResidentGrowth           Count
	Data, Stack, Libraries, Swapped, Locked Count

	TCPSent, TCPSentBytes, TCPReceived, TCPReceivedBytes Count
	UDPSent, UDPSentBytes, UDPReceived, UDPReceivedBytes Count

	GPU TaskGPU
}

// TaskGPU has the use of graphics processors by a process.
type TaskGPU struct {
	State          byte // 'A' active, 'E' ended, 0: does not use any
	GPUs           int16
	List           int32 // bits
	Busy, MemBusy  int32 // per cent, -1 if it is not known
	TimeMS         Count
	MemNow, MemSum Count // KiB
	Samples        Count
}

// NewTask is the bit of ExitCode of a task that was not in the sample before.
const NewTask = -1 << 31

// CPU returns the processor time of a task.
func (t *Task) CPU() Count { return t.Sys + t.User }

// NetBytes returns the bytes that a task has sent and received.
func (t *Task) NetBytes() Count {
	return t.TCPSentBytes + t.TCPReceivedBytes + t.UDPSentBytes + t.UDPReceivedBytes
}

// Written returns the sectors that a task has written, without those that it has cancelled.
func (t *Task) Written() Count { return max(t.WriteSectors-t.Cancelled, 0) }

// A taskCount maps a metric, below proc or hotproc, to a field of a task.
type taskCount struct {
	metric string
	field  func(*Task) *Count
	kind   kind
}

// A taskNumber is a taskCount for numbers that C keeps in 32 bits. The counters among them are
// below in taskGrowth.
type taskNumber struct {
	metric string
	field  func(*Task) *int32
}

var taskCounts = []taskCount{
	{"psinfo.minflt", func(t *Task) *Count { return &t.MinorFaults }, counter},
	{"psinfo.maj_flt", func(t *Task) *Count { return &t.MajorFaults }, counter},
	{"psinfo.utime", func(t *Task) *Count { return &t.User }, counter},
	{"psinfo.stime", func(t *Task) *Count { return &t.Sys }, counter},
	{"psinfo.vsize", func(t *Task) *Count { return &t.Virtual }, gauge},
	{"psinfo.rss", func(t *Task) *Count { return &t.Resident }, gauge},
	{"memory.vmdata", func(t *Task) *Count { return &t.Data }, gauge},
	{"memory.vmstack", func(t *Task) *Count { return &t.Stack }, gauge},
	{"memory.vmexe", func(t *Task) *Count { return &t.Text }, gauge},
	{"memory.vmlib", func(t *Task) *Count { return &t.Libraries }, gauge},
	{"memory.vmswap", func(t *Task) *Count { return &t.Swapped }, gauge},
	{"memory.vmlock", func(t *Task) *Count { return &t.Locked }, gauge},
	{"io.read_bytes", func(t *Task) *Count { return &t.ReadSectors }, counter},
	{"io.write_bytes", func(t *Task) *Count { return &t.WriteSectors }, counter},
	{"io.cancelled_write_bytes", func(t *Task) *Count { return &t.Cancelled }, counter},
}

var taskNumbers = []taskNumber{
	{"psinfo.pid", func(t *Task) *int32 { return &t.PID }},
	{"psinfo.ppid", func(t *Task) *int32 { return &t.PPID }},
	{"psinfo.priority", func(t *Task) *int32 { return &t.Prio }},
	{"psinfo.nice", func(t *Task) *int32 { return &t.Nice }},
	{"psinfo.processor", func(t *Task) *int32 { return &t.Processor }},
	{"psinfo.rt_priority", func(t *Task) *int32 { return &t.RTPrio }},
	{"psinfo.policy", func(t *Task) *int32 { return &t.Policy }},
	{"psinfo.threads", func(t *Task) *int32 { return &t.Threads }},
	{"psinfo.tgid", func(t *Task) *int32 { return &t.TGID }},
	{"namespaces.envid", func(t *Task) *int32 { return &t.EnvID }},
	{"namespaces.vpid", func(t *Task) *int32 { return &t.VPID }},
	{"id.uid", func(t *Task) *int32 { return &t.RUID }},
	{"id.euid", func(t *Task) *int32 { return &t.EUID }},
	{"id.suid", func(t *Task) *int32 { return &t.SUID }},
	{"id.fsuid", func(t *Task) *int32 { return &t.FSUID }},
	{"id.gid", func(t *Task) *int32 { return &t.RGID }},
	{"id.egid", func(t *Task) *int32 { return &t.EGID }},
	{"id.sgid", func(t *Task) *int32 { return &t.SGID }},
	{"id.fsgid", func(t *Task) *int32 { return &t.FSGID }},
}

// taskCounts7 are those of PCP 7.
var taskCounts7 = []taskCount{
	{"psinfo.vctxsw", func(t *Task) *Count { return &t.Switches }, counter},
	{"psinfo.nvctxsw", func(t *Task) *Count { return &t.Preemptions }, counter},
}

// taskNet are the counters of an agent that follows the connections of processes. C uses them only if all are
// present. Those of PCP 7 have other names, see netName7.
var taskNet = []taskCount{
	{"bcc.proc.net.tcp.send.calls", func(t *Task) *Count { return &t.TCPSent }, counter},
	{"bcc.proc.net.tcp.send.bytes", func(t *Task) *Count { return &t.TCPSentBytes }, counter},
	{"bcc.proc.net.tcp.recv.calls", func(t *Task) *Count { return &t.TCPReceived }, counter},
	{"bcc.proc.net.tcp.recv.bytes", func(t *Task) *Count { return &t.TCPReceivedBytes }, counter},
	{"bcc.proc.net.udp.send.calls", func(t *Task) *Count { return &t.UDPSent }, counter},
	{"bcc.proc.net.udp.send.bytes", func(t *Task) *Count { return &t.UDPSentBytes }, counter},
	{"bcc.proc.net.udp.recv.calls", func(t *Task) *Count { return &t.UDPReceived }, counter},
	{"bcc.proc.net.udp.recv.bytes", func(t *Task) *Count { return &t.UDPReceivedBytes }, counter},
}

// netName7 returns the name in PCP 7 of a metric of taskNet.
func netName7(name string) string {
	name = strings.Replace(name, "bcc.", "bpf.", 1)
	return strings.Replace(name, ".calls", ".packets", 1)
}
