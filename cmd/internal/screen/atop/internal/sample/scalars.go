package sample

import "slices"

// A kind defines how two values of a metric are compared.
type kind byte

const (
	gauge    kind = iota // how much there is now
	counter              // events; a counter that is less than before has started again
	plain                // events, of which C takes the plain difference
	pressure             // as plain, if the source has pressures
	special              // deviate.go has the rule
)

// A scalar maps a metric to a field of a [System].
type scalar struct {
	metric string
	field  func(*System) *Count
	kind   kind
	inst   *instance // nil: the first value
	times  Count     // the factor of the value, 0: 1
	divide Count     // its divisor, 0: 1
	// same: a row above or below has the same field, which is the sum of both.
	same bool
	// sum is the category of pcp-atopsar -R in which the field is summed up: c for
	// processors, m for memory, n for the network; 0: none.
	sum byte
}

// systemScalars returns all scalars, with those of PCP 7.
func systemScalars(seven bool) []scalar {
	list := slices.Concat(scalars, network)
	if !seven {
		return list
	}
	for i := range list {
		if m := list[i].metric; m == "ipc.shm.rss" || m == "ipc.shm.swp" {
			list[i].times = 0
		}
	}
	return append(list, scalars7...)
}

// scalars7 are the fields of PCP 7.
var scalars7 = []scalar{
	{metric: "mem.util.available", field: func(s *System) *Count { return &s.Mem.Available }, kind: gauge},
	{metric: "mem.util.anonhugepages", field: func(s *System) *Count { return &s.Mem.AnonHuge }, kind: gauge},
	{metric: "mem.util.zswap", field: func(s *System) *Count { return &s.Mem.Zswap }, kind: gauge},
	{metric: "mem.util.zswapped", field: func(s *System) *Count { return &s.Mem.Zswapped }, kind: gauge},
	{metric: "mem.vmstat.zswpin", field: func(s *System) *Count { return &s.Mem.ZswapIns }, kind: counter},
	{metric: "mem.vmstat.zswpout", field: func(s *System) *Count { return &s.Mem.ZswapOuts }, kind: counter},
	{metric: "network.tcp.incsumerrors", field: func(s *System) *Count { return &s.Net.TCP.InCsumErrors }, kind: counter},
}

// An instance is an instance of a metric, and the index of its value in most cases.
type instance struct {
	inst int32
	hint int
}

// scalars are the fields of a System that have one value each; [network] has more.
var scalars = []scalar{
	// Processors.
	{metric: "kernel.all.pswitch", field: func(s *System) *Count { return &s.Switches }, kind: counter, sum: 'c'},
	{metric: "kernel.all.intr", field: func(s *System) *Count { return &s.Interrupts }, kind: counter, sum: 'c'},
	{metric: "kernel.all.sysfork", field: func(s *System) *Count { return &s.Forks }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.user", field: func(s *System) *Count { return &s.CPU.User }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.nice", field: func(s *System) *Count { return &s.CPU.Nice }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.sys", field: func(s *System) *Count { return &s.CPU.Sys }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.idle", field: func(s *System) *Count { return &s.CPU.Idle }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.wait.total", field: func(s *System) *Count { return &s.CPU.Wait }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.irq.hard", field: func(s *System) *Count { return &s.CPU.IRQ }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.irq.soft", field: func(s *System) *Count { return &s.CPU.SoftIRQ }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.steal", field: func(s *System) *Count { return &s.CPU.Steal }, kind: counter, sum: 'c'},
	{metric: "kernel.all.cpu.guest", field: func(s *System) *Count { return &s.CPU.Guest }, kind: counter, sum: 'c'},

	// Memory: events of pages.
	{metric: "swap.pagesin", field: func(s *System) *Count { return &s.Mem.SwapIns }, kind: counter, sum: 'm'},
	{metric: "swap.pagesout", field: func(s *System) *Count { return &s.Mem.SwapOuts }, kind: counter, sum: 'm'},
	{metric: "mem.vmstat.pgpgin", field: func(s *System) *Count { return &s.Mem.PageIns }, kind: counter, sum: 'm'},
	{metric: "mem.vmstat.pgpgout", field: func(s *System) *Count { return &s.Mem.PageOuts }, kind: counter, sum: 'm'},
	{metric: "mem.vmstat.nr_page_table_pages", field: func(s *System) *Count { return &s.Mem.PageTables }, kind: gauge, sum: 'm'},
	{metric: "mem.vmstat.numa_pages_migrated", field: func(s *System) *Count { return &s.Mem.NUMAMigrated }, kind: counter},
	{metric: "mem.vmstat.pgmigrate_success", field: func(s *System) *Count { return &s.Mem.Migrated }, kind: counter},
	{metric: "mem.vmstat.pgscan_direct_dma", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_direct_dma32", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_direct_high", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_direct_movable", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_direct_normal", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_kswapd_dma", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_kswapd_dma32", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_kswapd_high", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_kswapd_movable", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgscan_kswapd_normal", field: func(s *System) *Count { return &s.Mem.Scans }, kind: counter, same: true, sum: 'm'},
	{metric: "mem.vmstat.pgsteal_dma", field: func(s *System) *Count { return &s.Mem.Steals }, kind: counter, same: true},
	{metric: "mem.vmstat.pgsteal_dma32", field: func(s *System) *Count { return &s.Mem.Steals }, kind: counter, same: true},
	{metric: "mem.vmstat.pgsteal_high", field: func(s *System) *Count { return &s.Mem.Steals }, kind: counter, same: true},
	{metric: "mem.vmstat.pgsteal_movable", field: func(s *System) *Count { return &s.Mem.Steals }, kind: counter, same: true},
	{metric: "mem.vmstat.pgsteal_normal", field: func(s *System) *Count { return &s.Mem.Steals }, kind: counter, same: true},
	{metric: "mem.vmstat.allocstall", field: func(s *System) *Count { return &s.Mem.AllocStalls }, kind: counter, sum: 'm'},
	{metric: "mem.vmstat.compact_stall", field: func(s *System) *Count { return &s.Mem.CompactStalls }, kind: counter, sum: 'm'},
	{metric: "mem.vmstat.oom_kill", field: func(s *System) *Count { return &s.Mem.OOMKills }, kind: counter},

	// Memory: its use.
	{metric: "mem.util.swapCached", field: func(s *System) *Count { return &s.Mem.SwapCached }, kind: gauge, sum: 'm'},
	{metric: "mem.util.cached", field: func(s *System) *Count { return &s.Mem.Cached }, kind: gauge, sum: 'm'},
	{metric: "mem.util.dirty", field: func(s *System) *Count { return &s.Mem.Dirty }, kind: gauge, sum: 'm'},
	{metric: "mem.physmem", field: func(s *System) *Count { return &s.Mem.Total }, kind: gauge, sum: 'm'},
	{metric: "mem.freemem", field: func(s *System) *Count { return &s.Mem.Free }, kind: gauge, sum: 'm'},
	{metric: "mem.util.bufmem", field: func(s *System) *Count { return &s.Mem.Buffers }, kind: gauge, sum: 'm'},
	{metric: "mem.util.shmem", field: func(s *System) *Count { return &s.Mem.Shared }, kind: gauge, sum: 'm'},
	{metric: "swap.length", field: func(s *System) *Count { return &s.Mem.SwapTotal }, kind: gauge, divide: 1024, sum: 'm'},
	{metric: "swap.free", field: func(s *System) *Count { return &s.Mem.SwapFree }, kind: gauge, divide: 1024, sum: 'm'},
	{metric: "mem.util.slab", field: func(s *System) *Count { return &s.Mem.Slab }, kind: gauge, sum: 'm'},
	{metric: "mem.util.slabReclaimable", field: func(s *System) *Count { return &s.Mem.SlabReclaim }, kind: gauge, sum: 'm'},
	{metric: "mem.util.committed_AS", field: func(s *System) *Count { return &s.Mem.Committed }, kind: gauge, sum: 'm'},
	{metric: "mem.util.commitLimit", field: func(s *System) *Count { return &s.Mem.CommitLimit }, kind: gauge, sum: 'm'},
	{metric: "mem.util.hugepagesTotal", field: func(s *System) *Count { return &s.Mem.HugeTotal }, kind: gauge},
	{metric: "mem.util.hugepagesFree", field: func(s *System) *Count { return &s.Mem.HugeFree }, kind: gauge},
	{metric: "hinv.hugepagesize", field: func(s *System) *Count { return &s.Mem.HugeSize }, kind: gauge},
	{metric: "mem.ksm.pages_shared", field: func(s *System) *Count { return &s.Mem.KSMShared }, kind: gauge},
	{metric: "mem.ksm.pages_sharing", field: func(s *System) *Count { return &s.Mem.KSMSharing }, kind: gauge},
	{metric: "ipc.shm.rss", field: func(s *System) *Count { return &s.Mem.SharedRSS }, kind: gauge, times: 1024, sum: 'm'},
	{metric: "ipc.shm.swp", field: func(s *System) *Count { return &s.Mem.SharedSwap }, kind: gauge, times: 1024, sum: 'm'},
	{metric: "network.sockstat.tcp.mem", field: func(s *System) *Count { return &s.Mem.TCPSockets }, kind: gauge, sum: 'm'},
	{metric: "network.sockstat.udp.mem", field: func(s *System) *Count { return &s.Mem.UDPSockets }, kind: gauge, sum: 'm'},
	{metric: "zfs.arc.size", field: func(s *System) *Count { return &s.Mem.ZFSCache }, kind: gauge},
	{metric: "zswap.pool_total_size", field: func(s *System) *Count { return &s.Mem.ZswapPool }, kind: gauge},
	{metric: "zswap.stored_pages", field: func(s *System) *Count { return &s.Mem.ZswapStored }, kind: gauge},

	// NFS.
	{metric: "rpc.server.rchits", field: func(s *System) *Count { return &s.Server.CacheHits }, kind: counter, sum: 'n'},
	{metric: "rpc.server.rcmisses", field: func(s *System) *Count { return &s.Server.CacheMisses }, kind: counter, sum: 'n'},
	{metric: "rpc.server.rcnocache", field: func(s *System) *Count { return &s.Server.Uncached }, kind: counter, sum: 'n'},
	{metric: "rpc.server.io_read", field: func(s *System) *Count { return &s.Server.ReadBytes }, kind: counter, sum: 'n'},
	{metric: "rpc.server.io_write", field: func(s *System) *Count { return &s.Server.WriteBytes }, kind: counter, sum: 'n'},
	{metric: "rpc.server.netcnt", field: func(s *System) *Count { return &s.Server.Net }, kind: counter, sum: 'n'},
	{metric: "rpc.server.netudpcnt", field: func(s *System) *Count { return &s.Server.NetUDP }, kind: counter, sum: 'n'},
	{metric: "rpc.server.nettcpcnt", field: func(s *System) *Count { return &s.Server.NetTCP }, kind: counter, sum: 'n'},
	{metric: "rpc.server.nettcpconn", field: func(s *System) *Count { return &s.Server.NetTCPConn }, kind: counter, sum: 'n'},
	{metric: "rpc.server.rpccnt", field: func(s *System) *Count { return &s.Server.Calls }, kind: counter, sum: 'n'},
	{metric: "rpc.server.rpcbadfmt", field: func(s *System) *Count { return &s.Server.BadFormat }, kind: counter, sum: 'n'},
	{metric: "rpc.server.rpcbadauth", field: func(s *System) *Count { return &s.Server.BadAuth }, kind: counter, sum: 'n'},
	{metric: "rpc.server.rpcbadclnt", field: func(s *System) *Count { return &s.Server.BadClient }, kind: counter, sum: 'n'},
	{metric: "nfs.server.reqs", field: func(s *System) *Count { return &s.Server.Reads }, kind: counter, inst: &instance{6, 6}, same: true, sum: 'n'},
	{metric: "nfs.server.reqs", field: func(s *System) *Count { return &s.Server.Writes }, kind: counter, inst: &instance{8, 8}, same: true, sum: 'n'},
	{metric: "nfs3.server.reqs", field: func(s *System) *Count { return &s.Server.Reads }, kind: counter, inst: &instance{6, 6}, same: true, sum: 'n'},
	{metric: "nfs3.server.reqs", field: func(s *System) *Count { return &s.Server.Writes }, kind: counter, inst: &instance{7, 7}, same: true, sum: 'n'},
	{metric: "nfs4.server.reqs", field: func(s *System) *Count { return &s.Server.Reads }, kind: counter, inst: &instance{26, 25}, same: true, sum: 'n'},
	{metric: "nfs4.server.reqs", field: func(s *System) *Count { return &s.Server.Writes }, kind: counter, inst: &instance{39, 38}, same: true, sum: 'n'},
	{metric: "rpc.client.rpccnt", field: func(s *System) *Count { return &s.Client.Calls }, kind: counter, sum: 'n'},
	{metric: "rpc.client.rpcretrans", field: func(s *System) *Count { return &s.Client.Retrans }, kind: counter, sum: 'n'},
	{metric: "rpc.client.rpcauthrefresh", field: func(s *System) *Count { return &s.Client.AuthRefresh }, kind: counter, sum: 'n'},
	{metric: "nfs.client.reqs", field: func(s *System) *Count { return &s.Client.Reads }, kind: counter, inst: &instance{6, 6}, same: true, sum: 'n'},
	{metric: "nfs.client.reqs", field: func(s *System) *Count { return &s.Client.Writes }, kind: counter, inst: &instance{8, 8}, same: true, sum: 'n'},
	{metric: "nfs3.client.reqs", field: func(s *System) *Count { return &s.Client.Reads }, kind: counter, inst: &instance{6, 6}, same: true, sum: 'n'},
	{metric: "nfs3.client.reqs", field: func(s *System) *Count { return &s.Client.Writes }, kind: counter, inst: &instance{7, 7}, same: true, sum: 'n'},
	{metric: "nfs4.client.reqs", field: func(s *System) *Count { return &s.Client.Reads }, kind: counter, inst: &instance{1, 1}, same: true, sum: 'n'},
	{metric: "nfs4.client.reqs", field: func(s *System) *Count { return &s.Client.Writes }, kind: counter, inst: &instance{2, 2}, same: true, sum: 'n'},

	// Pressure.
	{metric: "kernel.all.pressure.cpu.some.avg", field: func(s *System) *Count { return &s.Pressure.CPUSome.Avg10 }, kind: gauge, inst: &instance{10, 0}},
	{metric: "kernel.all.pressure.cpu.some.avg", field: func(s *System) *Count { return &s.Pressure.CPUSome.Avg60 }, kind: gauge, inst: &instance{60, 1}},
	{metric: "kernel.all.pressure.cpu.some.avg", field: func(s *System) *Count { return &s.Pressure.CPUSome.Avg300 }, kind: gauge, inst: &instance{300, 2}},
	{metric: "kernel.all.pressure.cpu.some.total", field: func(s *System) *Count { return &s.Pressure.CPUSome.Total }, kind: pressure},
	{metric: "kernel.all.pressure.memory.some.avg", field: func(s *System) *Count { return &s.Pressure.MemSome.Avg10 }, kind: gauge, inst: &instance{10, 0}},
	{metric: "kernel.all.pressure.memory.some.avg", field: func(s *System) *Count { return &s.Pressure.MemSome.Avg60 }, kind: gauge, inst: &instance{60, 1}},
	{metric: "kernel.all.pressure.memory.some.avg", field: func(s *System) *Count { return &s.Pressure.MemSome.Avg300 }, kind: gauge, inst: &instance{300, 2}},
	{metric: "kernel.all.pressure.memory.some.total", field: func(s *System) *Count { return &s.Pressure.MemSome.Total }, kind: pressure},
	{metric: "kernel.all.pressure.memory.full.avg", field: func(s *System) *Count { return &s.Pressure.MemFull.Avg10 }, kind: gauge, inst: &instance{10, 0}},
	{metric: "kernel.all.pressure.memory.full.avg", field: func(s *System) *Count { return &s.Pressure.MemFull.Avg60 }, kind: gauge, inst: &instance{60, 1}},
	{metric: "kernel.all.pressure.memory.full.avg", field: func(s *System) *Count { return &s.Pressure.MemFull.Avg300 }, kind: gauge, inst: &instance{300, 2}},
	{metric: "kernel.all.pressure.memory.full.total", field: func(s *System) *Count { return &s.Pressure.MemFull.Total }, kind: pressure},
	{metric: "kernel.all.pressure.io.some.avg", field: func(s *System) *Count { return &s.Pressure.IOSome.Avg10 }, kind: gauge, inst: &instance{10, 0}},
	{metric: "kernel.all.pressure.io.some.avg", field: func(s *System) *Count { return &s.Pressure.IOSome.Avg60 }, kind: gauge, inst: &instance{60, 1}},
	{metric: "kernel.all.pressure.io.some.avg", field: func(s *System) *Count { return &s.Pressure.IOSome.Avg300 }, kind: gauge, inst: &instance{300, 2}},
	{metric: "kernel.all.pressure.io.some.total", field: func(s *System) *Count { return &s.Pressure.IOSome.Total }, kind: pressure},
	{metric: "kernel.all.pressure.io.full.avg", field: func(s *System) *Count { return &s.Pressure.IOFull.Avg10 }, kind: gauge, inst: &instance{10, 0}},
	{metric: "kernel.all.pressure.io.full.avg", field: func(s *System) *Count { return &s.Pressure.IOFull.Avg60 }, kind: gauge, inst: &instance{60, 1}},
	{metric: "kernel.all.pressure.io.full.avg", field: func(s *System) *Count { return &s.Pressure.IOFull.Avg300 }, kind: gauge, inst: &instance{300, 2}},
	{metric: "kernel.all.pressure.io.full.total", field: func(s *System) *Count { return &s.Pressure.IOFull.Total }, kind: pressure},

	// A web server.
	{metric: "apache.total_accesses", field: func(s *System) *Count { return &s.Web.Requests }, kind: special, sum: 'n'},
	{metric: "apache.total_kbytes", field: func(s *System) *Count { return &s.Web.KBytes }, kind: special, sum: 'n'},
	{metric: "apache.uptime", field: func(s *System) *Count { return &s.Web.Uptime }, kind: special},
	{metric: "apache.busy_servers", field: func(s *System) *Count { return &s.Web.Busy }, kind: gauge, sum: 'n'},
	{metric: "apache.idle_servers", field: func(s *System) *Count { return &s.Web.Idle }, kind: gauge, sum: 'n'},
}
