// Package xfs is the agent for XFS: what the file systems of that type do, all together
// and each by itself, and the quota of projects.
//
//	a := xfs.New(xfs.Config{})
//
// The counters come from /sys/fs/xfs/stats/stats, or from /proc/fs/xfs where a kernel
// older than 4.4 keeps them, and those of each device from /sys/fs/xfs/DEVICE/stats/stats.
// Only files that the wanted metrics need are read, once for all clients that ask at the
// same time. A counter that the kernel does not know is 0, as in the C agent; without XFS
// there are no values. A client that may store values sets all counters to 0 by storing
// into xfs.control.reset.
//
// Metrics keep the PMIDs, types, units and instance names that pmdaxfs(1) has given them.
package xfs
