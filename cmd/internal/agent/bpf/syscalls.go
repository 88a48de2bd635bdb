package bpf

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp/pmda/column"
)

// Classes of system calls.
const (
	classOther = iota
	classRead
	classWrite
	classSync
	classFile
	classNetwork
	classWait
	classLock
	classMemory
	classProcess
	classSleep
	numClasses

	maxSyscall = 1024 // numbers of system calls are below
)

// syscalls measures how long system calls take, by class.
func syscalls(cfg Config) *module {
	m := &module{name: "syscount", write: writeSyscalls}
	metric := counters("bpf.syscall.", clusterSyscalls)
	metrics := []column.Metric{
		metric(0, 0, kindCount, "count", count(), "Number of system calls, by class", "A call counts when it ends."),
		metric(1, 0, kindTime, "time", nanoseconds(), "Time that system calls took, by class", "The sum over all threads. It includes the time for which a call waits."),
		metric(2, 0, kindExtra, "errors", count(), "Number of system calls that failed, by class", "Calls that returned an error, as for a file that does not exist."),
		metric(3, 1, 0, "latency", count(), "Number of system calls, by class and range of nanoseconds that they took", "As bpf.syscall.count."),
	}
	names := [numClasses]string{
		classOther: "other", classRead: "read", classWrite: "write", classSync: "sync", classFile: "file", classNetwork: "network",
		classWait: "wait", classLock: "lock", classMemory: "memory", classProcess: "process", classSleep: "sleep",
	}
	for class, name := range names {
		metrics = append(metrics, metric(
			10+class, 2, class, "cgroup."+name+".latency", count(), "Number of system calls of a control group, of the class "+name+", by range of nanoseconds that they took",
			"As bpf.syscall.latency, for one class and each control group. If there are more than 16384 counts, those that were used longest ago begin again.",
		))
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: numKindColumns, Lists: true, InDom: &column.InDom{
			Serial: own(clusterSyscalls), Help: "Classes of system calls",
			Long: "read, write: of files and sockets, as read(2) and writev(2); sync: as fsync(2); file: names and states of files, as open(2) and stat(2); network: as connect(2) and sendto(2); wait: for descriptors, as epoll_wait(2); lock: futex(2); memory: as mmap(2); process: as clone(2), execve(2) and wait4(2); sleep: as nanosleep(2); other: all others.",
		}},
		column.Layout{Cols: 1, Lists: true, InDom: &column.InDom{Serial: own(clusterSyscalls) + 200, Help: "Classes of system calls, with ranges of nanoseconds", Long: "A class and a range, as in read::1024-2047."}},
		column.Layout{Cols: numClasses, Lists: true, InDom: groupInDom(own(clusterSyscalls)+400, "nanoseconds")},
	)
	m.read = readKinds(cfg.HostRoot, names[:], blocks)
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sys_enter and sys_exit", Blocks: blocks}}}
	return m
}

func writeSyscalls(k *kernel, o *object) error {
	classes := syscallClasses()
	if classes == nil {
		return errors.New("the numbers of system calls of this architecture are not known")
	}
	var contents []ebpf.MapKV
	for class, list := range classes {
		for _, number := range list {
			contents = append(contents, ebpf.MapKV{Key: uint32(number), Value: uint32(class)})
		}
	}
	o.table(&ebpf.MapSpec{Name: "classes", Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: maxSyscall, Contents: contents})
	o.table(&ebpf.MapSpec{Name: "start", Type: ebpf.LRUHash, KeySize: 8, ValueSize: 16, MaxEntries: maxTasks})
	o.tallies(numClasses)
	o.groupCounts()

	c := new(code)
	c.arg(asm.R6, asm.R1, 1)
	c.add(asm.FnGetCurrentPidTgid.Call())
	c.store(-8, asm.R0)
	c.now()
	c.store(-24, asm.R0)
	c.store(-16, asm.R6)
	c.update("start", -8, -24, updateAny)
	o.on("sys_enter", c)

	c = new(code)
	c.arg(asm.R8, asm.R1, 1) // the result
	c.add(asm.FnGetCurrentPidTgid.Call())
	c.store(-8, asm.R0)
	c.now()
	c.add(asm.Mov.Reg(asm.R9, asm.R0))
	c.since("start", -8)
	c.add(asm.LoadMem(asm.R7, asm.R0, 8, asm.DWord))
	known := c.label()
	c.add(asm.StoreMem(asm.RFP, -12, asm.R7, asm.Word))
	c.lookup("classes", -12)
	c.add(asm.Mov.Imm(asm.R1, classOther), asm.JEq.Imm(asm.R0, 0, known), asm.LoadMem(asm.R1, asm.R0, 0, asm.Word))
	c.mark(known)
	c.add(asm.StoreMem(asm.RFP, -12, asm.R1, asm.Word), asm.LSh.Imm(asm.R1, 8))
	c.store(-24, asm.R1)
	c.lookup("hist", -12)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.Mov.Reg(asm.R6, asm.R0))
	fine := c.label()
	c.add(asm.JSGE.Imm(asm.R8, 0, fine))
	c.add(asm.LoadMem(asm.R1, asm.R6, 8*extraSlot, asm.DWord), asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R6, 8*extraSlot, asm.R1, asm.DWord))
	c.mark(fine)
	c.tally(asm.R6, asm.R9, asm.R7)
	c.get(asm.R1, -24)
	c.add(asm.Or.Reg(asm.R7, asm.R1))
	c.ownGroup(k)
	c.countGroup(-40, asm.R7)
	o.on("sys_exit", c)
	return nil
}
