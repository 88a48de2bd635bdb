// Package zfs is the agent for ZFS: the cache in memory and on fast devices, transactions, the intent log and pools, of the files of
// the module in /proc/spl/kstat/zfs.
//
//	a, err := zfs.New(zfs.Config{})
//
// A counter that the version of ZFS does not have has no value. The file with the input and output of a pool is that of versions before 2.1; later
// ones have only its state. Metrics keep the PMIDs, types and units that pmdazfs(1) has given them.
package zfs
