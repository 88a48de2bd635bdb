// Package jbd2 is the agent for the journals of ext4 and ocfs2: the number, duration and
// size of their transactions, from /proc/fs/jbd2/DEVICE/info.
//
//	a := jbd2.New(jbd2.Config{})
//
// An instance is a journal. Its number is kept in a file of the agent's Config.Cache, so that
// it is the same when the agent starts again; pmdajbd2(1) in C can continue the file, and
// this agent that of pmdajbd2. The kernel has averages, and the totals are the averages times
// the transactions: they can fall when an average falls.
//
// Metrics keep the PMIDs, types, units and instance names that pmdajbd2(1) has given them.
package jbd2
