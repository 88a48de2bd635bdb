package linux

// An indomSpec says which block lists the instances of a domain, and describes it.
type indomSpec struct {
	serial inDom
	block  blockID
	labels string // of the domain, a JSON object; "" for none
	help   string
}

// indoms are the instance domains.
var indoms = [...]indomSpec{
	{cpuInDom, blockCPU, `{"device_type":"cpu","indom_name":"per cpu"}`, "Processors that are online"},
	{diskInDom, blockDisk, `{"device_type":"block","indom_name":"per disk"}`, "Disks"},
	{loadInDom, blockLoad, "", "Times over which the load is averaged: 1, 5 and 15 minutes"},
	{netInDom, blockNet, `{"device_type":"interface","indom_name":"per interface"}`, "Network interfaces"},
	{irqInDom, blockIRQ, `{"device_type":"irq","indom_name":"per irq"}`, "Interrupts by number or name, without regard to processors"},
	{filesysInDom, blockMount, "", "Mounted file systems on a block device, by device"},
	{swapInDom, blockSwap, `{"device_type":["block","memory"],"indom_name":"per swap device"}`, "Devices and files that hold swapped pages"},
	{nfsInDom, blockNFS2Client, "", "Operations of NFS version 2"},
	{nfs3InDom, blockNFS3Client, "", "Operations of NFS version 3"},
	{partInDom, blockPart, `{"device_type":"block","indom_name":"per partition"}`, "Partitions of disks"},
	{scsiInDom, blockSCSI, `{"device_type":"block","indom_name":"per disk"}`, "SCSI devices, by address and type"},
	{slabInDom, blockSlab, `{"device_type":"memory","indom_name":"per slab"}`, "Caches of kernel objects"},
	{nfs4CliInDom, blockNFS4Client, "", "Operations of NFS version 4, as the client counts them"},
	{nfs4SvrInDom, blockNFS4Server, "", "Operations of NFS version 4, as the server counts them"},
	{netAddrInDom, blockNetAddr, `{"device_type":"interface","indom_name":"per interface"}`, "Network interfaces with their aliases"},
	{tmpfsInDom, blockTmpfsMount, "", "Mounted tmpfs file systems, by directory"},
	{nodeInDom, blockNodeCPU, `{"device_type":"numa_node","indom_name":"per numa_node"}`, "NUMA nodes"},
	{icmpMsgInDom, blockICMPMsg, "", "Types of ICMP messages"},
	{dmInDom, blockDM, `{"device_type":"block","indom_name":"per dm device"}`, "Device mapper volumes"},
	{mdInDom, blockMD, `{"device_type":"block","indom_name":"per md device"}`, "Software RAID devices"},
	{shmInDom, blockShm, "", "Shared memory segments, by identifier"},
	{msgInDom, blockMsg, "", "Message queues, by identifier"},
	{semInDom, blockSem, "", "Sets of semaphores, by identifier"},
	{buddyInDom, blockBuddy, `{"device_type":["memory","numa_node"],"indom_name":"per buddy per numa_node"}`, "Sizes of free memory blocks, by zone and node"},
	{zoneInDom, blockZone, `{"device_type":["memory","numa_node"],"indom_name":"per zone per numa_node"}`, "Memory zones of each node, and the nodes"},
	{zoneProtInDom, blockZoneProt, "", "Reserves of each memory zone against allocations for other zones"},
	{tapeInDom, blockTape, "", "Tape drives"},
	{ttyInDom, blockTTY, "", "Serial ports"},
	{fcInDom, blockFC, "", "Fibre Channel host adapters"},
	{softirqInDom, blockSoftirq, `{"indom_name":"per softirq"}`, "Soft interrupts, without regard to processors"},
	{pressureInDom, blockPressure, "", "Times over which pressure is averaged: 10 seconds, 1 and 5 minutes"},
	{zramInDom, blockZram, "", "Compressed memory devices"},
	{cpuIRQInDom, blockCPUIRQ, `{"device_type":["irq","cpu"],"indom_name":"per cpu, per irq"}`, "Interrupts on each processor"},
	{cpuSoftirqInDom, blockCPUSoftirq, `{"device_type":"cpu","indom_name":"per cpu, per softirq"}`, "Soft interrupts on each processor"},
	{wwidInDom, blockWWID, "", "Multipath devices, by world wide identifier"},
}
