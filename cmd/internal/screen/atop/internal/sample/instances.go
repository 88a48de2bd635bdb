package sample

import "slices"

// A column maps a metric to a field of each instance.
type column[T any] struct {
	metric string
	field  func(*T) *Count
	kind   kind
	divide Count // the divisor of the value, 0: 1
	// Instead means that the row's metric is used if the row before has found 0.
	instead bool
}

// A domain is a table of instances.
type domain[T any] struct {
	what    string // for messages, as in C
	key     string // the metric whose instance domain it is
	columns []column[T]
}

var cpuDomain = domain[CPU]{"processors", "kernel.percpu.cpu.user", cpuColumns}

var cpuColumns = []column[CPU]{
	{metric: "kernel.percpu.cpu.user", field: func(t *CPU) *Count { return &t.User }, kind: counter},
	{metric: "kernel.percpu.cpu.nice", field: func(t *CPU) *Count { return &t.Nice }, kind: counter},
	{metric: "kernel.percpu.cpu.sys", field: func(t *CPU) *Count { return &t.Sys }, kind: counter},
	{metric: "kernel.percpu.cpu.idle", field: func(t *CPU) *Count { return &t.Idle }, kind: counter},
	{metric: "kernel.percpu.cpu.wait.total", field: func(t *CPU) *Count { return &t.Wait }, kind: counter},
	{metric: "kernel.percpu.cpu.irq.hard", field: func(t *CPU) *Count { return &t.IRQ }, kind: counter},
	{metric: "kernel.percpu.cpu.irq.soft", field: func(t *CPU) *Count { return &t.SoftIRQ }, kind: counter},
	{metric: "kernel.percpu.cpu.steal", field: func(t *CPU) *Count { return &t.Steal }, kind: counter},
	{metric: "kernel.percpu.cpu.guest", field: func(t *CPU) *Count { return &t.Guest }, kind: counter},
	{metric: "hinv.cpu.frequency_scaling.count", field: func(t *CPU) *Count { return &t.Freq }, kind: special},
	{metric: "hinv.cpu.clock", field: func(t *CPU) *Count { return &t.Freq }, kind: special, instead: true},
	{metric: "hinv.cpu.frequency_scaling.time", field: func(t *CPU) *Count { return &t.FreqTicks }, kind: special},
	{metric: "hinv.cpu.frequency_scaling.max", field: func(t *CPU) *Count { return &t.FreqMax }, kind: gauge},
	{metric: "perfevent.hwcounters.INSTRUCTIONS_RETIRED.value", field: func(t *CPU) *Count { return &t.Instr }, kind: counter},
	{metric: "perfevent.hwcounters.INSTRUCTION_RETIRED.value", field: func(t *CPU) *Count { return &t.Instr }, kind: counter, instead: true},
	{metric: "perfevent.hwcounters.UNHALTED_REFERENCE_CYCLES.value", field: func(t *CPU) *Count { return &t.Cycles }, kind: counter},
}

var (
	diskDomain   = domain[Disk]{"disks", "disk.dev.read", diskColumns}
	volumeDomain = domain[Disk]{"lvm", "disk.dm.read", volumeColumns}
	arrayDomain  = domain[Disk]{"md", "disk.md.read", arrayColumns}
)

var diskColumns = []column[Disk]{
	{metric: "disk.dev.read", field: func(t *Disk) *Count { return &t.Reads }, kind: counter},
	{metric: "disk.dev.blkread", field: func(t *Disk) *Count { return &t.ReadSectors }, kind: counter},
	{metric: "disk.dev.write", field: func(t *Disk) *Count { return &t.Writes }, kind: counter},
	{metric: "disk.dev.blkwrite", field: func(t *Disk) *Count { return &t.WriteSectors }, kind: counter},
	{metric: "disk.dev.avactive", field: func(t *Disk) *Count { return &t.BusyMS }, kind: counter},
	{metric: "disk.dev.aveq", field: func(t *Disk) *Count { return &t.Queue }, kind: counter},
	{metric: "disk.dev.discard", field: func(t *Disk) *Count { return &t.Discards }, kind: counter},
	{metric: "disk.dev.blkdiscard", field: func(t *Disk) *Count { return &t.DiscardSectors }, kind: counter},
	{metric: "disk.dev.inflight", field: func(t *Disk) *Count { return &t.InFlight }, kind: gauge},
}

// C prints uninitialized memory for the requests in flight of volumes and arrays; here they are the real
// values.
var volumeColumns = []column[Disk]{
	{metric: "disk.dm.read", field: func(t *Disk) *Count { return &t.Reads }, kind: counter},
	{metric: "disk.dm.blkread", field: func(t *Disk) *Count { return &t.ReadSectors }, kind: counter},
	{metric: "disk.dm.write", field: func(t *Disk) *Count { return &t.Writes }, kind: counter},
	{metric: "disk.dm.blkwrite", field: func(t *Disk) *Count { return &t.WriteSectors }, kind: counter},
	{metric: "disk.dm.discard", field: func(t *Disk) *Count { return &t.Discards }, kind: counter},
	{metric: "disk.dm.blkdiscard", field: func(t *Disk) *Count { return &t.DiscardSectors }, kind: counter},
	{metric: "disk.dm.inflight", field: func(t *Disk) *Count { return &t.InFlight }, kind: gauge},
}

var arrayColumns = []column[Disk]{
	{metric: "disk.md.read", field: func(t *Disk) *Count { return &t.Reads }, kind: counter},
	{metric: "disk.md.blkread", field: func(t *Disk) *Count { return &t.ReadSectors }, kind: counter},
	{metric: "disk.md.write", field: func(t *Disk) *Count { return &t.Writes }, kind: counter},
	{metric: "disk.md.blkwrite", field: func(t *Disk) *Count { return &t.WriteSectors }, kind: counter},
	{metric: "disk.md.discard", field: func(t *Disk) *Count { return &t.Discards }, kind: counter},
	{metric: "disk.md.blkdiscard", field: func(t *Disk) *Count { return &t.DiscardSectors }, kind: counter},
	{metric: "disk.md.inflight", field: func(t *Disk) *Count { return &t.InFlight }, kind: gauge},
}

var interfaceDomain = domain[Interface]{"interfaces", "network.interface.in.bytes", interfaceColumns}

var interfaceColumns = []column[Interface]{
	{metric: "network.interface.in.bytes", field: func(t *Interface) *Count { return &t.InBytes }, kind: counter},
	{metric: "network.interface.in.packets", field: func(t *Interface) *Count { return &t.InPackets }, kind: counter},
	{metric: "network.interface.in.errors", field: func(t *Interface) *Count { return &t.InErrors }, kind: counter},
	{metric: "network.interface.in.drops", field: func(t *Interface) *Count { return &t.InDrops }, kind: counter},
	{metric: "network.interface.in.fifo", field: func(t *Interface) *Count { return &t.InFIFO }, kind: counter},
	{metric: "network.interface.in.frame", field: func(t *Interface) *Count { return &t.InFrame }, kind: counter},
	{metric: "network.interface.in.compressed", field: func(t *Interface) *Count { return &t.InCompressed }, kind: counter},
	{metric: "network.interface.in.mcasts", field: func(t *Interface) *Count { return &t.InMulticast }, kind: counter},
	{metric: "network.interface.out.bytes", field: func(t *Interface) *Count { return &t.OutBytes }, kind: counter},
	{metric: "network.interface.out.packets", field: func(t *Interface) *Count { return &t.OutPackets }, kind: counter},
	{metric: "network.interface.out.errors", field: func(t *Interface) *Count { return &t.OutErrors }, kind: counter},
	{metric: "network.interface.out.drops", field: func(t *Interface) *Count { return &t.OutDrops }, kind: counter},
	{metric: "network.interface.out.fifo", field: func(t *Interface) *Count { return &t.OutFIFO }, kind: counter},
	{metric: "network.interface.collisions", field: func(t *Interface) *Count { return &t.Collisions }, kind: counter},
	{metric: "network.interface.out.carrier", field: func(t *Interface) *Count { return &t.Carrier }, kind: counter},
	{metric: "network.interface.out.compressed", field: func(t *Interface) *Count { return &t.OutCompressed }, kind: counter},
}

var portDomain = domain[Port]{"ibports", "infiniband.port.rate", portColumns}

var portColumns = []column[Port]{
	{metric: "infiniband.port.rate", field: func(t *Port) *Count { return &t.Rate }, kind: gauge},
	{metric: "infiniband.port.in.bytes", field: func(t *Port) *Count { return &t.InBytes }, kind: plain},
	{metric: "infiniband.port.out.bytes", field: func(t *Port) *Count { return &t.OutBytes }, kind: plain},
	{metric: "infiniband.port.in.packets", field: func(t *Port) *Count { return &t.InPackets }, kind: plain},
	{metric: "infiniband.port.out.packets", field: func(t *Port) *Count { return &t.OutPackets }, kind: plain},
}

var mountDomain = domain[Mount]{"nfsclient", "nfsclient.export", mountColumns}

var mountColumns = []column[Mount]{
	{metric: "nfsclient.age", field: func(t *Mount) *Count { return &t.Age }, kind: gauge},
	{metric: "nfsclient.bytes.read.normal", field: func(t *Mount) *Count { return &t.Read }, kind: counter},
	{metric: "nfsclient.bytes.write.normal", field: func(t *Mount) *Count { return &t.Write }, kind: counter},
	{metric: "nfsclient.bytes.read.direct", field: func(t *Mount) *Count { return &t.DirectRead }, kind: counter},
	{metric: "nfsclient.bytes.write.direct", field: func(t *Mount) *Count { return &t.DirectWrite }, kind: counter},
	{metric: "nfsclient.bytes.read.server", field: func(t *Mount) *Count { return &t.TotalRead }, kind: counter},
	{metric: "nfsclient.bytes.write.server", field: func(t *Mount) *Count { return &t.TotalWrite }, kind: counter},
	{metric: "nfsclient.pages.read", field: func(t *Mount) *Count { return &t.MappedRead }, kind: counter},
	{metric: "nfsclient.pages.write", field: func(t *Mount) *Count { return &t.MappedWrite }, kind: counter},
}

var nodeMemDomain = domain[NodeMemory]{"memnuma", "mem.numa.util.total", nodeMemColumns}

var nodeMemColumns = []column[NodeMemory]{
	{metric: "sysfs.kernel.debug.extfrag_unusable", field: func(t *NodeMemory) *Count { return &t.Fragmentation }, kind: gauge},
	{metric: "mem.numa.util.total", field: func(t *NodeMemory) *Count { return &t.Total }, kind: gauge},
	{metric: "mem.numa.util.free", field: func(t *NodeMemory) *Count { return &t.Free }, kind: gauge},
	{metric: "mem.numa.util.filePages", field: func(t *NodeMemory) *Count { return &t.File }, kind: gauge},
	{metric: "mem.numa.util.dirty", field: func(t *NodeMemory) *Count { return &t.Dirty }, kind: gauge},
	{metric: "mem.numa.util.slab", field: func(t *NodeMemory) *Count { return &t.Slab }, kind: gauge},
	{metric: "mem.numa.util.slabReclaimable", field: func(t *NodeMemory) *Count { return &t.SlabReclaim }, kind: gauge},
	{metric: "mem.numa.util.active", field: func(t *NodeMemory) *Count { return &t.Active }, kind: gauge},
	{metric: "mem.numa.util.inactive", field: func(t *NodeMemory) *Count { return &t.Inactive }, kind: gauge},
	{metric: "mem.numa.util.shmem", field: func(t *NodeMemory) *Count { return &t.Shared }, kind: gauge},
	{metric: "mem.numa.util.hugepagesTotalBytes", field: func(t *NodeMemory) *Count { return &t.Huge }, kind: gauge},
}

// nodeMemory returns nodeMemDomain, with the column of PCP 7 if seven.
func nodeMemory(seven bool) domain[NodeMemory] {
	d := nodeMemDomain
	if seven {
		free := column[NodeMemory]{metric: "mem.numa.util.hugepagesFree", field: func(t *NodeMemory) *Count { return &t.HugeFree }, kind: gauge}
		d.columns = append(slices.Clip(d.columns), free)
	}
	return d
}

var cacheDomain = domain[Cache]{"perllc", "resctrl.llc.occupancy", cacheColumns}

var cacheColumns = []column[Cache]{
	{metric: "resctrl.llc.mbm_local", field: func(t *Cache) *Count { return &t.Local }, kind: plain},
	{metric: "resctrl.llc.mbm_total", field: func(t *Cache) *Count { return &t.Total }, kind: plain},
}

var nodeCPUDomain = domain[NodeCPU]{"cpunuma", "kernel.pernode.cpu.user", nodeCPUColumns}

var nodeCPUColumns = []column[NodeCPU]{
	{metric: "kernel.pernode.cpu.user", field: func(t *NodeCPU) *Count { return &t.User }, kind: counter},
	{metric: "kernel.pernode.cpu.nice", field: func(t *NodeCPU) *Count { return &t.Nice }, kind: counter},
	{metric: "kernel.pernode.cpu.sys", field: func(t *NodeCPU) *Count { return &t.Sys }, kind: counter},
	{metric: "kernel.pernode.cpu.idle", field: func(t *NodeCPU) *Count { return &t.Idle }, kind: counter},
	{metric: "kernel.pernode.cpu.wait.total", field: func(t *NodeCPU) *Count { return &t.Wait }, kind: counter},
	{metric: "kernel.pernode.cpu.irq.hard", field: func(t *NodeCPU) *Count { return &t.IRQ }, kind: counter},
	{metric: "kernel.pernode.cpu.irq.soft", field: func(t *NodeCPU) *Count { return &t.SoftIRQ }, kind: counter},
	{metric: "kernel.pernode.cpu.steal", field: func(t *NodeCPU) *Count { return &t.Steal }, kind: counter},
	{metric: "kernel.pernode.cpu.guest", field: func(t *NodeCPU) *Count { return &t.Guest }, kind: counter},
}

var gpuDomain = domain[GPU]{"gpus", "nvidia.gpuactive", gpuColumns}

var gpuColumns = []column[GPU]{
	{metric: "nvidia.samples", field: func(t *GPU) *Count { return &t.Samples }, kind: counter},
	{metric: "nvidia.memtotal", field: func(t *GPU) *Count { return &t.MemTotal }, kind: gauge, divide: 1024},
	{metric: "nvidia.memused", field: func(t *GPU) *Count { return &t.MemUsed }, kind: gauge, divide: 1024},
	{metric: "nvidia.gpuutilaccum", field: func(t *GPU) *Count { return &t.Busy }, kind: counter},
	{metric: "nvidia.memutilaccum", field: func(t *GPU) *Count { return &t.MemBusy }, kind: counter},
	{metric: "nvidia.memusedaccum", field: func(t *GPU) *Count { return &t.MemUsedSum }, kind: counter, divide: 1024},
}
