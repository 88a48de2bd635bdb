package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
)

// Columns of the processor times in milliseconds, of blockStat, blockCPU and blockNodeCPU.
const (
	cpuUser = iota
	cpuNice
	cpuSys
	cpuIdle
	cpuWait
	cpuIntr
	cpuSoft
	cpuHard
	cpuSteal
	cpuGuest
	cpuGuestNice
	cpuVuser
	cpuVnice
	numCPUTimes
)

// Columns of blockStat after the processor times.
const (
	statIntr = numCPUTimes + iota
	statCtxt
	statForks
	statRunning
	statBlocked
	statBoottime
	statNCPU
	statNNode
	numStat
)

// waitSlop is by how much a wait time may go back before it is believed: the
// kernel says that it may decrease a little (proc(5)), which a counter must not.
const waitSlop = 100

// maxCPU bounds processor and node numbers found in files.
const maxCPU = 1 << 16

// cpuTicks are the times of one cpu line of /proc/stat, in its order.
type cpuTicks struct {
	user, nice, sys, idle, wait, hard, soft, steal, guest, guestNice uint64
}

// parseCPUTicks reads the numbers after "cpu" or "cpuN". Older kernels have
// fewer; the missing ones are 0. Without any, ok is false.
func parseCPUTicks(b []byte) (t cpuTicks, ok bool) {
	for i, p := range [...]*uint64{&t.user, &t.nice, &t.sys, &t.idle, &t.wait, &t.hard, &t.soft, &t.steal, &t.guest, &t.guestNice} {
		v, rest, have := procfs.Uint(b)
		if !have {
			return t, i > 0
		}
		*p, b = v, rest
	}
	return t, true
}

func (t *cpuTicks) add(u *cpuTicks) {
	t.user += u.user
	t.nice += u.nice
	t.sys += u.sys
	t.idle += u.idle
	t.wait += u.wait
	t.hard += u.hard
	t.soft += u.soft
	t.steal += u.steal
	t.guest += u.guest
	t.guestNice += u.guestNice
}

// steadyWait keeps the wait time from going back a little.
func (t *cpuTicks) steadyWait(prev *uint64) {
	if t.wait < *prev && *prev-t.wait < waitSlop {
		t.wait = *prev
	}
	*prev = t.wait
}

// putTimes stores t in milliseconds. mult is 1000/HZ, or 0 where that is not whole.
func putTimes(row []cell, t *cpuTicks, hz, mult uint64) {
	ms := func(col int, ticks uint64) {
		switch {
		case mult != 0:
			ticks *= mult
		case ticks < 1<<53:
			ticks = ticks * 1000 / hz
		default:
			ticks = uint64(1000 * float64(ticks) / float64(hz))
		}
		row[col] = cell{ticks, true}
	}
	ms(cpuUser, t.user)
	ms(cpuNice, t.nice)
	ms(cpuSys, t.sys)
	ms(cpuIdle, t.idle)
	ms(cpuWait, t.wait)
	ms(cpuIntr, t.hard+t.soft)
	ms(cpuSoft, t.soft)
	ms(cpuHard, t.hard)
	ms(cpuSteal, t.steal)
	ms(cpuGuest, t.guest)
	ms(cpuGuestNice, t.guestNice)
	ms(cpuVuser, atLeast0(t.user, t.guest))
	ms(cpuVnice, atLeast0(t.nice, t.guestNice))
}

// A statReader reads /proc/stat. It is the authority on which processors are
// online, and sums them up by node.
type statReader struct {
	file     *procfs.File
	all      uint64   // the last wait time of all processors together
	prevWait []uint64 // and of each, by number
	names    []string // "cpu0", ...
	pass     uint64
	seen     []uint64 // by number: the pass that found it last

	topology
	sums []cpuTicks // by node
}

// A topology says which processors belong to which NUMA node.
type topology struct {
	nodes    []node
	nodeOf   []int32 // by processor number: index in nodes, -1 if in none
	oneNode  bool    // the kernel has no NUMA support: all is in node0
	surveyed bool
}

type node struct {
	id   int // the number in its name; its instance is its place in nodes
	name string
}

// survey reads the directories of the nodes.
func (t *topology) survey(dir string) {
	t.surveyed, t.oneNode = true, false
	t.nodes, t.nodeOf = t.nodes[:0], t.nodeOf[:0]
	for _, id := range numbered(dir, "node") {
		name := "node" + strconv.Itoa(id)
		for _, cpu := range numbered(dir+"/"+name, "cpu") {
			for len(t.nodeOf) <= cpu {
				t.nodeOf = append(t.nodeOf, -1)
			}
			t.nodeOf[cpu] = int32(len(t.nodes))
		}
		t.nodes = append(t.nodes, node{id, name})
	}
	if len(t.nodes) == 0 {
		t.oneNode = true
		t.nodes = append(t.nodes, node{0, "node0"})
	}
}

// nodes returns the directory of the nodes, "" if all is to be in one.
func (a *Agent) nodes() string {
	if a.cfg.OneNode {
		return ""
	}
	return a.path(nodeDir)
}

// node returns the index of the node of a processor, -1 if it is in none.
func (t *topology) node(cpu int) int {
	switch {
	case t.oneNode:
		return 0
	case cpu < len(t.nodeOf):
		return int(t.nodeOf[cpu])
	}
	return -1
}

func readStat(a *Agent) error {
	r := &a.stat
	b, err := r.file.Read()
	if err != nil {
		return err
	}
	if !r.surveyed {
		r.survey(a.nodes())
	}
	a.parseStat(b)
	return nil
}

// parseStat fills blockStat, blockCPU and blockNodeCPU from /proc/stat.
func (a *Agent) parseStat(b []byte) {
	r := &a.stat
	stat, cpus := &a.blocks[blockStat], &a.blocks[blockCPU]
	stat.clear()
	cpus.clear()
	mult := uint64(0)
	if 1000%a.hz == 0 {
		mult = 1000 / a.hz
	}
	for len(r.sums) < len(r.nodes) {
		r.sums = append(r.sums, cpuTicks{})
	}
	clear(r.sums)
	r.pass++
	var all cpuTicks
	haveAll, resurvey := false, false
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			break
		}
		b = rest
		if len(line) < 4 {
			continue
		}
		if line[0] == 'c' && line[1] == 'p' && line[2] == 'u' {
			if line[3] == ' ' {
				if all, ok = parseCPUTicks(line[3:]); ok {
					haveAll = true
					all.steadyWait(&r.all)
					putTimes(stat.cells, &all, a.hz, mult)
				}
				continue
			}
			n, rest, ok := procfs.Uint(line[3:])
			if !ok || n >= maxCPU {
				continue
			}
			t, ok := parseCPUTicks(rest)
			if !ok {
				continue
			}
			cpu := int(n)
			r.grow(cpu)
			if r.seen[cpu] == r.pass {
				continue
			}
			r.seen[cpu] = r.pass
			node := r.node(cpu)
			if node < 0 {
				// As in C there are the processors that are in a node.
				resurvey = true
				continue
			}
			t.steadyWait(&r.prevWait[cpu])
			putTimes(cpus.row(cpus.addNamed(int32(cpu), r.names[cpu])), &t, a.hz, mult)
			r.sums[node].add(&t)
			continue
		}
		key, rest := procfs.Field(line)
		col := -1
		switch string(key) {
		case "intr":
			col = statIntr
		case "ctxt":
			col = statCtxt
		case "btime":
			col = statBoottime
		case "processes":
			col = statForks
		case "procs_running":
			col = statRunning
		case "procs_blocked":
			col = statBlocked
		}
		if col >= 0 {
			if v, _, ok := procfs.Uint(rest); ok {
				stat.set(0, col, v)
			}
		}
	}
	if cpus.rows() == 0 && haveAll {
		// A kernel without SMP has the one line only.
		r.grow(0)
		putTimes(cpus.row(cpus.addNamed(0, r.names[0])), &all, a.hz, mult)
		r.sums[0] = all
	}
	nodes := &a.blocks[blockNodeCPU]
	nodes.clear()
	for i := range r.nodes {
		putTimes(nodes.row(nodes.addNamed(int32(i), r.nodes[i].name)), &r.sums[i], a.hz, mult)
	}
	stat.set(0, statNCPU, uint64(cpus.rows()))
	stat.set(0, statNNode, uint64(len(r.nodes)))
	if resurvey {
		r.surveyed = false // a processor was plugged in: look again next time
	}
}

// grow makes room for the processor numbered cpu.
func (r *statReader) grow(cpu int) {
	for len(r.names) <= cpu {
		r.names = append(r.names, "cpu"+strconv.Itoa(len(r.names)))
		r.prevWait = append(r.prevWait, 0)
		r.seen = append(r.seen, 0)
	}
}

func readLoadavg(a *Agent) error {
	b, err := a.loadavg.Read()
	if err != nil {
		return err
	}
	parseLoadavg(b, &a.blocks[blockLoad], &a.blocks[blockLoadInfo])
	return nil
}

// Columns of blockLoadInfo.
const (
	loadLastPID = iota
	loadRunnable
	loadProcs
	numLoadInfo
)

// parseLoadavg reads "0.00 0.01 0.05 1/100 7766" of /proc/loadavg: averages
// over 1, 5 and 15 minutes, runnable/all tasks, the last process id given.
func parseLoadavg(b []byte, load, info *block) {
	load.clear()
	info.clear()
	for _, m := range [...]struct {
		inst int32
		name string
	}{{1, "1 minute"}, {5, "5 minute"}, {15, "15 minute"}} {
		v, rest, ok := procfs.Float(b)
		row := load.addNamed(m.inst, m.name)
		if !ok {
			continue
		}
		load.set(row, 0, floatBits(v))
		b = rest
	}
	if v, rest, ok := procfs.Uint(b); ok {
		info.set(0, loadRunnable, v)
		if b = rest; len(b) > 0 && b[0] == '/' {
			if v, b, ok = procfs.Uint(b[1:]); ok {
				info.set(0, loadProcs, v)
				if v, _, ok = procfs.Uint(b); ok {
					info.set(0, loadLastPID, v)
				}
			}
		}
	}
}

func readUptime(a *Agent) error {
	b, err := a.uptime.Read()
	if err != nil {
		return err
	}
	out := &a.blocks[blockUptime]
	out.clear()
	for col := range 2 {
		v, rest, ok := procfs.Float(b)
		if !ok {
			break
		}
		out.set(0, col, doubleBits(v))
		b = rest
	}
	return nil
}

// numbered returns N of the names prefixN in a directory, ascending.
func numbered(dir, prefix string) []int {
	var ns []int
	for _, name := range procfs.Names(dir) {
		digits, ok := bytes.CutPrefix([]byte(name), []byte(prefix))
		if !ok {
			continue
		}
		if n, rest, ok := procfs.Uint(digits); ok && len(rest) == 0 && n < maxCPU {
			ns = append(ns, int(n))
		}
	}
	sortInts(ns)
	return ns
}
