package screen

import (
	"strconv"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// columns are all columns of processes.
var columns = sync.OnceValue(func() []column {
	return []column{
		{name: "PID", head: "PID", width: pidWidth, active: func(x *row) { x.number(x.p.pidWidth, x.t.TGID) }, exited: func(x *row) {
			if x.t.PID == 0 {
				x.b = right(x.b, x.p.pidWidth, "?")
			} else {
				x.number(x.p.pidWidth, x.t.TGID)
			}
		}},
		{name: "TID", head: "TID", width: pidWidth, active: func(x *row) {
			if x.t.IsProcess {
				x.b = right(x.b, x.p.pidWidth, "-")
			} else {
				x.number(x.p.pidWidth, x.t.PID)
			}
		}},
		{name: "PPID", head: "PPID", width: pidWidth, active: func(x *row) { x.number(x.p.pidWidth, x.t.PPID) }, exited: func(x *row) {
			if x.t.PPID != 0 {
				x.number(x.p.pidWidth, x.t.PPID)
			} else {
				x.b = right(x.b, x.p.pidWidth, "-")
			}
		}},
		{name: "SYSCPU", head: "SYSCPU", width: 6, active: func(x *row) { x.b = figure.CPU(x.b, x.t.Sys) }},
		{name: "USRCPU", head: "USRCPU", width: 6, active: func(x *row) { x.b = figure.CPU(x.b, x.t.User) }},
		{name: "RDELAY", head: "RDELAY", width: 6, active: func(x *row) { x.b = figure.CPU(x.b, x.t.RunDelay/1000000) }, exited: always("     -")},
		{name: "BDELAY", head: "BDELAY", width: 6, active: func(x *row) { x.b = figure.CPU(x.b, x.t.BlockDelay*1000) }, exited: always("     -")},
		events("NVCSW", " NVCSW", 6, func(t *sample.Task) sample.Count { return t.Switches }, "     -"),
		events("NIVCSW", "NIVCSW", 6, func(t *sample.Task) sample.Count { return t.Preemptions }, "     -"),
		{name: "WCHAN", head: "WCHAN          ", width: 15, active: func(x *row) {
			if x.t.State != 'R' {
				x.b = left(x.b, 15, x.t.WaitChannel)
			} else {
				x.b = left(x.b, 15, "")
			}
		}, exited: always("               ")},
		size("VGROW", " VGROW", func(t *sample.Task) sample.Count { return t.VirtualGrowth }),
		size("RGROW", " RGROW", func(t *sample.Task) sample.Count { return t.ResidentGrowth }),
		events("MINFLT", "MINFLT", 6, func(t *sample.Task) sample.Count { return t.MinorFaults }, ""),
		events("MAJFLT", "MAJFLT", 6, func(t *sample.Task) sample.Count { return t.MajorFaults }, ""),
		size("VSTEXT", "VSTEXT", func(t *sample.Task) sample.Count { return t.Text }),
		size("VSIZE", " VSIZE", func(t *sample.Task) sample.Count { return t.Virtual }),
		size("RSIZE", " RSIZE", func(t *sample.Task) sample.Count { return t.Resident }),
		{name: "PSIZE", head: " PSIZE", width: 6, active: func(x *row) {
			if x.t.Proportional == -1 {
				x.text("    ?K")
			} else {
				x.b = figure.Memory(x.b, x.t.Proportional*1024, figure.Bytes, 0)
			}
		}, exited: always("    0K")},
		size("VSLIBS", "VSLIBS", func(t *sample.Task) sample.Count { return t.Libraries }),
		size("VDATA", " VDATA", func(t *sample.Task) sample.Count { return t.Data }),
		size("VSTACK", "VSTACK", func(t *sample.Task) sample.Count { return t.Stack }),
		size("SWAPSZ", "SWAPSZ", func(t *sample.Task) sample.Count { return t.Swapped }),
		{name: "LOCKSZ", head: "LOCKSZ", width: 6, active: func(x *row) { x.b = figure.Memory(x.b, x.t.Locked*1024, figure.KiB, 0) }, exited: always("    0K")},
		{name: "CMD", head: "CMD           ", width: 14, active: func(x *row) { x.b = left(x.b, 14, x.t.Name) }, exited: func(x *row) {
			x.b = left(x.b, 14, "<"+x.t.Name[:min(len(x.t.Name), 12)]+">")
		}},
		owner("RUID", func(x *row) { x.name(x.p.s.Users, x.t.RUID) }, nil),
		owner("EUID", func(x *row) { x.name(x.p.s.Users, x.t.EUID) }, always("-       ")),
		owner("SUID", func(x *row) { x.name(x.p.s.Users, x.t.SUID) }, always("-       ")),
		owner("FSUID", func(x *row) { x.name(x.p.s.Users, x.t.FSUID) }, always("-       ")),
		owner("RGID", func(x *row) { x.name(x.p.s.Groups, x.t.RGID) }, nil),
		owner("EGID", func(x *row) { x.name(x.p.s.Groups, x.t.EGID) }, always("-       ")),
		owner("SGID", func(x *row) { x.name(x.p.s.Groups, x.t.SGID) }, always("-       ")),
		owner("FSGID", func(x *row) { x.name(x.p.s.Groups, x.t.FSGID) }, always("-       ")),
		{name: "CTID", head: " CTID", width: 5, active: func(x *row) { x.number(5, x.t.EnvID) }, exited: always("    -")},
		{name: "VPID", head: "VPID", width: pidWidth, active: func(x *row) { x.number(x.p.pidWidth, x.t.VPID) }, exited: func(x *row) { x.b = right(x.b, x.p.pidWidth, "-") }},
		{name: "CID", head: "CID         ", width: 12, active: func(x *row) { x.container("host--------") }, exited: func(x *row) { x.container("?") }},
		{name: "STDATE", head: "  STDATE  ", width: 10, active: func(x *row) { x.time("2006/01/02", "----/--/--", 0) }},
		{name: "STTIME", head: " STTIME ", width: 8, active: func(x *row) { x.time("15:04:05", "--:--:--", 0) }},
		{name: "ENDATE", head: "  ENDATE  ", width: 10, active: always("  active  "), exited: func(x *row) { x.time("2006/01/02", "----/--/--", x.t.Elapsed) }},
		{name: "ENTIME", head: " ENTIME ", width: 8, active: always(" active "), exited: func(x *row) { x.time("15:04:05", "--:--:--", x.t.Elapsed) }},
		{name: "THR", head: " THR", width: 4, active: func(x *row) { x.number(4, x.t.Threads) }, exited: always("   0")},
		{name: "TRUN", head: "TRUN", width: 4, active: func(x *row) { x.number(4, x.t.Running) }, exited: always("   0")},
		{name: "TSLPI", head: "TSLPI", width: 5, active: func(x *row) { x.number(5, x.t.Sleeping) }, exited: always("    0")},
		{name: "TSLPU", head: "TSLPU", width: 5, active: func(x *row) { x.number(5, x.t.DiskSleep) }, exited: always("    0")},
		{name: "TIDLE", head: "TIDLE", width: 5, active: func(x *row) { x.number(5, x.t.Idle) }, exited: always("    0")},
		{name: "POLI", head: "POLI", width: 4, active: func(x *row) {
			if n := x.t.Policy; n >= 0 && int(n) < len(policies) {
				x.text(policies[n])
			} else {
				x.text("?   ")
			}
		}, exited: always("-   ")},
		{name: "NICE", head: "NICE", width: 4, active: func(x *row) { x.number(4, x.t.Nice) }, exited: always("   -")},
		{name: "PRI", head: "PRI", width: 3, active: func(x *row) { x.number(3, x.t.Prio) }, exited: always("  -")},
		{name: "RTPR", head: "RTPR", width: 4, active: func(x *row) { x.number(4, x.t.RTPrio) }, exited: always("   -")},
		{name: "CPUNR", head: "CPUNR", width: 5, active: func(x *row) { x.number(5, x.t.Processor) }, exited: always("    -")},
		{name: "ST", head: "ST", width: 2, active: func(x *row) { x.b = append(x.b, x.new(), '-') }, exited: func(x *row) {
			how := byte('E')
			if x.t.ExitCode&0xff != 0 {
				if how = 'S'; x.t.ExitCode&0x80 != 0 {
					how = 'C'
				}
			}
			x.b = append(x.b, x.new(), how)
		}},
		{name: "EXC", head: "EXC", width: 3, active: always("  -"), exited: func(x *row) {
			if code := x.t.ExitCode; code&0xff != 0 {
				x.number(3, code&0x7f)
			} else {
				x.number(3, code>>8&0xff)
			}
		}},
		{name: "S", head: "S", width: 1, active: func(x *row) {
			if x.t.State == 0 {
				x.text("-")
			} else {
				x.b = append(x.b, x.t.State)
			}
		}, exited: always("E")},
		{name: "COMMAND-LINE", head: "COMMAND-LINE (horizontal scroll with <- and -> keys)", active: func(x *row) {
			s := x.t.Command
			if s == "" {
				s = x.t.Name
			}
			s = s[min(x.p.offset, len(s)):]
			if x.p.onScreen() {
				x.b = left(x.b, min(max(x.p.wideWidth, 0), 255), s)
			} else {
				x.text(s)
			}
		}},
		{name: "NPROCS", head: "NPROCS", width: 6, active: func(x *row) { x.b = figure.Value(x.b, int64(x.t.PID), 6, 0) }},
		{name: "CGROUP-PATH", head: "CGROUP (horizontal scroll: <- and ->)", width: 42, active: func(x *row) {
			if !x.t.IsProcess {
				return
			}
			s := x.t.CGroup
			if s == "" {
				s = "?"
			}
			s = s[min(x.p.offset, len(s)):]
			if x.p.onScreen() {
				x.b = left(x.b, 42, s)
			} else {
				x.text(s)
			}
		}, exited: always("-")},
		groupLimit("CPUWGT", 6), groupLimit("CPUMAX", 6), groupLimit("CPUMAXR", 7),
		groupLimit("MEMMAX", 6), groupLimit("MMMAXR", 6), groupLimit("SWPMAX", 6), groupLimit("SWMAXR", 6),
		{name: "RDDSK", head: " RDDSK", width: 6, active: func(x *row) { x.b = figure.Memory(x.b, x.t.ReadSectors*512, figure.Bytes, x.div()) }, exited: always("     -")},
		{name: "WRDSK", head: " WRDSK", width: 6, active: func(x *row) { x.b = figure.Memory(x.b, x.t.WriteSectors*512, figure.Bytes, x.div()) }, exited: always("     -")},
		{name: "CWRDSK", head: " WRDSK", width: 6, active: func(x *row) { x.b = figure.Memory(x.b, x.t.Written()*512, figure.Bytes, x.div()) }, exited: always("     -")},
		{name: "WCANCL", head: "WCANCL", width: 6, active: func(x *row) { x.b = figure.Memory(x.b, x.t.Cancelled*512, figure.KiB, x.div()) }, exited: always("     -")},
		events("TCPRCV", "TCPRCV", 6, func(t *sample.Task) sample.Count { return t.TCPReceived }, "     -"),
		mean("TCPRASZ", func(t *sample.Task) (bytes, packets sample.Count) { return t.TCPReceivedBytes, t.TCPReceived }),
		events("TCPSND", "TCPSND", 6, func(t *sample.Task) sample.Count { return t.TCPSent }, "     -"),
		mean("TCPSASZ", func(t *sample.Task) (bytes, packets sample.Count) { return t.TCPSentBytes, t.TCPSent }),
		events("UDPRCV", "UDPRCV", 6, func(t *sample.Task) sample.Count { return t.UDPReceived }, "     -"),
		mean("UDPRASZ", func(t *sample.Task) (bytes, packets sample.Count) { return t.UDPReceivedBytes, t.UDPReceived }),
		events("UDPSND", "UDPSND", 6, func(t *sample.Task) sample.Count { return t.UDPSent }, "     -"),
		mean("UDPSASZ", func(t *sample.Task) (bytes, packets sample.Count) { return t.UDPSentBytes, t.UDPSent }),
		events("RNET", " RNET", 5, func(t *sample.Task) sample.Count { return t.TCPReceived + t.UDPReceived }, "    -"),
		events("SNET", " SNET", 5, func(t *sample.Task) sample.Count { return t.TCPSent + t.UDPSent }, "    -"),
		bandwidth("BANDWI", "   BANDWI", func(t *sample.Task) sample.Count { return t.TCPReceivedBytes + t.UDPReceivedBytes }),
		bandwidth("BANDWO", "   BANDWO", func(t *sample.Task) sample.Count { return t.TCPSentBytes + t.UDPSentBytes }),
		{name: "GPULIST", head: " GPUNUMS", width: 8, active: (*row).gpus},
		gpuColumn("GPUMEM", "MEMNOW", 6, func(x *row) { x.b = figure.Memory(x.b, x.t.GPU.MemNow*1024, figure.Bytes, 0) }),
		gpuColumn("GPUMEMAVG", "MEMAVG", 6, func(x *row) {
			if g := &x.t.GPU; g.Samples == 0 {
				x.text("    0K")
			} else {
				x.b = figure.Memory(x.b, int64(g.GPUs)*g.MemSum/g.Samples*1024, figure.Bytes, 0)
			}
		}),
		gpuColumn("GPUGPUBUSY", "GPUBUSY", 7, func(x *row) { x.share(x.t.GPU.Busy) }),
		gpuColumn("GPUMEMBUSY", "MEMBUSY", 7, func(x *row) { x.share(x.t.GPU.MemBusy) }),
		{name: "SORTITEM", width: sortWidth, active: func(*row) {}},
	}
})

// policies are the names of scheduling policies.
var policies = [...]string{"norm", "fifo", "rr  ", "btch", "iso ", "idle", "dead"}

func (x *row) number(width int, n int32) { x.b = figure.Int(x.b, width, int64(n)) }

// size returns a column with a number of kilobytes.
func size(name, head string, of func(t *sample.Task) sample.Count) column {
	return column{name: name, head: head, width: 6, active: func(x *row) {
		x.b = figure.Memory(x.b, of(x.t)*1024, figure.Bytes, 0)
	}, exited: always("    0K")}
}

// events returns a column with a count; exited is its text for a process that has ended, "" the same.
func events(name, head string, width int, of func(t *sample.Task) sample.Count, exited string) column {
	c := column{name: name, head: head, width: width, active: func(x *row) { x.b = figure.Value(x.b, of(x.t), width, x.div()) }}
	if exited != "" {
		c.exited = always(exited)
	}
	return c
}

// mean returns a column with the mean size of packets.
func mean(name string, of func(t *sample.Task) (bytes, packets sample.Count)) column {
	return column{name: name, head: name, width: 7, active: func(x *row) {
		bytes, packets := of(x.t)
		n := int32(0)
		if packets != 0 {
			n = int32(bytes / packets)
		}
		x.b = figure.Value(x.b, int64(n), 7, 0)
	}, exited: always("      -")}
}

// bandwidth returns a column with bits per second.
func bandwidth(name, head string, of func(t *sample.Task) sample.Count) column {
	return column{name: name, head: head, width: 9, active: func(x *row) {
		n, unit := bits(figure.Count(float64(of(x.t)/125) / x.seconds))
		x.b = figure.Int(x.b, 4, n)
		x.b = append(x.b, ' ', unit, 'b', 'p', 's')
	}, exited: always("        -")}
}

// owner returns a column with the name of a user or a group.
func owner(name string, active, exited func(x *row)) column {
	return column{name: name, head: string(left(nil, 8, name)), width: 8, active: active, exited: exited}
}

func (x *row) name(names map[int32]string, id int32) {
	if s, ok := names[id]; ok {
		x.b = left(x.b, 8, s)
		return
	}
	start := len(x.b)
	x.b = strconv.AppendInt(x.b, int64(id), 10)
	for len(x.b)-start < 8 {
		x.b = append(x.b, ' ')
	}
	x.b = x.b[:start+8]
}

func (x *row) container(other string) {
	s := x.t.Container
	if s == "" {
		s = other
	}
	start := len(x.b)
	x.text(s)
	for len(x.b)-start < 12 {
		x.b = append(x.b, ' ')
	}
}

// time puts the start time of a process, or a time so many seconds later.
func (x *row) time(format, unknown string, later int64) {
	boot := x.p.s.Host.BootTime
	if boot == 0 {
		x.text(unknown)
		return
	}
	x.b = time.Unix(boot+x.t.Started/1000+later, 0).In(x.p.Zone).AppendFormat(x.b, format)
}

// new returns N for a process that was not in the sample before.
func (x *row) new() byte {
	if x.t.ExitCode&sample.NewTask != 0 {
		return 'N'
	}
	return '-'
}

// groupLimit returns a column with a limit of a control group. PCP has no metrics of them.
func groupLimit(name string, width int) column {
	none := string(right(nil, width, "-"))
	return column{name: name, head: name, width: width, active: func(x *row) {
		if x.t.IsProcess {
			x.text(none)
		} else {
			x.text(blanks(width))
		}
	}, exited: always(none)}
}

// gpuColumn returns a column about graphics processors.
func gpuColumn(name, head string, width int, active func(x *row)) column {
	none := string(right(nil, width, "-"))
	return column{name: name, head: head, width: width, active: func(x *row) {
		if x.t.GPU.State == 0 {
			x.text(none)
		} else {
			active(x)
		}
	}}
}

func (x *row) share(n int32) {
	if n == -1 {
		x.text("    N/A")
		return
	}
	x.number(6, n)
	x.text("%")
}

// gpus puts the numbers of the graphics processors that a process uses.
func (x *row) gpus() {
	g := &x.t.GPU
	if g.State == 0 || g.List == 0 {
		x.text("       -")
		return
	}
	var b []byte
	for i := range min(x.p.s.Host.GPUs, 32) {
		if g.List&(1<<i) == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		if b = strconv.AppendInt(b, int64(i), 10); len(b) > 8 {
			b = append(b[:0], "0x"...)
			hex := strconv.FormatUint(uint64(uint32(g.List)), 16)
			for n := len(hex); n < 6; n++ {
				b = append(b, '0')
			}
			b = append(b, hex...)
			break
		}
	}
	x.b = right(x.b, 8, string(b[:min(len(b), 8)]))
}
