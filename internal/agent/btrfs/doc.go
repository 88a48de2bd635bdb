// Package btrfs is the agent for Btrfs: space, commits and discards of the mounted file systems, and errors of their devices, of the files
// in /sys/fs/btrfs.
//
//	a, err := btrfs.New(btrfs.Config{})
//
// A file that the kernel does not have leaves its metrics without values. Names, PMIDs, types and units are those of pmdabtrfs(1).
package btrfs
