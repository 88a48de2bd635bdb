package btrfs

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of the table.
const (
	blockInfo = iota // with the names of the file systems
	blockCommit
	blockAllocation
	blockDiscard
	blockDevice // with the names of the devices
	numBlocks
)

// metrics returns the table. A key is a file, or the file and a word before the value.
func metrics() []column.Metric {
	const discrete, instant, counter = pcp.SemDiscrete, pcp.SemInstant, pcp.SemCounter
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	count := pcp.Units{DimCount: 1}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	rate := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte, DimTime: -1, ScaleTime: pcp.TimeSec}
	table := []column.Metric{
		{Name: "btrfs.fs.label", Cluster: 0, Item: 0, Type: pcp.TypeString, Sem: discrete, Units: pcp.Units{}, From: blockInfo, Key: "label", Help: "Label of each file system"},
		{Name: "btrfs.fs.nodesize", Cluster: 0, Item: 1, Type: pcp.TypeU64, Sem: discrete, Units: bytes, From: blockInfo, Key: "nodesize", Help: "Size of a node of the trees"},
		{Name: "btrfs.fs.sectorsize", Cluster: 0, Item: 2, Type: pcp.TypeU64, Sem: discrete, Units: bytes, From: blockInfo, Key: "sectorsize", Help: "Size of a sector"},
		{Name: "btrfs.fs.generation", Cluster: 0, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: pcp.Units{}, From: blockInfo, Key: "generation", Help: "Generation of each file system"},
		{Name: "btrfs.fs.checksum", Cluster: 0, Item: 4, Type: pcp.TypeString, Sem: discrete, Units: pcp.Units{}, From: blockInfo, Key: "checksum", Help: "Kind of the checksums"},
		{Name: "btrfs.fs.metadata_uuid", Cluster: 0, Item: 5, Type: pcp.TypeString, Sem: discrete, Units: pcp.Units{}, From: blockInfo, Key: "metadata_uuid", Help: "UUID in the metadata"},
		{Name: "btrfs.commit.count", Cluster: 1, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockCommit, Key: "commit_stats commits", Help: "Transactions committed"},
		{Name: "btrfs.commit.last_time", Cluster: 1, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: msec, From: blockCommit, Key: "commit_stats last_commit_ms", Help: "Duration of the last commit"},
		{Name: "btrfs.commit.max_time", Cluster: 1, Item: 2, Type: pcp.TypeU64, Sem: discrete, Units: msec, From: blockCommit, Key: "commit_stats max_commit_ms", Help: "Duration of the longest commit"},
		{Name: "btrfs.commit.total_time", Cluster: 1, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockCommit, Key: "commit_stats total_commit_ms", Help: "Time that commits took"},
		{Name: "btrfs.allocation.data.total_bytes", Cluster: 2, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/total_bytes", Help: "Space of block groups of data"},
		{Name: "btrfs.allocation.data.bytes_used", Cluster: 2, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/bytes_used", Help: "Space in use by data"},
		{Name: "btrfs.allocation.data.bytes_pinned", Cluster: 2, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/bytes_pinned", Help: "Space of data that becomes free with the transaction"},
		{Name: "btrfs.allocation.data.bytes_reserved", Cluster: 2, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/bytes_reserved", Help: "Space of data reserved by the transaction"},
		{Name: "btrfs.allocation.data.bytes_readonly", Cluster: 2, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/bytes_readonly", Help: "Space of data in read-only block groups"},
		{Name: "btrfs.allocation.data.disk_used", Cluster: 2, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/disk_used", Help: "Space on disks in use by data"},
		{Name: "btrfs.allocation.data.disk_total", Cluster: 2, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/data/disk_total", Help: "Space on disks of block groups of data"},
		{Name: "btrfs.allocation.metadata.total_bytes", Cluster: 3, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/total_bytes", Help: "Space of block groups of metadata"},
		{Name: "btrfs.allocation.metadata.bytes_used", Cluster: 3, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/bytes_used", Help: "Space in use by metadata"},
		{Name: "btrfs.allocation.metadata.bytes_pinned", Cluster: 3, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/bytes_pinned", Help: "Space of metadata that becomes free with the transaction"},
		{Name: "btrfs.allocation.metadata.bytes_reserved", Cluster: 3, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/bytes_reserved", Help: "Space of metadata reserved by the transaction"},
		{Name: "btrfs.allocation.metadata.bytes_readonly", Cluster: 3, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/bytes_readonly", Help: "Space of metadata in read-only block groups"},
		{Name: "btrfs.allocation.metadata.disk_used", Cluster: 3, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/disk_used", Help: "Space on disks in use by metadata"},
		{Name: "btrfs.allocation.metadata.disk_total", Cluster: 3, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/metadata/disk_total", Help: "Space on disks of block groups of metadata"},
		{Name: "btrfs.allocation.system.total_bytes", Cluster: 4, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/total_bytes", Help: "Space of block groups of the chunk tree"},
		{Name: "btrfs.allocation.system.bytes_used", Cluster: 4, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/bytes_used", Help: "Space in use by the chunk tree"},
		{Name: "btrfs.allocation.system.bytes_pinned", Cluster: 4, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/bytes_pinned", Help: "Space of the chunk tree that becomes free with the transaction"},
		{Name: "btrfs.allocation.system.bytes_reserved", Cluster: 4, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/bytes_reserved", Help: "Space of the chunk tree reserved by the transaction"},
		{Name: "btrfs.allocation.system.bytes_readonly", Cluster: 4, Item: 4, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/bytes_readonly", Help: "Space of the chunk tree in read-only block groups"},
		{Name: "btrfs.allocation.system.disk_used", Cluster: 4, Item: 5, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/disk_used", Help: "Space on disks in use by the chunk tree"},
		{Name: "btrfs.allocation.system.disk_total", Cluster: 4, Item: 6, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/system/disk_total", Help: "Space on disks of block groups of the chunk tree"},
		{Name: "btrfs.allocation.global_rsv_size", Cluster: 5, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/global_rsv_size", Help: "Size of the global reserve of metadata"},
		{Name: "btrfs.allocation.global_rsv_reserved", Cluster: 5, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockAllocation, Key: "allocation/global_rsv_reserved", Help: "Space reserved in the global reserve"},
		{Name: "btrfs.device.write_errs", Cluster: 6, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockDevice, Key: "error_stats write_errs", Help: "Failed writes to each device"},
		{Name: "btrfs.device.read_errs", Cluster: 6, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockDevice, Key: "error_stats read_errs", Help: "Failed reads from each device"},
		{Name: "btrfs.device.flush_errs", Cluster: 6, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockDevice, Key: "error_stats flush_errs", Help: "Failed flushes of each device"},
		{Name: "btrfs.device.corruption_errs", Cluster: 6, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockDevice, Key: "error_stats corruption_errs", Help: "Blocks of each device with a wrong checksum"},
		{Name: "btrfs.device.generation_errs", Cluster: 6, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockDevice, Key: "error_stats generation_errs", Help: "Blocks of each device of a wrong generation"},
		{Name: "btrfs.discard.discardable_bytes", Cluster: 7, Item: 0, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockDiscard, Key: "discard/discardable_bytes", Help: "Free space that is to be discarded"},
		{Name: "btrfs.discard.discardable_extents", Cluster: 7, Item: 1, Type: pcp.TypeU64, Sem: instant, Units: count, From: blockDiscard, Key: "discard/discardable_extents", Help: "Free extents that are to be discarded"},
		{Name: "btrfs.discard.discard_bitmap_bytes", Cluster: 7, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockDiscard, Key: "discard/discard_bitmap_bytes", Help: "Space discarded by bitmaps"},
		{Name: "btrfs.discard.discard_extent_bytes", Cluster: 7, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockDiscard, Key: "discard/discard_extent_bytes", Help: "Space discarded by extents"},
		{Name: "btrfs.discard.discard_bytes_saved", Cluster: 7, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: bytes, From: blockDiscard, Key: "discard/discard_bytes_saved", Help: "Space that was used again before it was discarded"},
		{Name: "btrfs.discard.iops_limit", Cluster: 7, Item: 5, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockDiscard, Key: "discard/iops_limit", Help: "Limit of discards a second"},
		{Name: "btrfs.discard.kbps_limit", Cluster: 7, Item: 6, Type: pcp.TypeU32, Sem: instant, Units: rate, From: blockDiscard, Key: "discard/kbps_limit", Help: "Limit of the space discarded a second"},
		{Name: "btrfs.discard.max_discard_size", Cluster: 7, Item: 7, Type: pcp.TypeU64, Sem: instant, Units: bytes, From: blockDiscard, Key: "discard/max_discard_size", Help: "Largest discard"},
	}
	for i := range table {
		m := &table[i]
		m.Long = "The file " + strings.Replace(m.Key, " ", ", the line ", 1) + where(m.From)
	}
	return table
}

// where ends the help texts.
func where(block int) string {
	if block == blockDevice {
		return " below\n/sys/fs/btrfs/UUID/devinfo/ID. The counters are those of btrfs device stats."
	}
	return " below\n/sys/fs/btrfs/UUID."
}
