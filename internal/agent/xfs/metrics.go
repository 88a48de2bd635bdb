package xfs

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Clusters of the agent. They are those that the metrics had when they belonged to the
// agent linux.
const (
	clusterAll    = 16
	clusterBuffer = 17
	clusterDevice = 18
	clusterQuota  = 30
)

// Items of clusterAll and clusterDevice. There, buffers follow the others; the
// totals of buffers have a separate cluster.
const (
	itemShakeReclaims = 65
	itemInactReclaims = 66
	itemReset         = 79
	itemDquots        = 185
	itemDquotsUnused  = 186
	firstBuffer       = 187
	lastBuffer        = 195
)

// A shape has the type and units of a counter.
type shape int

const (
	counts shape = iota
	byteCounts
	kbyteCounts
	ratio
	level      // a number that goes up and down, of things
	levelPlain // the same without a unit
	longCounts
	gone // the kernel has it no more
)

func (s shape) set(m *column.Metric) {
	m.Type, m.Sem, m.Units = pcp.TypeU32, pcp.SemCounter, pcp.Units{DimCount: 1}
	switch s {
	case byteCounts:
		m.Type, m.Units = pcp.TypeU64, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	case kbyteCounts:
		m.Units = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	case ratio:
		m.Type, m.Sem, m.Units = pcp.TypeFloat, pcp.SemInstant, pcp.Units{}
	case level:
		m.Sem = pcp.SemInstant
	case levelPlain:
		m.Sem, m.Units = pcp.SemInstant, pcp.Units{}
	case longCounts:
		m.Type = pcp.TypeU64
	}
}

// A stat is one of the numbers that the kernel counts.
type stat struct {
	name string // without xfs. or xfs.perdev.; "" for a counter without a name
	item int
	at   string // the line of the file, and the place of the number there
	is   shape
	help string
	long string
}

// key is the key of the column.
func (s *stat) key() string {
	if s.at == "" {
		return s.name
	}
	return s.at
}

// allStats returns the numbers in the order of their names.
func allStats() []stat {
	list := make([]stat, 0, len(counters)+len(trees)*len(treeOps))
	list = append(list, counters...)
	for t := range trees {
		for op := range treeOps {
			list = append(list, treeStat(t, op))
		}
	}
	return append(list, lateCounters...)
}

// statMetrics returns the metrics of the file: of all file systems, or of each device.
func statMetrics(stats []stat, device bool) []column.Metric {
	list := make([]column.Metric, len(stats))
	for i := range stats {
		s, m := &stats[i], &list[i]
		*m = column.Metric{Cluster: clusterAll, Item: s.item, Key: s.key(), Help: s.help}
		prefix := "xfs."
		if device {
			prefix, m.Cluster, m.From = "xfs.perdev.", clusterDevice, blockDevice
		} else if firstBuffer <= s.item && s.item <= lastBuffer {
			m.Cluster, m.Item = clusterBuffer, s.item-firstBuffer
		}
		if s.name != "" {
			m.Name = prefix + s.name
		}
		s.is.set(m)
		if device && (s.item == itemDquots || s.item == itemDquotsUnused) {
			m.Sem = pcp.SemInstant // and a total counter, as in the C agent
		}
		if s.is == gone && !device {
			m.Err = pcp.ErrAppVersion
		}
	}
	return list
}

// controlMetrics are the metrics for stores.
var controlMetrics = []column.Metric{
	{Name: "xfs.control.reset", Cluster: clusterAll, Item: itemReset, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Help: "Sets all counters of XFS to 0 when a number is stored", Long: "The value is always 0. Storing a number that is not negative makes the kernel\n" +
		"set the counters of all XFS file systems to 0, except xfs.vnodes.active, which\n" +
		"is the present number. The agent must be allowed to write to the kernel's file\n" +
		"stats_clear, which requires root."},
}

// The subtrees of names in their order, without xfs. or xfs.perdev.
var subtrees = []string{
	"write", "write_bytes", "read", "read_bytes", "iflush_count", "icluster_flushcnt", "icluster_flushinode",
	"allocs", "alloc_btree", "block_map", "bmap_btree", "dir_ops", "transactions", "inode_ops", "log", "log_tail",
	"xstrat", "attr", "quota", "buffer", "vnodes", "control", "btree", "zoned", "defer_relog", "metafile",
}

// nameOrder returns the subtrees that come first, for column.Config.
func nameOrder() []string {
	order := make([]string, 0, 2*len(subtrees)+2)
	for _, name := range subtrees {
		order = append(order, "xfs."+name)
	}
	order = append(order, "xfs.perdev", "quota")
	for _, name := range subtrees {
		order = append(order, "xfs.perdev."+name)
	}
	return order
}

// A tree is a kind of btree.
type tree struct {
	name  string
	key   string // of the line
	item  int    // the first of its metrics
	what  string // the trees, as a plural
	about string // a sentence
}

// trees are the kinds of btrees. The first seven have been there longer than the others.
var trees = []tree{
	{"alloc_blocks", "abtb2", 80, "btrees of free space by block", "There is one in each allocation group. It finds the free extents near a block."},
	{"alloc_contig", "abtc2", 95, "btrees of free space by size", "There is one in each allocation group. It finds a free extent that is long enough."},
	{"block_map", "bmbt2", 110, "btrees that map the blocks of files", "A file has one when its extents are too many for its inode."},
	{"inode", "ibt2", 125, "btrees of inodes", "There is one in each allocation group. It has the chunks of inodes that are allocated."},
	{"free_inode", "fibt2", 140, "btrees of free inodes", "There is one in each allocation group of file systems made with finobt. It has the chunks with free inodes."},
	{"reverse_map", "rmapbt", 155, "reverse mapping btrees", "There is one in each allocation group of file systems made with rmapbt. It finds the owner of a block."},
	{"refcount", "refcntbt", 170, "reference count btrees", "There is one in each allocation group of file systems made with reflink. It counts who shares an extent."},
	{"rmap_mem", "rmapbt_mem", 201, "reverse mapping btrees in memory", "A check of a mounted file system builds one to replace a damaged tree by. Kernels since 6.9 count this."},
	{"rcbag", "rcbagbt", 216, "btrees of shared extents in memory", "The repair of a reference count tree collects there how often extents overlap. Kernels since 6.9 count this."},
	{"rtrmap", "rtrmapbt", 231, "reverse mapping btrees of realtime devices", "There is one in each realtime group of file systems made with rmapbt. It finds the owner of a block. Kernels since 6.14 count this."},
	{"rtrmap_mem", "rtrmapbt_mem", 246, "realtime reverse mapping btrees in memory", "A check of a mounted file system builds one to replace a damaged tree by. Kernels since 6.14 count this."},
	{"rtrefcount", "rtrefcntbt", 261, "reference count btrees of realtime devices", "There is one in each realtime group of file systems made with reflink. It counts who shares an extent. Kernels since 6.14 count this."},
}

// treeOps are the counters of each kind of tree, in the order of the line. TREES is
// replaced by the name of the trees.
var treeOps = [...]struct{ name, help, long string }{
	{"lookup", "Lookups in TREES", "Lookups of a record in TREES. Each goes from the root to a leaf."},
	{"compare", "Comparisons of records in TREES", "Keys that were compared while records were looked up in TREES. Divided by the lookups this shows the depth of the search."},
	{"insrec", "Records inserted in TREES", "Records that were inserted in TREES, those of inner levels included."},
	{"delrec", "Records deleted from TREES", "Records that were deleted from TREES, those of inner levels included."},
	{"newroot", "Levels added to TREES", "Times that a root was full and a level was added above it, in TREES."},
	{"killroot", "Levels removed from TREES", "Times that a root had one child left and was removed, so that the tree lost a level, in TREES."},
	{"increment", "Steps to the next record in TREES", "Times that a cursor went on to the next record, in TREES."},
	{"decrement", "Steps to the record before in TREES", "Times that a cursor went back to the record before, in TREES."},
	{"lshift", "Shifts to the left neighbour in TREES", "Times that a record was moved to the left neighbour of a full block to make room for another, in TREES."},
	{"rshift", "Shifts to the right neighbour in TREES", "Times that a record was moved to the right neighbour of a full block to make room for another, in TREES."},
	{"split", "Blocks split in TREES", "Times that a full block was split in two, as its neighbours were full too, in TREES."},
	{"join", "Blocks joined in TREES", "Times that two neighbours with few records were joined in one block, in TREES."},
	{"alloc", "Blocks allocated for TREES", "Blocks that were allocated for TREES."},
	{"free", "Blocks freed by TREES", "Blocks that were freed by TREES."},
	{"moves", "Records moved in TREES", "Records that were moved within their blocks when others were inserted or deleted, in TREES."},
}

// digits are the places of the numbers in a line, as keys have them.
const digits = "0123456789abcdef"

func treeStat(t, op int) stat {
	tr, o := &trees[t], &treeOps[op]
	return stat{
		name: "btree." + tr.name + "." + o.name, item: tr.item + op, at: tr.key + " " + digits[op:op+1],
		help: strings.Replace(o.help, "TREES", tr.what, 1),
		long: strings.Replace(o.long, "TREES", tr.what, 1) + " " + tr.about,
	}
}
