package parseable

import (
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// scale returns a frequency and its share of the highest one.
func scale(highest, sum, ticks sample.Count) (freq sample.Count, share int32) {
	switch {
	case highest != 0 && ticks != 0:
		freq = sum / ticks
		return freq, int32(100 * freq / highest)
	case highest != 0:
		return sum, int32(100 * sum / highest)
	}
	return sum, 100
}

func (p *Printer) times(c *sample.CPU) {
	p.counts(c.Sys, c.User, c.Nice, c.Idle, c.Wait, c.IRQ, c.SoftIRQ, c.Steal, c.Guest)
}

func (p *Printer) allCPU(in *Input) {
	s := in.System
	var sum, ticks sample.Count
	for i := range s.CPUs {
		sum, ticks = sum+s.CPUs[i].Freq, ticks+s.CPUs[i].FreqTicks
	}
	if s.CPU.Instr == 1 {
		s.CPU.Instr, s.CPU.Cycles = 0, 0
	}
	freq, share := scale(s.CPUs[0].FreqMax, sum, ticks)
	p.begin()
	p.counts(int64(p.Host.Hertz), int64(len(s.CPUs)))
	p.times(&s.CPU)
	p.counts(freq, int64(share), s.CPU.Instr, s.CPU.Cycles)
	p.end()
}

func (p *Printer) eachCPU(in *Input) {
	s := in.System
	for i := range s.CPUs {
		c := &s.CPUs[i]
		freq, share := scale(s.CPUs[0].FreqMax, c.Freq, c.FreqTicks)
		p.begin()
		p.counts(int64(p.Host.Hertz), int64(i))
		p.times(c)
		p.counts(freq, int64(share), c.Instr, c.Cycles)
		p.end()
	}
}

func (p *Printer) load(in *Input) {
	s := in.System
	p.begin()
	p.counts(int64(len(s.CPUs)))
	for _, f := range [...]float32{s.Load1, s.Load5, s.Load15} {
		p.float(2, float64(f))
	}
	p.counts(s.Switches, s.Interrupts)
	p.end()
}

func (p *Printer) gpu(in *Input) {
	for i := range in.System.GPUs {
		g := &in.System.GPUs[i]
		p.begin()
		p.numbers(int32(i))
		p.word(g.Bus)
		p.word(g.Type)
		p.numbers(g.BusyNow, g.MemBusyNow)
		p.counts(g.MemTotal, g.MemUsed, g.Samples, g.Busy, g.MemBusy, g.MemUsedSum)
		p.end()
	}
}

// known returns n, or 0 if it is not known.
func known(n sample.Count) sample.Count {
	if n == -1 {
		return 0
	}
	return n
}

func (p *Printer) memory(in *Input) {
	m := &in.System.Mem
	p.begin()
	p.numbers(p.Host.PageSize)
	p.counts(m.Total, m.Free, m.Cached, m.Buffers, m.Slab, m.Dirty, m.SlabReclaim, known(m.Balloon), m.Shared, m.SharedRSS, m.SharedSwap,
		m.HugeSize, m.HugeTotal, m.HugeFree, known(m.ZFSCache), known(m.KSMSharing), known(m.KSMShared), m.TCPSockets, m.UDPSockets, m.PageTables)
	if p.Seven { // C does not know large huge pages
		p.counts(0, 0, 0, m.Available, m.AnonHuge)
	}
	p.end()
}

func (p *Printer) swap(in *Input) {
	m := &in.System.Mem
	p.begin()
	p.numbers(p.Host.PageSize)
	stored, pool := known(m.ZswapStored), known(m.ZswapPool)
	if p.Seven {
		stored, pool = m.Zswapped, m.Zswap
	}
	p.counts(m.SwapTotal, m.SwapFree, m.SwapCached, m.Committed, m.CommitLimit, m.SwapCached, stored, pool)
	p.end()
}

func (p *Printer) paging(in *Input) {
	m := &in.System.Mem
	p.begin()
	p.numbers(p.Host.PageSize)
	p.counts(m.Scans, m.AllocStalls, 0, m.SwapIns, m.SwapOuts, m.OOMKills, m.CompactStalls, m.Migrated, m.NUMAMigrated, m.PageIns, m.PageOuts)
	if p.Seven {
		p.counts(m.ZswapIns, m.ZswapOuts)
	}
	p.end()
}

func (p *Printer) pressure(in *Input) {
	s := &in.System.Pressure
	p.begin()
	p.yes(s.Missing) // the wrong way round, as in C
	for _, r := range [...]*sample.Pressure{&s.CPUSome, &s.MemSome, &s.MemFull, &s.IOSome, &s.IOFull} {
		for _, n := range [...]sample.Count{r.Avg10, r.Avg60, r.Avg300} {
			p.float(1, float64(n))
		}
		p.counts(r.Total)
	}
	p.end()
}

func (p *Printer) disks(list []sample.Disk) {
	for i := range list {
		d := &list[i]
		if d.Name == "" {
			return
		}
		p.begin()
		p.word(d.Name)
		p.counts(d.BusyMS, d.Reads, d.ReadSectors, d.Writes, d.WriteSectors, d.Discards, d.DiscardSectors, d.InFlight)
		queue := 0.0
		if d.BusyMS > 0 {
			queue = float64(d.Queue) / float64(d.BusyMS)
		}
		p.float(2, queue)
		p.end()
	}
}

func (p *Printer) mounts(in *Input) {
	for i := range in.System.Mounts {
		m := &in.System.Mounts[i]
		p.begin()
		p.word(m.Device)
		p.counts(m.TotalRead, m.TotalWrite, m.Read, m.Write, m.DirectRead, m.DirectWrite, m.MappedRead, m.MappedWrite)
		p.end()
	}
}

func (p *Printer) nfsClient(in *Input) {
	c := &in.System.Client
	p.begin()
	p.counts(c.Calls, c.Reads, c.Writes, c.Retrans, c.AuthRefresh)
	p.end()
}

func (p *Printer) nfsServer(in *Input) {
	s := &in.System.Server
	p.begin()
	p.counts(s.Calls, s.Reads, s.Writes, s.ReadBytes, s.WriteBytes, s.BadFormat, s.BadAuth, s.BadClient,
		s.Net, s.NetTCP, s.NetUDP, s.NetTCPConn, s.CacheHits, s.CacheMisses, s.Uncached)
	p.end()
}

func (p *Printer) net(in *Input) {
	n := &in.System.Net
	p.begin()
	p.word("upper")
	p.counts(n.TCP.InSegs, n.TCP.OutSegs, n.UDPv4.InDatagrams+n.UDPv6.InDatagrams, n.UDPv4.OutDatagrams+n.UDPv6.OutDatagrams,
		n.IPv4.InReceives+n.IPv6.InReceives, n.IPv4.OutRequests+n.IPv6.OutRequests, n.IPv4.InDelivers+n.IPv6.InDelivers,
		n.IPv4.ForwDatagrams+n.IPv6.OutForwDatagrams, n.UDPv4.InErrors+n.UDPv6.InErrors, n.UDPv4.NoPorts+n.UDPv6.NoPorts,
		n.TCP.ActiveOpens, n.TCP.PassiveOpens, n.TCP.CurrEstab, n.TCP.RetransSegs, n.TCP.InErrs, n.TCP.OutRsts)
	if p.Seven {
		p.counts(n.TCP.InCsumErrors)
	}
	p.end()
	for i := range in.System.Interfaces {
		t := &in.System.Interfaces[i]
		p.begin()
		p.word(t.Name)
		duplex := sample.Count(0)
		if t.Duplex {
			duplex = 1
		}
		p.counts(t.InPackets, t.InBytes, t.OutPackets, t.OutBytes, t.Speed, duplex)
		if p.Seven {
			p.counts(t.InErrors, t.OutErrors, t.InDrops, t.OutDrops, t.InFIFO, t.OutFIFO, t.InCompressed, t.OutCompressed,
				t.InFrame, t.InMulticast, t.Collisions, t.Carrier)
		}
		p.end()
	}
}

func (p *Printer) ports(in *Input) {
	for i := range in.System.Ports {
		t := &in.System.Ports[i]
		p.begin()
		p.word(t.Name)
		p.counts(int64(t.Nr), int64(t.Lanes), t.Rate, t.InBytes, t.OutBytes, t.InPackets, t.OutPackets)
		p.end()
	}
}

func (p *Printer) nodeMemory(in *Input) {
	for i := range in.System.NodeMem {
		m := &in.System.NodeMem[i]
		p.begin()
		p.numbers(m.Nr, p.Host.PageSize)
		p.float(0, float64(m.Fragmentation)*100.0)
		p.counts(m.Total, m.Free, m.Active, m.Inactive, m.File, m.Dirty, m.Slab, m.SlabReclaim, m.Shared, m.Huge)
		if p.Seven {
			p.counts(m.HugeFree)
		}
		p.end()
	}
}

func (p *Printer) nodeCPU(in *Input) {
	for i := range in.System.NodeCPU {
		c := &in.System.NodeCPU[i]
		p.begin()
		p.numbers(c.Nr)
		p.counts(c.CPUs)
		p.times(&c.CPU)
		p.end()
	}
}

// caches writes the last level caches, of which PCP 6 has no metrics.
func (p *Printer) caches(in *Input) {
	for i := range in.System.Caches {
		c := &in.System.Caches[i]
		p.begin()
		nr := strconv.Itoa(int(c.Nr))
		if len(nr) < 2 {
			nr = "0" + nr
		}
		p.word("LLC" + nr)
		p.b = append(figure.Float(append(p.b, ' '), 3, 1, float64(c.Occupancy*100)), '%')
		p.counts(c.Total, c.Local)
		p.end()
	}
}
