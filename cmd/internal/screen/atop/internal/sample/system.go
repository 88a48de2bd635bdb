package sample

// A Count is the value of a counter, or its growth; -1 means that it has no value.
type Count = int64

// A CPU is the time that processors have spent, in milliseconds, and their frequency.
type CPU struct {
	Nr                                                      int32
	User, Nice, Sys, Idle, Wait, IRQ, SoftIRQ, Steal, Guest Count
	// Freq is a sum over FreqTicks, or the frequency itself in MHz if they are 0.
	Freq, FreqTicks, FreqMax Count
	Instr, Cycles            Count
}

// Total returns all time of a processor, except that of guests, which User has too.
func (c *CPU) Total() Count {
	return c.Sys + c.User + c.Nice + c.Idle + c.Wait + c.IRQ + c.SoftIRQ + c.Steal
}

// Memory has the use of memory by the system, in kilobytes unless noted otherwise.
type Memory struct {
	Total, Free, Buffers, Cached, Dirty, Slab, SlabReclaim Count
	SwapTotal, SwapFree, SwapCached                        Count
	Committed, CommitLimit, PageTables                     Count
	Shared                                                 Count
	SharedRSS, SharedSwap                                  Count
	HugeTotal, HugeFree, HugeSize                          Count // pages, pages, bytes
	TCPSockets, UDPSockets                                 Count // pages
	Balloon, ZFSCache, KSMSharing, KSMShared               Count
	ZswapStored, ZswapPool                                 Count
	// Of PCP 7.
	Available, AnonHuge Count
	Zswap, Zswapped     Count // compressed and not
	ZswapIns, ZswapOuts Count // events
	ZswapEnabled        bool

	Scans, Steals, AllocStalls, CompactStalls, Migrated, NUMAMigrated Count // events
	SwapIns, SwapOuts, PageIns, PageOuts, OOMKills                    Count
}

// A Disk is a disk, a logical volume or a device of many.
type Disk struct {
	Name                                     string
	Reads, ReadSectors, Writes, WriteSectors Count
	BusyMS, Queue                            Count
	Discards, DiscardSectors                 Count
	InFlight                                 Count
}

// An Interface is a network interface.
type Interface struct {
	Name                                                   string
	InBytes, InPackets, InErrors, InDrops, InFIFO, InFrame Count
	InCompressed, InMulticast                              Count
	OutBytes, OutPackets, OutErrors, OutDrops, OutFIFO     Count
	Collisions, Carrier, OutCompressed                     Count
	Speed, SpeedBefore                                     Count // Mbit/s, 0 if it is not known
	Duplex                                                 bool
	Type                                                   byte
}

// A Port is a port of InfiniBand.
type Port struct {
	Name                                     string
	Nr, Lanes                                int16
	Rate                                     Count
	InBytes, OutBytes, InPackets, OutPackets Count
}

// A Mount is a file system of an NFS server.
type Mount struct {
	Device                               string
	Age                                  Count // seconds
	Read, Write, DirectRead, DirectWrite Count // bytes
	TotalRead, TotalWrite                Count
	MappedRead, MappedWrite              Count // pages
}

// NFSServer and NFSClient are the calls of NFS.
type NFSServer struct {
	Net, NetUDP, NetTCP, NetTCPConn      Count
	Calls, BadFormat, BadAuth, BadClient Count
	Reads, Writes, ReadBytes, WriteBytes Count
	CacheHits, CacheMisses, Uncached     Count
}

// NFSClient is the part of a client.
type NFSClient struct {
	Calls, Retrans, AuthRefresh, Reads, Writes Count
}

// A Pressure is the time for which tasks had to wait for a resource.
type Pressure struct {
	Avg10, Avg60, Avg300, Total Count
}

// Pressures are the pressures of all resources. As in C the averages are whole numbers.
type Pressures struct {
	// Missing is set if the source does not have them. C treats Missing as present
	// (present_metric_value of libpcp's caller, various.c), and so do the reports.
	Missing                                   bool
	CPUSome, MemSome, MemFull, IOSome, IOFull Pressure
}

// A NodeMemory is the memory of a NUMA node, in kilobytes.
type NodeMemory struct {
	Nr                                          int32
	Fragmentation                               Count
	Total, Free, File, Dirty, Slab, SlabReclaim Count
	Active, Inactive, Shared, Huge              Count
	HugeFree                                    Count // of PCP 7
}

// A NodeCPU is the time of the processors of a NUMA node.
type NodeCPU struct {
	CPU
	CPUs Count
}

// A GPU is a graphics processor.
type GPU struct {
	Nr                        int32
	Type, Bus                 string
	Procs                     uint8
	BusyNow, MemBusyNow       int32 // per cent, -1 if it is not known
	MemTotal, MemUsed         Count // KiB
	Samples                   Count
	Busy, MemBusy, MemUsedSum Count // sums over Samples
}

// A Cache is a last level cache of processors.
type Cache struct {
	Nr           int32
	Occupancy    float32 // from 0 to 1
	Local, Total Count   // bytes between it and memory: of its node, and of all
}

// Web has the counters of an Apache server.
type Web struct {
	Requests, KBytes, Uptime, Busy, Idle Count
}

// A System is the state of a system, or its changes since the sample before.
type System struct {
	Time Time

	Switches, Interrupts, Forks Count
	Load1, Load5, Load15        float32

	CPU  CPU
	CPUs []CPU
	Mem  Memory
	Net  Network

	Interfaces []Interface
	Ports      []Port

	Disks, Volumes, Arrays []Disk // disks, logical volumes (dm), multiple devices (md)

	NodeMem []NodeMemory
	NodeCPU []NodeCPU
	Caches  []Cache // of PCP 7

	Server NFSServer
	Client NFSClient
	Mounts []Mount

	Pressure Pressures
	GPUs     []GPU
	Web      Web
}
