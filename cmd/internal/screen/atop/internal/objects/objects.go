package objects

import (
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/parseable"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/pcpjson"
)

// A Printer writes samples.
type Printer struct {
	Chosen []bool // of parseable.Labels; nil: all
	Host   string

	b        []byte
	time     string
	interval float64
}

// A row is a row of a table in an interval of seconds.
type row struct {
	pcpjson.Row
	Interval float64 `json:"interval"`
}

// A column is a figure with its name.
type column struct {
	name  string
	value sample.Count
}

// Append appends the rows of a sample at a time, with the changes over seconds.
func (p *Printer) Append(b []byte, d *sample.Deviation, at pcp.Timestamp, seconds float64) []byte {
	p.b, p.time, p.interval = b, pcpjson.Time(at), seconds
	s := d.System
	for i, l := range parseable.Labels {
		if p.Chosen != nil && !p.Chosen[i] {
			continue
		}
		p.label(l.Name, s)
		p.tasks(l.Name, d.Tasks)
	}
	return p.b
}

// kib returns sectors in KiB, and -1 as it is.
func kib(sectors sample.Count) sample.Count {
	if sectors == -1 {
		return -1
	}
	return sectors / 2
}

// row writes a row.
func (p *Printer) row(table, instance string, columns ...column) {
	r := p.begin(table, instance)
	r.add(columns...)
	p.end(r)
}

func (p *Printer) begin(table, instance string) *row {
	return &row{pcpjson.Row{Time: p.time, Host: p.Host, Table: table, Instance: instance}, p.interval}
}

// add adds columns, unknown ones as null.
func (r *row) add(columns ...column) {
	for _, c := range columns {
		if c.value == -1 {
			r.Columns.Unknown(c.name)
			continue
		}
		r.Columns.Number(c.name, float64(c.value))
	}
}

func (p *Printer) end(r *row) { p.b = append(p.b, pcpjson.Line(r)...) }

// label writes the rows of a label about the system.
func (p *Printer) label(name string, s *sample.System) {
	switch name {
	case "CPU":
		p.row(name, "", append(times(&s.CPU), column{"cpus", int64(len(s.CPUs))})...)
	case "cpu":
		for i := range s.CPUs {
			p.row(name, strconv.Itoa(i), times(&s.CPUs[i])...)
		}
	case "CPL":
		r := p.begin(name, "")
		r.add(column{"cpus", int64(len(s.CPUs))}, column{"switches", s.Switches}, column{"interrupts", s.Interrupts}, column{"forks", s.Forks})
		for i, load := range [...]float32{s.Load1, s.Load5, s.Load15} {
			if name := [...]string{"load1", "load5", "load15"}[i]; load < 0 {
				r.Columns.Unknown(name)
			} else {
				r.Columns.Value(name, pcp.FloatValue(load))
			}
		}
		p.end(r)
	case "GPU":
		for i := range s.GPUs {
			g := &s.GPUs[i]
			r := p.begin(name, g.Bus)
			r.Columns.Text("type", g.Type)
			r.add(column{"busy", int64(g.BusyNow)}, column{"memory_busy", int64(g.MemBusyNow)}, column{"memory", g.MemTotal}, column{"memory_used", g.MemUsed})
			p.end(r)
		}
	case "MEM", "SWP", "PAG":
		p.row(name, "", memory(name, &s.Mem)...)
	case "PSI":
		p.pressure(name, &s.Pressure)
	case "LVM":
		p.disks(name, s.Volumes)
	case "MDD":
		p.disks(name, s.Arrays)
	case "DSK":
		p.disks(name, s.Disks)
	case "NFM":
		for i := range s.Mounts {
			m := &s.Mounts[i]
			p.row(name, m.Device, column{"read_bytes", m.TotalRead}, column{"write_bytes", m.TotalWrite})
		}
	case "NFC":
		c := &s.Client
		p.row(name, "", column{"calls", c.Calls}, column{"reads", c.Reads}, column{"writes", c.Writes}, column{"retransmitted", c.Retrans},
			column{"authentications", c.AuthRefresh})
	case "NFS":
		n := &s.Server
		p.row(name, "", column{"calls", n.Calls}, column{"reads", n.Reads}, column{"writes", n.Writes}, column{"read_bytes", n.ReadBytes},
			column{"write_bytes", n.WriteBytes}, column{"tcp", n.NetTCP}, column{"udp", n.NetUDP}, column{"hits", n.CacheHits}, column{"misses", n.CacheMisses})
	case "NET":
		p.net(name, s)
	case "IFB":
		for i := range s.Ports {
			t := &s.Ports[i]
			p.row(name, t.Name+":"+strconv.Itoa(int(t.Nr)), column{"in_bytes", t.InBytes}, column{"out_bytes", t.OutBytes}, column{"in_packets", t.InPackets},
				column{"out_packets", t.OutPackets}, column{"rate", t.Rate}, column{"lanes", int64(t.Lanes)})
		}
	case "NUM":
		for i := range s.NodeMem {
			m := &s.NodeMem[i]
			p.row(name, strconv.Itoa(int(m.Nr)), column{"total", m.Total}, column{"free", m.Free}, column{"active", m.Active}, column{"inactive", m.Inactive},
				column{"file", m.File}, column{"dirty", m.Dirty}, column{"slab", m.Slab}, column{"shared", m.Shared})
		}
	case "NUC":
		for i := range s.NodeCPU {
			c := &s.NodeCPU[i]
			p.row(name, strconv.Itoa(int(c.Nr)), append(times(&c.CPU), column{"cpus", c.CPUs})...)
		}
	}
}

// times are those that processors have spent.
func times(c *sample.CPU) []column {
	return []column{
		{"sys", c.Sys},
		{"user", c.User},
		{"nice", c.Nice},
		{"idle", c.Idle},
		{"wait", c.Wait},
		{"irq", c.IRQ},
		{"softirq", c.SoftIRQ},
		{"steal", c.Steal},
		{"guest", c.Guest},
	}
}

func memory(table string, m *sample.Memory) []column {
	switch table {
	case "SWP":
		return []column{{"total", m.SwapTotal}, {"free", m.SwapFree}, {"cached", m.SwapCached}, {"committed", m.Committed}, {"limit", m.CommitLimit}}
	case "PAG":
		return []column{
			{"scans", m.Scans},
			{"stalls", m.AllocStalls},
			{"compactions", m.CompactStalls},
			{"migrated", m.Migrated},
			{"numa_migrated", m.NUMAMigrated},
			{"swapped_in", m.SwapIns},
			{"swapped_out", m.SwapOuts},
			{"in", m.PageIns},
			{"out", m.PageOuts},
			{"oom_kills", m.OOMKills},
		}
	}
	return []column{
		{"total", m.Total},
		{"free", m.Free},
		{"cached", m.Cached},
		{"buffers", m.Buffers},
		{"dirty", m.Dirty},
		{"slab", m.Slab},
		{"slab_reclaimable", m.SlabReclaim},
		{"shared", m.Shared},
		{"page_tables", m.PageTables},
	}
}

// pressure writes a row for each resource: the share of time in which work waited, and how
// long.
func (p *Printer) pressure(table string, s *sample.Pressures) {
	if s.Missing {
		return
	}
	for i, r := range [...]*sample.Pressure{&s.CPUSome, &s.MemSome, &s.MemFull, &s.IOSome, &s.IOFull} {
		p.row(table, [...]string{"cpu some", "memory some", "memory full", "io some", "io full"}[i],
			column{"10s", r.Avg10}, column{"1min", r.Avg60}, column{"5min", r.Avg300}, column{"total", r.Total})
	}
}

func (p *Printer) disks(table string, list []sample.Disk) {
	for i := range list {
		d := &list[i]
		p.row(table, d.Name, column{"busy", d.BusyMS}, column{"reads", d.Reads}, column{"read", kib(d.ReadSectors)}, column{"writes", d.Writes},
			column{"written", kib(d.WriteSectors)}, column{"discards", d.Discards}, column{"in_flight", d.InFlight})
	}
}

func (p *Printer) net(table string, s *sample.System) {
	n := &s.Net
	p.row(table, "upper", column{"tcp_in", n.TCP.InSegs}, column{"tcp_out", n.TCP.OutSegs},
		column{"udp_in", n.UDPv4.InDatagrams + n.UDPv6.InDatagrams}, column{"udp_out", n.UDPv4.OutDatagrams + n.UDPv6.OutDatagrams},
		column{"ip_in", n.IPv4.InReceives + n.IPv6.InReceives}, column{"ip_out", n.IPv4.OutRequests + n.IPv6.OutRequests},
		column{"tcp_active", n.TCP.ActiveOpens}, column{"tcp_passive", n.TCP.PassiveOpens}, column{"tcp_established", n.TCP.CurrEstab},
		column{"tcp_retransmitted", n.TCP.RetransSegs}, column{"tcp_errors", n.TCP.InErrs})
	for i := range s.Interfaces {
		t := &s.Interfaces[i]
		p.row(table, t.Name, column{"in_packets", t.InPackets}, column{"in_bytes", t.InBytes}, column{"out_packets", t.OutPackets},
			column{"out_bytes", t.OutBytes}, column{"in_errors", t.InErrors}, column{"out_errors", t.OutErrors}, column{"in_drops", t.InDrops},
			column{"out_drops", t.OutDrops}, column{"speed", t.Speed})
	}
}
