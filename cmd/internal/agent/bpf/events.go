package bpf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// maxQueued is how many events wait for the agent to read them.
const maxQueued = 256

// maxCommands is how many names of commands have counts.
const maxCommands = 4096

// An eventList keeps the last events of a module. Instance 0 is the newest one.
type eventList[E any] struct {
	most  int
	last  []E    // the newest one is the last
	read  uint64 // from the queue, since the module started
	block *column.Block
	lost  *column.Block
}

// events adds a queue of events and the count of all events.
func (o *object) events(size uint32) {
	o.table(&ebpf.MapSpec{Name: "events", Type: ebpf.Queue, ValueSize: size, MaxEntries: maxQueued})
	o.table(&ebpf.MapSpec{Name: "total", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
}

// event appends the event at the address on the stack to the queue, and counts it. The 8 bytes at spare and those before it are overwritten.
func (c *code) event(at, spare int16) {
	c.push("events", at)
	c.add(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, spare, asm.R1, asm.DWord))
	c.bump("total", spare, spare-8, asm.R0)
}

// fetch reads the queue, and returns the numbers of all events and of those that were lost.
func (l *eventList[E]) fetch(o *object) (total, lost uint64, err error) {
	l.block.Clear()
	for i := range l.most {
		l.block.AddNamed(int32(i), fmt.Sprint(i))
	}
	l.lost.Clear()
	if o == nil {
		return 0, 0, nil
	}
	if err := o.maps["total"].Lookup(uint32(0), &total); err != nil {
		return 0, 0, err
	}
	for {
		var e E
		if err := o.maps["events"].LookupAndDelete(nil, &e); errors.Is(err, ebpf.ErrKeyNotExist) {
			break
		} else if err != nil {
			return total, 0, err
		}
		l.read++
		if l.last = append(l.last, e); len(l.last) > l.most {
			l.last = l.last[1:]
		}
	}
	total = max(total, l.read)
	return total, total - l.read, nil
}

// newest calls fn for the events, with their rows.
func (l *eventList[E]) newest(fn func(row int, e *E)) {
	for i := range l.last {
		fn(len(l.last)-1-i, &l.last[i])
	}
}

// reset forgets the events.
func (l *eventList[E]) reset() { l.last, l.read = nil, 0 }

// lastEvents returns the instance domain of the last events of a module.
func lastEvents(serial int, of string) *column.InDom {
	return &column.InDom{Serial: serial, Help: "The last " + of, Long: "0 is the newest one. process_count in bpf.conf sets how many there are."}
}

// text returns a name that the kernel ended with a zero.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// An oomEvent is what the program of oomkill notes.
type oomEvent struct {
	TriggerPID, VictimPID uint32
	Group                 uint64
	Trigger, Victim       [commLen]byte
}

// oomkill lists the processes that the kernel killed for lack of memory.
func oomkill(cfg Config) *module {
	m := &module{name: "oomkill", on: true, write: writeOOMKill}
	row := func(item int, name string, t pcp.Type, sem pcp.Sem, help, long string) column.Metric {
		return column.Metric{Name: "bpf.oomkill." + name, Cluster: clusterOomkill, Item: item, Type: t, Sem: sem, Col: item, Help: help, Long: long}
	}
	const items = 7
	pages := row(4, "pages", pcp.TypeU64, pcp.SemInstant, "Pages that were requested", "Not supported: the tracepoint does not have the number.")
	pages.Err = pcp.ErrAppVersion
	lost := row(5, "lost", pcp.TypeU32, pcp.SemCounter, "Number of events that were lost", "Events are lost if more than 256 happen between two fetches.")
	lost.Units, lost.From, lost.Col = count(), 1, 0
	kills := column.Metric{
		Name: "bpf.oomkill.kills", Cluster: own(clusterOomkill), Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count(), From: 1, Col: 1,
		Help: "Number of processes that the kernel has killed for lack of memory", Long: "Of the host and of control groups, since the module was switched on.",
	}
	group := row(0, "cgroup", pcp.TypeString, pcp.SemInstant, "Control group of the process that was killed", "The path of the group, or cgroup- and its number if it has gone.")
	group.Cluster, group.Item, group.Col = own(clusterOomkill), 1, 6
	metrics := []column.Metric{
		row(0, "fpid", pcp.TypeU32, pcp.SemDiscrete, "Number of the process that needed the memory", "The process whose request for memory made the kernel kill a process."),
		row(1, "fcomm", pcp.TypeString, pcp.SemInstant, "Name of the process that needed the memory", "The process whose request for memory made the kernel kill a process."),
		row(2, "tpid", pcp.TypeU32, pcp.SemDiscrete, "Number of the process that was killed", "The victim that the kernel chose."),
		row(3, "tcomm", pcp.TypeString, pcp.SemInstant, "Name of the process that was killed", "The victim that the kernel chose."),
		pages, lost, kills, group,
	}
	blocks := column.NewBlocks(metrics, column.Layout{Cols: items, Lists: true, InDom: lastEvents(clusterOomkill, "processes killed for lack of memory")}, column.Layout{Cols: 2})
	list := &eventList[oomEvent]{most: cfg.Settings.processes(m.name), block: blocks[0], lost: blocks[1]}
	dir, _ := groupDir(cfg.HostRoot)
	names := &groups{dir: dir}
	m.read = func(o *object) error {
		total, missing, err := list.fetch(o)
		if o == nil || err != nil {
			return err
		}
		list.lost.Set(0, 0, missing)
		list.lost.Set(0, 1, total)
		list.newest(func(row int, e *oomEvent) {
			b := list.block
			b.Set(row, 0, uint64(e.TriggerPID))
			b.SetText(row, 1, text(e.Trigger[:]))
			b.Set(row, 2, uint64(e.VictimPID))
			b.SetText(row, 3, text(e.Victim[:]))
			b.SetText(row, 6, names.name(e.Group))
		})
		return nil
	}
	m.clear = list.reset
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at mark_victim", Blocks: blocks, Restricted: true}}}
	return m
}

func writeOOMKill(k *kernel, o *object) error {
	if !k.isPointer("mark_victim", 0) {
		return errors.New("the kernel's tracepoint mark_victim does not have the process (it does from 6.9 on)")
	}
	o.events(48)
	const at = -64 // of the event
	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.zero(at, 48)
	c.add(asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32), asm.StoreMem(asm.RFP, at, asm.R0, asm.Word))
	c.load(asm.R1, asm.R6, k.tgid)
	c.add(asm.StoreMem(asm.RFP, at+4, asm.R1, asm.Word))
	c.group(asm.R1, asm.R6, k)
	c.store(at+8, asm.R1)
	c.address(asm.R1, at+16)
	c.add(asm.Mov.Imm(asm.R2, commLen), asm.FnGetCurrentComm.Call())
	c.comm(at+32, asm.R6, k)
	c.event(at, -72)
	o.on("mark_victim", c)
	return nil
}
