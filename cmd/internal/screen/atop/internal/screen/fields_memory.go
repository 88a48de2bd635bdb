package screen

import (
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// memFields1 are the fields of the first line about memory.
var memFields1 = sync.OnceValue(func() []field {
	return []field{
		memory("MEMTOT", "tot   ", func(x *line) sample.Count { return x.s.Mem.Total * 1024 }),
		memory("MEMFREE", "free  ", func(x *line) sample.Count { return x.s.Mem.Free * 1024 }),
		memory("MEMAVAIL", "avail ", func(x *line) sample.Count { return x.s.Mem.Available * 1024 }),
		blankBox,
		memory("MEMCACHE", "cache ", func(x *line) sample.Count { return x.s.Mem.Cached * 1024 }),
		memory("MEMDIRTY", "dirty ", func(x *line) sample.Count { return x.s.Mem.Dirty * 1024 }),
		memory("MEMBUFFER", "buff  ", func(x *line) sample.Count { return x.s.Mem.Buffers * 1024 }),
		memory("MEMSLAB", "slab  ", func(x *line) sample.Count { return x.s.Mem.Slab * 1024 }),
		memory("RECSLAB", "slrec ", func(x *line) sample.Count { return x.s.Mem.SlabReclaim * 1024 }),
		pageTables(),
		onlyIf(memory("HUPTOT", "hptot ", func(x *line) sample.Count { return x.s.Mem.HugeTotal * x.hugeSize() }), hasHuge),
		onlyIf(memory("HUPUSE", "hpuse ", func(x *line) sample.Count { return (x.s.Mem.HugeTotal - x.s.Mem.HugeFree) * x.hugeSize() }), hasHuge),
	}
})

// hugeSize returns the size of a huge page in bytes. PCP 7 takes their number for kilobytes.
func (x *line) hugeSize() sample.Count {
	if x.p.Seven {
		return 1024
	}
	return x.s.Mem.HugeSize
}

func pageTables() field {
	return memory("PAGETABS", "pgtab ", func(x *line) sample.Count { return x.s.Mem.PageTables * 1024 })
}

func hasHuge(s *sample.System) bool { return int32(s.Mem.HugeTotal) != 0 }

// memFields2 are those of the second one.
var memFields2 = sync.OnceValue(func() []field {
	return []field{
		number("NUMNUMA", "numnode ", 4, long, func(x *line) sample.Count { return int64(len(x.s.NodeMem)) }),
		blankBox,
		plainMemory("TCPSOCK", "tcpsk ", func(x *line) sample.Count { return x.s.Mem.TCPSockets * int64(x.p.s.Host.PageSize) }),
		plainMemory("UDPSOCK", "udpsk ", func(x *line) sample.Count { return x.s.Mem.UDPSockets * int64(x.p.s.Host.PageSize) }),
		memory("SHMEM", "shmem ", func(x *line) sample.Count { return x.s.Mem.Shared * 1024 }),
		memory("SHMRSS", "shrss ", func(x *line) sample.Count { return x.s.Mem.SharedRSS * 1024 }),
		memory("SHMSWP", "shswp ", func(x *line) sample.Count { return x.s.Mem.SharedSwap * 1024 }),
		pageTables(),
		onlyIf(memory("ANONTHP", "anthp ", func(x *line) sample.Count { return x.s.Mem.AnonHuge * 1024 }), func(s *sample.System) bool { return int32(s.Mem.AnonHuge) != 0 }),
		onlyIf(memory("VMWBAL", "vmbal ", func(x *line) sample.Count { return x.s.Mem.Balloon }), func(s *sample.System) bool { return s.Mem.Balloon != -1 }),
		onlyIf(memory("ZFSARC", "zfarc ", func(x *line) sample.Count { return x.s.Mem.ZFSCache }), func(s *sample.System) bool { return s.Mem.ZFSCache != -1 }),
	}
})

// swpFields are the fields of the line about swap space.
var swpFields = sync.OnceValue(func() []field {
	return []field{
		memory("SWPTOT", "tot   ", func(x *line) sample.Count { return x.s.Mem.SwapTotal * 1024 }),
		memory("SWPFREE", "free  ", func(x *line) sample.Count { return x.s.Mem.SwapFree * 1024 }),
		memory("SWPCACHE", "swcac ", func(x *line) sample.Count { return x.s.Mem.SwapCached * 1024 }),
		blankBox,
		onlyIf(memory("ZSWTOTAL", "zpool ", func(x *line) sample.Count { return x.s.Mem.ZswapPool }), func(s *sample.System) bool { return s.Mem.ZswapPool != -1 }),
		memory("ZSWPOOL", "zswap ", func(x *line) sample.Count { return x.s.Mem.Zswap * 1024 }),
		onlyIf(memory("ZSWSTORED", "zstor ", func(x *line) sample.Count {
			if x.p.Seven {
				return x.s.Mem.Zswapped * 1024
			}
			return x.s.Mem.ZswapStored
		}), func(s *sample.System) bool { return s.Mem.ZswapStored != -1 }),
		// C swaps these two.
		onlyIf(memory("KSMSHARING", "kssav ", func(x *line) sample.Count { return x.s.Mem.KSMShared }), func(s *sample.System) bool { return s.Mem.KSMSharing != -1 }),
		onlyIf(memory("KSMSHARED", "ksuse ", func(x *line) sample.Count { return x.s.Mem.KSMSharing }), func(s *sample.System) bool { return s.Mem.KSMShared != -1 }),
		plainMemory("SWPCOMMITTED", "vmcom ", func(x *line) sample.Count {
			if overcommitted(x.s) {
				x.color = colorAlmost
			}
			return x.s.Mem.Committed * 1024
		}),
		plainMemory("SWPCOMMITLIM", "vmlim ", func(x *line) sample.Count {
			if overcommitted(x.s) {
				x.color = colorInfo
			}
			return x.s.Mem.CommitLimit * 1024
		}),
	}
})

func overcommitted(s *sample.System) bool {
	return s.Mem.CommitLimit != 0 && s.Mem.Committed > s.Mem.CommitLimit
}

// pagFields are those of the line about paging.
var pagFields = sync.OnceValue(func() []field {
	return []field{
		count("PAGSCAN", "scan ", 7, func(x *line) sample.Count { return x.s.Mem.Scans }),
		count("PAGSTEAL", "steal ", 6, func(x *line) sample.Count { return x.s.Mem.Steals }),
		count("PAGSTALL", "stall ", 6, func(x *line) sample.Count { return x.s.Mem.AllocStalls }),
		count("PAGCOMPACT", "compact ", 4, func(x *line) sample.Count { return x.s.Mem.CompactStalls }),
		count("PGMIGRATE", "migrate ", 4, func(x *line) sample.Count { return x.s.Mem.Migrated }),
		count("NUMAMIGRATE", "numamig ", 4, func(x *line) sample.Count { return x.s.Mem.NUMAMigrated }),
		count("PAGSWIN", "swin ", 7, func(x *line) sample.Count { return x.s.Mem.SwapIns }),
		colored(count("PAGSWOUT", "swout ", 6, func(x *line) sample.Count { return x.s.Mem.SwapOuts })),
		onlyIf(count("PAGZSWIN", "zswin ", 6, func(x *line) sample.Count { return x.s.Mem.ZswapIns }), hasZswap),
		onlyIf(colored(count("PAGZSWOUT", "zswout ", 5, func(x *line) sample.Count { return x.s.Mem.ZswapOuts })), hasZswap),
		onlyIf(count("OOMKILLS", "oomkill ", 4, func(x *line) sample.Count {
			if x.s.Mem.OOMKills != 0 {
				x.color = colorCrit
			}
			return x.s.Mem.OOMKills
		}), func(s *sample.System) bool { return s.Mem.OOMKills != -1 }),
		count("PAGPGIN", "pgin ", 7, func(x *line) sample.Count { return x.s.Mem.PageIns }),
		count("PAGPGOUT", "pgout ", 6, func(x *line) sample.Count { return x.s.Mem.PageOuts }),
		blankBox,
	}
})

func hasZswap(s *sample.System) bool { return s.Mem.ZswapEnabled }

// pressure returns the fields of one pressure: its averages, and its share of the interval.
func pressure(averages, total, short, name string, of func(s *sample.System) *sample.Pressure) []field {
	return []field{
		{name: averages, put: func(x *line) {
			r := of(x.s)
			b := appendAverages(nil, r.Avg10, r.Avg60, r.Avg300)
			if len(b) > 9 {
				b = appendAverages(nil, min(r.Avg10, 99), min(r.Avg60, 99), min(r.Avg300, 99))
			}
			x.b = append(append(x.b, short...), ' ')
			x.b = right(x.b, 9, string(b))
			x.trim(long)
		}},
		{name: total, put: func(x *line) {
			part := min(uint64(of(x.s).Total/max(int64(x.seconds)*10000, 1)), 100)
			if part >= 1 {
				x.color = colorAlmost
			}
			x.b = append(left(x.b, 7, name), ' ')
			x.b = append(figure.Int(x.b, 3, int64(part)), '%')
		}},
	}
}

func appendAverages(b []byte, list ...sample.Count) []byte {
	for i, n := range list {
		if i > 0 {
			b = append(b, '/')
		}
		b = figure.Int(b, 0, n)
	}
	return b
}

// psiFields are the fields of the line about pressure.
var psiFields = sync.OnceValue(func() []field {
	list := []field{blankBox}
	for _, f := range [][]field{
		pressure("PSICPUS", "PSICPUSTOT", "cs", "cpusome", func(s *sample.System) *sample.Pressure { return &s.Pressure.CPUSome }),
		pressure("PSIMEMS", "PSIMEMSTOT", "ms", "memsome", func(s *sample.System) *sample.Pressure { return &s.Pressure.MemSome }),
		pressure("PSIMEMF", "PSIMEMFTOT", "mf", "memfull", func(s *sample.System) *sample.Pressure { return &s.Pressure.MemFull }),
		pressure("PSIIOS", "PSIIOSTOT", "is", "iosome", func(s *sample.System) *sample.Pressure { return &s.Pressure.IOSome }),
		pressure("PSIIOF", "PSIIOFTOT", "if", "iofull", func(s *sample.System) *sample.Pressure { return &s.Pressure.IOFull }),
	} {
		list = append(list, f...)
	}
	return list
})

// node is the NUMA node of the line.
func (x *line) node() *sample.NodeMemory { return &x.s.NodeMem[x.index] }

// numFields are the fields of the line about the memory of a NUMA node.
var numFields = sync.OnceValue(func() []field {
	return []field{
		memory("NUMATOT", "tot   ", func(x *line) sample.Count { return x.node().Total * 1024 }),
		memory("NUMAFREE", "free  ", func(x *line) sample.Count { return x.node().Free * 1024 }),
		memory("NUMAFILEPAGE", "file  ", func(x *line) sample.Count { return x.node().File * 1024 }),
		{name: "NUMANR", put: func(x *line) { x.color = colorDefault }}, // which in C is empty
		memory("NUMADIRTY", "dirty ", func(x *line) sample.Count { return x.node().Dirty * 1024 }),
		memory("NUMAACTIVE", "activ ", func(x *line) sample.Count { return x.node().Active * 1024 }),
		memory("NUMAINACTIVE", "inact ", func(x *line) sample.Count { return x.node().Inactive * 1024 }),
		memory("NUMASLAB", "slab  ", func(x *line) sample.Count { return x.node().Slab * 1024 }),
		memory("NUMASLABRECLAIM", "slrec ", func(x *line) sample.Count { return x.node().SlabReclaim * 1024 }),
		memory("NUMASHMEM", "shmem ", func(x *line) sample.Count { return x.node().Shared * 1024 }),
		share("NUMAFRAG", "frag ", 6, short, func(x *line) float64 { return float64(float32(x.node().Fragmentation) * 100.0) }),
		onlyIf(field{name: "NUMAHUPTOT", put: func(x *line) {
			if x.s.Mem.HugeTotal == 0 {
				x.missing = true
				return
			}
			memory("", "hptot ", func(x *line) sample.Count { return x.node().Huge * x.hugeSize() }).put(x)
		}}, hasHuge),
		onlyIf(field{name: "NUMAHUPUSE", put: func(x *line) {
			if x.s.Mem.HugeTotal == 0 {
				x.missing = true
				return
			}
			memory("", "hpuse ", func(x *line) sample.Count { return (x.node().Huge - x.node().HugeFree) * x.hugeSize() }).put(x)
		}}, hasHuge),
	}
})

// cache is the last level cache of the line.
func (x *line) cache() *sample.Cache { return &x.s.Caches[x.index] }

// llcFields are the fields of the line about a last level cache.
var llcFields = sync.OnceValue(func() []field {
	rate := func(name, label string, of func(x *line) sample.Count) field {
		return colored(field{name: name, put: func(x *line) {
			x.b = figure.Memory(append(x.b, label...), of(x), figure.MiB, x.div())
			x.trim(long)
		}})
	}
	return []field{
		rate("LLCMBMTOTAL", "tot   ", func(x *line) sample.Count { return x.cache().Total }),
		rate("LLCMBMLOCAL", "loc   ", func(x *line) sample.Count { return x.cache().Local }),
		colored(field{name: "NUMLLC", put: func(x *line) {
			x.b = padded(append(x.b, "LLC"...), int64(x.cache().Nr), 2)
			x.b = append(figure.Float(append(x.b, ' '), 5, 0, float64(x.cache().Occupancy*100)), '%')
			x.trim(long)
		}}),
	}
})

// nodeCPU returns the processors of the line's NUMA node.
func (x *line) nodeCPU() *sample.NodeCPU { return &x.s.NodeCPU[x.index] }

// nucFields are the fields of the line about the processors of a NUMA node.
var nucFields = sync.OnceValue(func() []field {
	return []field{
		share("NUMACPUSYS", "sys  ", 6, short, func(x *line) float64 { return x.of(x.nodeCPU().Sys) }),
		share("NUMACPUUSER", "user ", 6, short, func(x *line) float64 { return x.of(x.nodeCPU().User) }),
		share("NUMACPUNICE", "nice ", 6, short, func(x *line) float64 { return x.of(x.nodeCPU().Nice) }),
		share("NUMACPUIRQ", "irq  ", 6, short, func(x *line) float64 { return x.of(x.nodeCPU().IRQ) }),
		share("NUMACPUSOFTIRQ", "sirq ", 6, short, func(x *line) float64 { return x.of(x.nodeCPU().SoftIRQ) }),
		{name: "NUMACPUIDLE", put: func(x *line) {
			x.b = append(figure.Float(append(x.b, "idle "...), 6, 0, x.of(x.nodeCPU().Idle)), '%')
			x.trim(short)
		}},
		{name: "NUMACPUWAIT", put: func(x *line) {
			x.b = padded(append(x.b, "nod"...), int64(x.index), 3)
			x.b = append(figure.Float(append(x.b, " w"...), 3, 0, x.of(x.nodeCPU().Wait)), '%')
			x.trim(short)
		}},
		share("NUMACPUSTEAL", "steal ", 5, short, func(x *line) float64 { return x.of(x.nodeCPU().Steal) }),
		share("NUMACPUGUEST", "guest ", 5, short, func(x *line) float64 { return x.of(x.nodeCPU().Guest) }),
		number("NUMANUMCPU", "numcpu ", 5, long, func(x *line) sample.Count { return x.nodeCPU().CPUs }),
	}
})
