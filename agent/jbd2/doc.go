// Package jbd2 is the agent for the journals of ext4 and ocfs2: how many transactions there
// were, how long they took and how large they were, from /proc/fs/jbd2/DEVICE/info.
//
//	a := jbd2.New(jbd2.Config{})
//
// An instance is a journal. Its number is kept in a file of the agent's Config.Cache, so that
// it is the same when the agent starts again; pmdajbd2(1) in C continues the file, and the
// other way round. The kernel has averages, and the totals are those times the transactions:
// they can be less than before when an average falls.
//
// Metrics keep the PMIDs, types, units and instance names that pmdajbd2(1) has given them.
package jbd2
