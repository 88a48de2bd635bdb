package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A zoneReader reads /proc/zoneinfo. Its instances are the zones of each node
// that have pages, "DMA::node0", and the nodes, "node0", which the counters
// belong to that newer kernels keep by node.
type zoneReader struct {
	file    *procfs.File
	cols    map[string]int
	present int
	zones   registry
	prots   registry
	key     []byte

	cells  []cell      // of the zone being read
	labels []zoneLabel // of zones, by instance
	prot   []zoneLabel // of the protections, by instance
}

type zoneLabel struct {
	node, lowmem int
	zone         string // "" for a node
}

func newZoneReader(a *Agent) zoneReader {
	k := a.keys[blockZone]
	r := zoneReader{file: a.file("proc/zoneinfo"), cols: make(map[string]int), present: a.column(blockZone, "present")}
	for key, col := range k {
		r.cols[key] = col
	}
	// Older kernels call it so.
	r.cols["node_scanned"] = a.column(blockZone, "scanned")
	return r
}

func readZoneinfo(a *Agent) error {
	b, err := a.zones.file.Read()
	if err != nil {
		return err
	}
	a.zones.parse(b, a.page>>10, &a.blocks[blockZone], &a.blocks[blockZoneProt])
	return nil
}

// parse fills a block of zones and nodes and one of protections; kb is the
// size of a page in Kbytes.
func (r *zoneReader) parse(b []byte, kb uint64, zones, prots *block) {
	zones.clear()
	prots.clear()
	r.zones.begin()
	r.prots.begin()
	if len(r.cells) < zones.cols {
		r.cells = make([]cell, zones.cols)
	}
	node, zone, inZone, nodeRow := 0, []byte(nil), false, -1
	finish := func() {
		if zone == nil {
			return
		}
		inst, name := r.zones.id(r.name(zone, node))
		r.label(&r.labels, inst, zoneLabel{node: node}, zone)
		// A zone without pages is hidden; it keeps its number.
		if c := r.cells[r.present]; r.zones.first(inst) && (!c.ok || c.bits != 0) {
			copy(zones.row(zones.addNamed(inst, name)), r.cells)
		}
		zone = nil
	}
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			finish()
			return
		}
		b = rest
		if bytes.HasPrefix(line, []byte("Node ")) {
			finish()
			n, rest, ok := procfs.Uint(line[len("Node "):])
			if word, rest := procfs.Field(bytes.TrimPrefix(rest, []byte(","))); !ok || n >= maxCPU || string(word) != "zone" {
				continue
			} else if zone, _ = procfs.Field(rest); len(zone) == 0 {
				zone = nil
				continue
			}
			node, inZone, nodeRow = int(n), true, -1
			clear(r.cells)
			continue
		}
		if zone == nil {
			continue
		}
		key, rest := procfs.Field(line)
		switch string(key) {
		case "per-node":
			r.key = strconv.AppendInt(append(r.key[:0], "node"...), int64(node), 10)
			inst, name := r.zones.id(r.key)
			r.label(&r.labels, inst, zoneLabel{node: node}, nil)
			nodeRow, inZone = -1, false
			if r.zones.first(inst) {
				nodeRow = zones.addNamed(inst, name)
			}
			continue
		case "pages":
			inZone = true
			key, rest = procfs.Field(rest)
		case "protection:":
			r.protection(rest, node, zone, kb, prots)
			continue
		case "pagesets":
			// What follows is by processor, and repeats keys.
		}
		col, ok := r.cols[string(key)]
		if !ok {
			continue
		}
		v, _, ok := procfs.Uint(rest)
		if !ok {
			continue
		}
		if inZone {
			r.cells[col] = cell{v * kb, true}
		} else if nodeRow >= 0 {
			zones.set(nodeRow, col, v*kb)
		}
	}
}

// protection reads "(0, 3019, 4427)": pages kept from allocations that could
// also use higher zones.
func (r *zoneReader) protection(b []byte, node int, zone []byte, kb uint64, prots *block) {
	b = bytes.TrimPrefix(procfs.Skip(b), []byte("("))
	for i := 0; i < 64; i++ {
		v, rest, ok := procfs.Uint(b)
		if !ok {
			return
		}
		r.name(zone, node)
		r.key = strconv.AppendInt(append(r.key, "::lowmem_reserved"...), int64(i), 10)
		inst, name := r.prots.id(r.key)
		r.label(&r.prot, inst, zoneLabel{node: node, lowmem: i}, zone)
		if r.prots.first(inst) {
			prots.set(prots.addNamed(inst, name), 0, v*kb)
		}
		b = bytes.TrimPrefix(rest, []byte(","))
	}
}

func (r *zoneReader) name(zone []byte, node int) []byte {
	r.key = append(append(r.key[:0], zone...), "::node"...)
	r.key = strconv.AppendInt(r.key, int64(node), 10)
	return r.key
}

// label notes what the labels of a new instance are made of.
func (r *zoneReader) label(labels *[]zoneLabel, inst int32, l zoneLabel, zone []byte) {
	if int(inst) < len(*labels) {
		return
	}
	l.zone = string(zone)
	*labels = append(*labels, l)
}

// A buddyReader reads /proc/buddyinfo: free blocks of 2^order pages, by zone.
type buddyReader struct {
	file   *procfs.File
	names  registry
	key    []byte
	labels []zoneLabel // by instance; lowmem is the order
}

// Columns of blockBuddy.
const (
	buddyPages = iota
	buddyTotal
	numBuddy
)

func readBuddyinfo(a *Agent) error {
	b, err := a.buddy.file.Read()
	if err != nil {
		return err
	}
	a.buddy.parse(b, a.page>>10, &a.blocks[blockBuddy])
	return nil
}

// parse reads lines "Node 0, zone   Normal   626  242 ...".
func (r *buddyReader) parse(b []byte, kb uint64, out *block) {
	out.clear()
	r.names.begin()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		if !bytes.HasPrefix(line, []byte("Node ")) {
			continue
		}
		node, line, ok := procfs.Uint(line[len("Node "):])
		word, line := procfs.Field(bytes.TrimPrefix(line, []byte(",")))
		zone, line := procfs.Field(line)
		if !ok || node >= maxCPU || string(word) != "zone" || len(zone) == 0 {
			continue
		}
		for order := 0; order < 64; order++ {
			v, rest, ok := procfs.Uint(line)
			if !ok {
				break
			}
			line = rest
			r.key = append(append(r.key[:0], zone...), "::order"...)
			r.key = append(strconv.AppendInt(r.key, int64(order), 10), "::node"...)
			inst, name := r.names.id(strconv.AppendUint(r.key, node, 10))
			if int(inst) >= len(r.labels) {
				r.labels = append(r.labels, zoneLabel{int(node), order, string(zone)})
			}
			if !r.names.first(inst) {
				continue
			}
			row := out.addNamed(inst, name)
			out.set(row, buddyPages, v)
			out.set(row, buddyTotal, v*kb<<order)
		}
	}
}
