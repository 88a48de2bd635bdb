package screen

import (
	"regexp"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// An overview prints the lines about the system, and finds which resource is the busiest.
type overview struct {
	*line
	highest uint32
	order   byte
	lines   int
}

// show prints a line.
func (o *overview) show(k kind, label string, badness uint32) {
	o.p.put(k, o.line, label, badness)
	o.lines++
}

// badness returns the use of a resource, in per cent of the critical use, and remembers the resource with the
// highest.
func (o *overview) badness(busy sample.Count, limit int, order byte, counts bool) uint32 {
	badness := uint32(0)
	if limit != 0 {
		badness = uint32(busy * 100 / int64(limit))
	}
	if counts && o.highest < badness {
		o.highest, o.order = badness, order
	}
	return badness
}

// part returns n in per cent of all, converted to an integer as in C if all is 0.
func part(n, all sample.Count) sample.Count {
	return figure.Count(float64(n) * 100.0 / float64(all))
}

// divide returns a/b, 0 where there is no b.
func divide(a, b sample.Count) sample.Count {
	if b == 0 {
		return 0
	}
	return a / b
}

func orOne(n sample.Count) sample.Count {
	if n == 0 {
		return 1
	}
	return n
}

// system prints the lines about the system below the first one.
func (p *Printer) system(x *line, order byte) *overview {
	o := &overview{line: x, order: order}
	o.processors()
	o.graphics()
	o.memory()
	o.nodes()
	o.caches()
	o.paging()
	x.ms = x.total / max(int64(len(x.s.CPUs)), 1)
	o.disks(x.s.Volumes, "LVM", p.Max.Volume, p.Select.Volumes)
	o.disks(x.s.Arrays, "MDD", p.Max.Array, nil)
	o.disks(x.s.Disks, "DSK", p.Max.Disk, p.Select.Disks)
	o.nfs()
	o.network()
	o.web()
	if o.highest < 70 && o.order == ByMemory { // at little load, that of processors is the most interesting
		o.order = ByCPU
	}
	return o
}

func (o *overview) processors() {
	s, p := o.s, o.p
	all := s.CPU.Total()
	badness := o.badness(part(all-s.CPU.Idle-s.CPU.Wait, all), p.Limits.CPU, ByCPU, true)
	o.total = orOne(all)
	o.perCPU = orOne(o.total / max(int64(len(s.CPUs)), 1))
	o.show(cpuLine, "CPU", badness)
	if len(s.CPUs) > 1 {
		shown := 0
		for i := 0; i < len(s.CPUs) && shown < p.Max.CPU; i++ {
			c := &s.CPUs[i]
			o.index, o.perCPU = i, c.Total()
			if o.perCPU == c.Idle+c.Wait && !p.Fixed {
				continue
			}
			badness := o.badness(part(o.perCPU-c.Idle-c.Wait, o.perCPU), p.Limits.CPU, ByCPU, true)
			o.perCPU = orOne(o.perCPU)
			o.show(cpiLine, "cpu", badness)
			shown++
		}
	}
	o.show(cplLine, "CPL", 0)
}

func (o *overview) graphics() {
	shown := 0
	for i := 0; i < len(o.s.GPUs) && shown < o.p.Max.GPU; i++ {
		g := &o.s.GPUs[i]
		busy, used := int32(g.Busy+g.MemBusy), g.MemUsed
		if busy == -2 { // not known
			busy = 0
		}
		if g.Samples == 0 {
			busy = g.BusyNow + g.MemBusyNow
		} else {
			busy, used = int32(int64(busy)/g.Samples), g.MemUsedSum/g.Samples
		}
		badness := uint32(0)
		if o.p.Limits.GPU != 0 {
			badness = uint32(busy * 100 / int32(o.p.Limits.GPU))
		}
		if busy > 0 || used > 512*1024 || o.p.Fixed {
			o.index = i
			o.show(gpuLine, "GPU", badness)
			shown++
		}
	}
}

func (o *overview) memory() {
	m, l := &o.s.Mem, &o.p.Limits
	badness := o.badness(part(m.Total-m.Free-m.Cached-m.Buffers-m.SlabReclaim+m.Shared, m.Total), l.Memory, ByMemory, true)
	o.show(memLine1, "MEM", badness)
	o.show(memLine2, "MEM", badness)
	o.show(swpLine, "SWP", o.badness(part(m.SwapTotal-m.SwapFree, m.SwapTotal), l.Swap, ByMemory, true))
}

func (o *overview) nodes() {
	s, p := o.s, o.p
	if len(s.NodeMem) > 1 {
		for i := 0; i < len(s.NodeMem) && i < p.Max.Node; i++ {
			n := &s.NodeMem[i]
			o.index = i
			o.show(numLine, "NUM", o.badness(part(n.Total-n.Free-n.File-n.SlabReclaim+n.Shared, n.Total), p.Limits.Memory, ByMemory, true))
		}
	}
	if len(s.NodeCPU) <= 1 {
		return
	}
	shown := 0
	for i := 0; i < len(s.NodeCPU) && shown < p.Max.Node; i++ {
		n := &s.NodeCPU[i]
		all := n.Total()
		if all == n.Idle+n.Wait && !p.Fixed {
			continue
		}
		all = orOne(all)
		badness := o.badness(part(all-n.Idle-n.Wait, all), p.Limits.CPU, ByCPU, true)
		o.index, o.perCPU = i, orOne(divide(all, int64(len(s.CPUs)/len(s.NodeCPU))))
		o.show(nucLine, "NUC", badness)
		shown++
	}
}

// caches prints the last level caches.
func (o *overview) caches() {
	shown := 0
	for i := 0; i < len(o.s.Caches) && shown < o.p.Max.Cache; i++ {
		if c := &o.s.Caches[i]; c.Local != 0 || c.Total != 0 || o.p.Fixed {
			o.index = i
			o.show(llcLine, "LLC", 0)
			shown++
		}
	}
}

func (o *overview) paging() {
	m, p := &o.s.Mem, o.p
	if p.Fixed || m.Scans != 0 || m.Steals != 0 || m.AllocStalls != 0 || m.CompactStalls != 0 || m.PageIns != 0 || m.PageOuts != 0 ||
		m.TCPSockets != 0 || m.UDPSockets != 0 || m.SwapIns != 0 || m.SwapOuts != 0 || m.OOMKills > 0 || m.Migrated != 0 || m.NUMAMigrated != 0 {
		busy := min(figure.Count(float64(m.SwapOuts)/o.seconds*float64(p.Limits.SwapOuts)), 100)
		badness := o.badness(busy, p.Limits.Memory, ByMemory, true)
		if m.SwapOuts > 0 && p.Limits.SwapOuts != 0 && p.Limits.Almost != 0 && badness < uint32(p.Limits.Almost) {
			badness = uint32(p.Limits.Almost) // some is almost critical in any case
		}
		o.show(pagLine, "PAG", badness)
	}
	r := &o.s.Pressure
	if !r.Missing { // the wrong way round, as in C
		return
	}
	active := p.Fixed
	for _, s := range [...]*sample.Pressure{&r.CPUSome, &r.MemSome, &r.IOSome} {
		active = active || s.Avg10 != 0 || s.Avg60 != 0 || s.Avg300 != 0
	}
	if active {
		o.show(psiLine, "PSI", uint32(max(r.CPUSome.Avg10, r.CPUSome.Avg60, r.CPUSome.Avg300)))
	}
}

func (o *overview) disks(list []sample.Disk, label string, most int, only *regexp.Regexp) {
	o.line.disks = list
	shown := 0
	for i := 0; i < len(list) && list[i].Name != "" && shown < most; i++ {
		d := &list[i]
		if only != nil && !only.MatchString(d.Name) {
			continue
		}
		o.index, o.transfers = i, d.Reads+d.Writes
		badness := o.badness(part(d.BusyMS, o.ms), o.p.Limits.Disk, ByDisk, o.p.s.DiskIO)
		if o.transfers != 0 || o.p.Fixed {
			o.show(dskLine, label, badness)
			shown++
		}
	}
}

func (o *overview) nfs() {
	s, p := o.s, o.p
	shown := 0
	for i := 0; i < len(s.Mounts) && shown < p.Max.Mount; i++ {
		m := &s.Mounts[i]
		if used(m) != 0 || float64(m.Age) < o.seconds || p.Fixed {
			o.index = i
			o.show(nfmLine, "NFM", 0)
			shown++
		}
	}
	if s.Client.Calls != 0 || p.Fixed {
		o.show(nfcLine, "NFC", 0)
	}
	if s.Server.Calls != 0 || p.Fixed {
		o.show(nfsLine, "NFS", 0)
	}
}

func (o *overview) network() {
	s, p := o.s, o.p
	n := &s.Net
	if n.TCP.InSegs != 0 || n.TCP.OutSegs != 0 || n.UDPv4.InDatagrams != 0 || n.UDPv6.InDatagrams != 0 ||
		n.UDPv4.OutDatagrams != 0 || n.UDPv6.OutDatagrams != 0 || p.Fixed {
		o.show(transportLine, "NET", 0)
	}
	if n.IPv4.InReceives != 0 || n.IPv6.InReceives != 0 || n.IPv4.OutRequests != 0 || n.IPv6.OutRequests != 0 || p.Fixed {
		o.show(networkLine, "NET", 0)
	}
	shown := 0
	for i := 0; i < len(s.Interfaces) && s.Interfaces[i].Name != "" && shown < p.Max.Interface; i++ {
		t := &s.Interfaces[i]
		if t.InPackets == 0 && t.OutPackets == 0 && !p.Fixed || p.Select.Interfaces != nil && !p.Select.Interfaces.MatchString(t.Name) {
			continue
		}
		o.index = i
		busy := sample.Count(0)
		if t.Speed != 0 {
			busy = busyInterface(t, o.kilobits(t.InBytes), o.kilobits(t.OutBytes))
		}
		o.show(interfaceLine, "NET", o.badness(busy, p.Limits.Net, ByNet, p.s.NetIO))
		shown++
	}
	shown = 0
	for i := 0; i < len(s.Ports) && shown < p.Max.Port; i++ {
		if t := &s.Ports[i]; t.InBytes != 0 || t.OutBytes != 0 || p.Fixed {
			o.index = i
			o.show(portLine, "IFB", o.badness(o.busyPort(), p.Limits.Net, ByNet, true))
			shown++
		}
	}
}

func (o *overview) web() {
	w, p := &o.s.Web, o.p
	if w.Requests <= 1 && !p.Fixed {
		return
	}
	b := append(p.tmp[:0], "WWW | reqs  "...)
	value := func(n sample.Count, width, seconds int, behind string) {
		start := len(b)
		b = figure.Value(b, n, width, seconds)
		b = append(b[:min(len(b), start+6)], behind...) // C's buffer has room for 6 bytes
	}
	value(w.Requests, 6, o.div(), " | totKB ")
	value(w.KBytes, 6, o.div(), " | byt/rq ")
	value(divide(w.KBytes*1024, w.Requests), 5, 0, " | iwork ")
	value(int64(int32(w.Idle)), 6, 0, " | bwork ")
	value(int64(int32(w.Busy)), 6, 0, " |")
	p.printBytes(b)
	p.tmp = b
	p.newline()
	o.lines++
}

// used returns the transfers from and to a mount, in bytes and pages.
func used(m *sample.Mount) sample.Count {
	return m.Read + m.Write + m.DirectRead + m.DirectWrite + m.TotalRead + m.TotalWrite + m.MappedRead + m.MappedWrite
}
