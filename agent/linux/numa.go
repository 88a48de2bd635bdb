package linux

import (
	"bytes"
	"math"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A numaReader reads meminfo and numastat of each node in /sys.
type numaReader struct {
	meminfo, numastat []*procfs.File // by index in topology.nodes
	names             []string       // of the nodes that those are for
	keyed, stat       []*procfs.Keyed
	prefix            [][]byte // "Node 0 "
	huge, hugeBytes   [3]int
	bandwidth         bandwidthFile
}

func readNUMA(a *Agent) error {
	r, t := &a.numa, &a.stat.topology
	if !t.surveyed {
		t.survey(a.nodes())
	}
	r.follow(a, t)
	r.bandwidth.read(a, t)
	perNode := a.column(blockNUMA, "=bandwidth")
	out := &a.blocks[blockNUMA]
	out.clear()
	size, haveSize := a.blocks[blockMeminfo].get(0, a.column(blockMeminfo, "Hugepagesize"))
	for i := range t.nodes {
		row := out.row(out.add(int32(i)))
		set := func(col int, v uint64) { row[col] = cell{v, true} }
		// A node may go between the survey and now; it then has no values.
		if b, err := r.meminfo[i].Read(); err == nil {
			r.keyed[i].Parse(b, r.prefix[i], set)
		}
		if b, err := r.numastat[i].Read(); err == nil {
			r.stat[i].Parse(b, nil, set)
		}
		if v := r.bandwidth.of[t.nodes[i].name]; v > 0 {
			set(perNode, doubleBits(v))
		}
		for j, col := range r.huge {
			if row[col].ok && haveSize {
				row[r.hugeBytes[j]] = cell{row[col].bits * size << 10, true}
			}
		}
	}
	return nil
}

// follow opens readers for the nodes of t.
func (r *numaReader) follow(a *Agent, t *topology) {
	same := len(r.names) == len(t.nodes)
	for i := 0; same && i < len(r.names); i++ {
		same = r.names[i] == t.nodes[i].name
	}
	if same {
		return
	}
	for i := range r.names {
		r.meminfo[i].Close()
		r.numastat[i].Close()
	}
	k := a.keys[blockNUMA]
	*r = numaReader{bandwidth: r.bandwidth}
	for i, name := range [...]string{"Total", "Free", "Surp"} {
		r.huge[i], r.hugeBytes[i] = a.column(blockNUMA, "HugePages_"+name), a.column(blockNUMA, "=HugePages_"+name)
	}
	for _, n := range t.nodes {
		r.names = append(r.names, n.name)
		r.meminfo = append(r.meminfo, a.deviceFile(nodeDir+"/"+n.name+"/meminfo"))
		r.numastat = append(r.numastat, a.deviceFile(nodeDir+"/"+n.name+"/numastat"))
		r.keyed = append(r.keyed, procfs.NewKeyed(k))
		r.stat = append(r.stat, procfs.NewKeyed(k))
		r.prefix = append(r.prefix, []byte("Node "+n.name[len("node"):]+" "))
	}
}

// A dirReader reads files of a directory that hold one number each. The keys of
// its block are their names. As in C a file that is not there counts as 0.
type dirReader struct {
	block blockID
	files []*procfs.File
	cols  []int
}

func newDirReader(a *Agent, b blockID, dir string) dirReader {
	r := dirReader{block: b}
	for name, col := range a.keys[b] {
		r.files = append(r.files, a.wholeFile(dir+"/"+name))
		r.cols = append(r.cols, col)
	}
	return r
}

func (r *dirReader) read(a *Agent) error {
	out := &a.blocks[r.block]
	out.clear()
	for i, f := range r.files {
		out.set(0, r.cols[i], number(f, 0))
	}
	return nil
}

// anyValue reports whether there is a value in b.
func anyValue(b *block) bool {
	for _, c := range b.cells {
		if c.ok {
			return true
		}
	}
	return false
}

// readExtfrag sums up, for the zone Normal of each node, a line such as
//
//	Node 0, zone   Normal 0.000 0.001 0.003
//
// with a number for each order of allocation. The file is in debugfs, which is
// mounted on few machines and for root alone: without it there are no values.
func readExtfrag(a *Agent) {
	b, err := a.extfrag.Read()
	if err != nil {
		b = nil
	}
	t := &a.stat.topology
	if !t.surveyed {
		t.survey(a.nodes())
	}
	parseExtfrag(b, t, &a.blocks[blockExtfrag])
}

func parseExtfrag(b []byte, t *topology, out *block) {
	out.clear()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		line, ok = bytes.CutPrefix(line, []byte("Node "))
		if !ok {
			continue
		}
		id, line, ok := procfs.Uint(line)
		line, comma := bytes.CutPrefix(line, []byte(","))
		_, line = procfs.Field(line) // "zone"
		zone, line := procfs.Field(line)
		if !ok || !comma || string(zone) != "Normal" {
			continue
		}
		var sum float32
		n := 0
		for ; ; n++ {
			v, rest, ok := procfs.Float(line)
			if !ok {
				break
			}
			sum, line = sum+float32(v), rest
		}
		for i, node := range t.nodes {
			if n > 0 && uint64(node.id) == id && !hasInst(out, int32(i)) {
				out.set(out.add(int32(i)), 0, uint64(math.Float32bits(sum)))
			}
		}
	}
}

// Columns of blockSwap.
const (
	swapFree = iota
	swapLength
	swapMax
	swapVirtual
	swapPriority
	numSwap
)

type swapReader struct {
	file  *procfs.File
	names registry
}

func readSwaps(a *Agent) error {
	b, err := a.swaps.file.Read()
	if err != nil {
		return err
	}
	a.swaps.parse(b, &a.blocks[blockSwap])
	return nil
}

// parse reads /proc/swaps, of which a line is "/dev/sda2 partition 2097148 0 -2".
func (r *swapReader) parse(b []byte, out *block) {
	out.clear()
	r.names.begin()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		name, line := procfs.Field(line)
		if len(name) == 0 || name[0] != '/' {
			continue
		}
		_, line = procfs.Field(line) // partition or file
		size, line, ok1 := procfs.Uint(line)
		used, line, ok2 := procfs.Uint(line)
		prio, _, ok3 := procfs.Int(line)
		if !ok1 || !ok2 || !ok3 {
			continue
		}
		inst, kept := r.names.id(name)
		if !r.names.first(inst) {
			continue
		}
		row := out.addNamed(inst, kept)
		out.set(row, swapFree, atLeast0(size, used))
		out.set(row, swapLength, size)
		out.set(row, swapMax, size)
		out.set(row, swapVirtual, 0)
		out.set(row, swapPriority, uint64(prio))
	}
}
