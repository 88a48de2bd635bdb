package linux

import "github.com/go-pcp/pcp/pmda/column"

// families returns all families of metrics of a host. The name space has their metrics in this
// order, after the subtrees that the list order names.
func families(h *host) []column.Family {
	cpus := newCPUReader(h)
	meminfo := newMeminfoReader(h)
	disks := newDiskReader(h)
	return []column.Family{
		loadFamily(h),
		cpus.family(),
		settingsFamily(h),
		utmpFamily(h),
		kernelFamily(h),
		interruptsFamily(h, cpus.cpuInDom),
		pressureFamily(h),
		unameFamily(h),
		meminfo.family(),
		newNUMAReader(h, cpus, meminfo).family(),
		buddyFamily(h),
		extfragFamily(h, cpus),
		balloonFamily(h),
		zswapFamily(h),
		hugepagesFamily(h),
		numaHugepagesFamily(h, cpus),
		slabFamily(h),
		ksmFamily(h),
		newVmstatReader(h).family(),
		swapFamily(h),
		newZoneReader(h).family(),
		disks.family(),
		zramFamily(h, disks),
		scsiFamily(h),
		classFamily(h),
		ttyFamily(h),
		newNetReader(h).family(),
		netAddrFamily(h),
		sockstatFamily(h),
		newSNMPReader(h).family(),
		newNetstatReader(h).family(),
		snmp6Family(h),
		softnetFamily(h, cpus),
		socketFamily(h),
		newMountReader(h).family(),
		vfsFamily(h),
		lockFamily(h),
		cpuInfoFamily(h, cpus),
		nfsFamily(h),
		newNFSClientReader(h).family(),
		ipcFamily(h),
	}
}
