package jbd2

import (
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of the metrics.
const (
	blockAll = iota
	blockJournals
)

// Columns of blockJournals.
const (
	colCount = iota
	colRequested
	colMost
	colAverages
	colTotals = colAverages + numAverages
	numCols   = colTotals + numAverages
)

// kernelLong is the type of an unsigned long of the kernel. As in the C agent, it has the
// size of an unsigned long in programs of this machine.
const kernelLong = pcp.TypeU32 + pcp.Type(strconv.IntSize/64)*(pcp.TypeU64-pcp.TypeU32)

const (
	counter = pcp.SemCounter
	instant = pcp.SemInstant
)

var (
	count = pcp.Units{DimCount: 1}
	msec  = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	usec  = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
)

// metrics are the metrics of the agent.
var metrics = []column.Metric{
	{Name: "jbd2.njournals", Item: 0, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockAll, Help: "Journals in use", Long: "Journals of JBD2, the journaling layer of ext4 and ocfs2, that are in use now:\none for each such file system that is mounted with a journal."},
	{Name: "jbd2.transaction.count", Item: 1, Type: kernelLong, Sem: counter, Units: count, From: blockJournals, Col: colCount, Help: "Transactions committed", Long: "Transactions that each journal has committed since its file system was\nmounted."},
	{Name: "jbd2.transaction.requested", Item: 2, Type: kernelLong, Sem: counter, Units: count, From: blockJournals, Col: colRequested, Help: "Transactions that a task asked for", Long: "Transactions of each journal that a task asked to be committed at once, as\nfsync(2) does, or that were full. The others were committed when their time\nwas up. Kernels before 3.0 do not count this."},
	{Name: "jbd2.transaction.max_blocks", Item: 3, Type: pcp.TypeU32, Sem: instant, From: blockJournals, Col: colMost, Help: "Most blocks that a transaction may have", Long: "The most blocks that one transaction of each journal may change. The kernel\ntakes a part of the size of the journal for it."},

	{Name: "jbd2.transaction.total.blocks", Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockJournals, Col: colTotals + avgBlocks, Help: "Blocks changed by all transactions", Long: "Blocks that all transactions of each journal have changed: the mean of a\ntransaction times their number."},
	{Name: "jbd2.transaction.total.blocks_logged", Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockJournals, Col: colTotals + avgLogged, Help: "Blocks written to the journal", Long: "Blocks that all transactions have written to each journal, those with headers\nincluded: the mean of a transaction times their number."},
	{Name: "jbd2.transaction.total.handles", Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockJournals, Col: colTotals + avgHandles, Help: "Operations in all transactions", Long: "Operations of the file system, which JBD2 calls handles, that were put\ntogether to the transactions of each journal: the mean of a transaction times\ntheir number."},
	{Name: "jbd2.transaction.total.time.waiting", Item: 4, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockJournals, Col: colTotals + avgWaiting, Help: "Time that operations waited for a transaction", Long: "Time that operations waited for a transaction of each journal to start, as one\nwas being locked: the mean of a transaction times their number."},
	{Name: "jbd2.transaction.total.time.request_delay", Item: 5, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockJournals, Col: colTotals + avgRequestDelay, Help: "Time from the request of a commit to its start", Long: "Time that passed before requested commits began: the mean of a requested\ntransaction times their number. Kernels before 3.0 do not report it."},
	{Name: "jbd2.transaction.total.time.running", Item: 6, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockJournals, Col: colTotals + avgRunning, Help: "Time that transactions took operations in", Long: "Time that the transactions of each journal were running, which means that\noperations could join them: the mean of a transaction times their number."},
	{Name: "jbd2.transaction.total.time.being_locked", Item: 7, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockJournals, Col: colTotals + avgLocked, Help: "Time that transactions waited for their operations", Long: "Time that the transactions of each journal were locked, which means that no\noperation could join them and those in them had to end: the mean of a\ntransaction times their number."},
	{Name: "jbd2.transaction.total.time.flushing_ordered_mode_data", Item: 8, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockJournals, Col: colTotals + avgFlushing, Help: "Time to write data before their metadata", Long: "Time that the commits of each journal wrote the data of files, which the mode\ndata=ordered wants on disk before the metadata: the mean of a transaction\ntimes their number."},
	{Name: "jbd2.transaction.total.time.logging", Item: 9, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockJournals, Col: colTotals + avgLogging, Help: "Time to write the journal", Long: "Time that the commits wrote to each journal: the mean of a transaction times\ntheir number."},

	{Name: "jbd2.transaction.average.blocks", Item: 20, Type: kernelLong, Sem: instant, Units: count, From: blockJournals, Col: colAverages + avgBlocks, Help: "Blocks changed by a transaction", Long: "Blocks that a transaction of each journal has changed, as a mean of all since\nthe file system was mounted."},
	{Name: "jbd2.transaction.average.blocks_logged", Item: 21, Type: kernelLong, Sem: instant, Units: count, From: blockJournals, Col: colAverages + avgLogged, Help: "Blocks written to the journal by a transaction", Long: "Blocks that a transaction has written to each journal, those with headers\nincluded, as a mean of all since the file system was mounted."},
	{Name: "jbd2.transaction.average.handles", Item: 22, Type: kernelLong, Sem: instant, Units: count, From: blockJournals, Col: colAverages + avgHandles, Help: "Operations in a transaction", Long: "Operations of the file system, which JBD2 calls handles, in a transaction of\neach journal, as a mean of all since the file system was mounted."},
	{Name: "jbd2.transaction.average.time.waiting", Item: 13, Type: pcp.TypeU32, Sem: instant, Units: msec, From: blockJournals, Col: colAverages + avgWaiting, Help: "Time that operations waited for each transaction", Long: "Time that operations waited for a transaction of each journal to start, as a\nmean of all since the file system was mounted."},
	{Name: "jbd2.transaction.average.time.request_delay", Item: 14, Type: pcp.TypeU32, Sem: instant, Units: msec, From: blockJournals, Col: colAverages + avgRequestDelay, Help: "Time from the request of each commit to its start", Long: "Time that passed before a commit that a task had asked for began, as a mean of\nall of these since the file system was mounted. Kernels before 3.0 do not\nreport it."},
	{Name: "jbd2.transaction.average.time.running", Item: 15, Type: pcp.TypeU32, Sem: instant, Units: msec, From: blockJournals, Col: colAverages + avgRunning, Help: "Time that a transaction took operations in", Long: "Time that a transaction of each journal was running, which means that\noperations could join it, as a mean of all since the file system was mounted."},
	{Name: "jbd2.transaction.average.time.being_locked", Item: 16, Type: pcp.TypeU32, Sem: instant, Units: msec, From: blockJournals, Col: colAverages + avgLocked, Help: "Time that a transaction waited for its operations", Long: "Time that a transaction of each journal was locked until the operations in it\nhad ended, as a mean of all since the file system was mounted."},
	{Name: "jbd2.transaction.average.time.flushing_ordered_mode_data", Item: 17, Type: pcp.TypeU32, Sem: instant, Units: msec, From: blockJournals, Col: colAverages + avgFlushing, Help: "Time to write data before their metadata, of each transaction", Long: "Time that a commit of each journal wrote the data of files, which the mode\ndata=ordered wants on disk before the metadata, as a mean of all since the\nfile system was mounted."},
	{Name: "jbd2.transaction.average.time.logging", Item: 18, Type: pcp.TypeU32, Sem: instant, Units: msec, From: blockJournals, Col: colAverages + avgLogging, Help: "Time to write a transaction to the journal", Long: "Time that a commit wrote to each journal, as a mean of all since the file\nsystem was mounted."},
	{Name: "jbd2.transaction.average.time.committing", Item: 19, Type: pcp.TypeU64, Sem: instant, Units: usec, From: blockJournals, Col: colAverages + avgCommit, Help: "Time of a commit", Long: "Time that a commit of each journal takes, as a mean in which the last ones\nweigh more. The kernel waits about so long before a commit, so that others can\njoin."},
}
