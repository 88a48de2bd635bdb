// Package xfs is the agent for XFS. It serves the activity of the file systems of that
// type, in total and by device, and the quota of projects.
//
//	a := xfs.New(xfs.Config{})
//
// The counters are read from /sys/fs/xfs/stats/stats, or from /proc/fs/xfs of kernels
// older than 4.4, and those of each device from /sys/fs/xfs/DEVICE/stats/stats. Only files
// that the wanted metrics need are read, once for all clients that ask at the same time. A
// counter that the kernel does not know is 0, as in the C agent; without XFS there are no
// values. A client that may store values sets all counters to 0 by storing into
// xfs.control.reset.
//
// Metrics keep the PMIDs, types, units and instance names that pmdaxfs(1) has given them.
package xfs
