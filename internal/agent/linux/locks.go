package linux

import (
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of lockMetrics: for each kind of lock, readers, writers, and both.
const (
	locksPosix = iota * 3
	locksFlock
	locksLease
	numLocks
)

// lockFamily reads /proc/locks; without it there are no locks.
func lockFamily(h *host) column.Family {
	b := column.NewBlocks(lockMetrics, column.Layout{Cols: numLocks})
	file := h.file("proc/locks")
	return column.Family{Name: "locks", Metrics: lockMetrics, Sources: []*column.Source{{
		Name: "/proc/locks", Blocks: b,
		Read: func() error {
			text, err := file.Read()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			countLocks(text, b[0])
			return nil
		},
	}}}
}

// countLocks reads lines "1: POSIX  ADVISORY  WRITE 1234 08:01:5 0 EOF". Those
// that wait for another, "1: -> POSIX ...", hold none.
func countLocks(b []byte, out *column.Block) {
	out.Zero()
	for line := range procfs.Lines(b) {
		_, line = procfs.Field(line)
		kind, line := procfs.Field(line)
		_, line = procfs.Field(line)
		mode, _ := procfs.Field(line)
		col := -1
		switch string(kind) {
		case "POSIX", "ACCESS", "OFDLCK":
			col = locksPosix
		case "FLOCK":
			col = locksFlock
		case "LEASE", "DELEG":
			col = locksLease
		}
		if col < 0 {
			continue
		}
		switch string(mode) {
		case "READ":
			out.Row(0)[col].Bits++
		case "WRITE":
			out.Row(0)[col+1].Bits++
		case "RW":
			out.Row(0)[col].Bits++
			out.Row(0)[col+1].Bits++
		}
		out.Row(0)[col+2].Bits++
	}
}

// lockMetrics are the metrics of /proc/locks.
var lockMetrics = []column.Metric{
	{Name: "vfs.locks.posix.read", Cluster: 75, Item: 0, Type: pcp.TypeU32, Sem: instant, Col: locksPosix, Help: "POSIX record locks for reading that are held"},
	{Name: "vfs.locks.posix.write", Cluster: 75, Item: 1, Type: pcp.TypeU32, Sem: instant, Col: locksPosix + 1, Help: "POSIX record locks for writing that are held"},
	{Name: "vfs.locks.posix.count", Cluster: 75, Item: 2, Type: pcp.TypeU32, Sem: instant, Col: locksPosix + 2, Help: "POSIX record locks that are held"},
	{Name: "vfs.locks.flock.read", Cluster: 75, Item: 3, Type: pcp.TypeU32, Sem: instant, Col: locksFlock, Help: "Locks of whole files by flock for reading that are held"},
	{Name: "vfs.locks.flock.write", Cluster: 75, Item: 4, Type: pcp.TypeU32, Sem: instant, Col: locksFlock + 1, Help: "Locks of whole files by flock for writing that are held"},
	{Name: "vfs.locks.flock.count", Cluster: 75, Item: 5, Type: pcp.TypeU32, Sem: instant, Col: locksFlock + 2, Help: "Locks of whole files by flock that are held"},
	{Name: "vfs.locks.lease.read", Cluster: 75, Item: 6, Type: pcp.TypeU32, Sem: instant, Col: locksLease, Help: "Leases of files for reading that are held"},
	{Name: "vfs.locks.lease.write", Cluster: 75, Item: 7, Type: pcp.TypeU32, Sem: instant, Col: locksLease + 1, Help: "Leases of files for writing that are held"},
	{Name: "vfs.locks.lease.count", Cluster: 75, Item: 8, Type: pcp.TypeU32, Sem: instant, Col: locksLease + 2, Help: "Leases of files that are held"},
}
