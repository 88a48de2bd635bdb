package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of vfsMetrics.
const (
	vfsFiles = iota
	vfsFilesFree
	vfsFilesMax
	vfsInodes
	vfsInodesFree
	vfsDentries
	vfsDentriesFree
	vfsAIO
	vfsAIOMax
	numVFS
)

// A vfsFile is a file of /proc/sys/fs and the columns of its numbers.
type vfsFile struct {
	file *procfs.File
	cols []int
}

// vfsFamily reads files of /proc/sys/fs.
func vfsFamily(h *host) column.Family {
	b, files := column.NewBlocks(vfsMetrics, column.Layout{Cols: numVFS}), newVFSFiles(h)
	return column.Family{Name: "vfs", Metrics: vfsMetrics, Sources: []*column.Source{{
		Name: "/proc/sys/fs", Blocks: b, Read: func() error { return readVFS(files, b[0]) },
	}}}
}

func newVFSFiles(h *host) []vfsFile {
	file := func(name string, cols ...int) vfsFile { return vfsFile{h.wholeFile("proc/sys/fs/" + name), cols} }
	return []vfsFile{
		file("file-nr", vfsFiles, vfsFilesFree, vfsFilesMax),
		file("inode-state", vfsInodes, vfsInodesFree),
		file("dentry-state", vfsDentries, vfsDentriesFree),
		file("aio-nr", vfsAIO),
		file("aio-max-nr", vfsAIOMax),
	}
}

func readVFS(files []vfsFile, out *column.Block) error {
	out.Clear()
	var last error
	for _, f := range files {
		b, err := f.file.Read()
		if err != nil {
			last = err
			continue
		}
		for _, col := range f.cols {
			v, rest, ok := procfs.Int(b)
			if !ok {
				break
			}
			b = rest
			out.Set(0, col, uint64(v))
		}
	}
	if last != nil && !anyValue(out) {
		return last
	}
	return nil
}

// anyValue reports whether b has a value.
func anyValue(b *column.Block) bool {
	for _, c := range b.Cells() {
		if c.OK {
			return true
		}
	}
	return false
}

// vfsMetrics are the metrics of /proc/sys/fs.
var vfsMetrics = []column.Metric{
	{Name: "vfs.files.count", Cluster: 27, Item: 0, Type: pcp.Type32, Sem: instant, Col: vfsFiles, Help: "Open files"},
	{Name: "vfs.files.free", Cluster: 27, Item: 1, Type: pcp.Type32, Sem: instant, Col: vfsFilesFree, Help: "Structures for open files not in use"},
	{Name: "vfs.files.max", Cluster: 27, Item: 2, Type: pcp.Type32, Sem: instant, Col: vfsFilesMax, Help: "Most files that can be open"},
	{Name: "vfs.inodes.count", Cluster: 27, Item: 3, Type: pcp.Type32, Sem: instant, Col: vfsInodes, Help: "Inodes allocated"},
	{Name: "vfs.inodes.free", Cluster: 27, Item: 4, Type: pcp.Type32, Sem: instant, Col: vfsInodesFree, Help: "Inodes not in use"},
	{Name: "vfs.dentry.count", Cluster: 27, Item: 5, Type: pcp.Type32, Sem: instant, Col: vfsDentries, Help: "Directory entries allocated"},
	{Name: "vfs.dentry.free", Cluster: 27, Item: 6, Type: pcp.Type32, Sem: instant, Col: vfsDentriesFree, Help: "Directory entries not in use"},
	{Name: "vfs.aio.count", Cluster: 27, Item: 7, Type: pcp.Type32, Sem: instant, Col: vfsAIO, Help: "Asynchronous I/O requests that contexts have room for"},
	{Name: "vfs.aio.max", Cluster: 27, Item: 8, Type: pcp.Type32, Sem: instant, Col: vfsAIOMax, Help: "Most asynchronous I/O requests that contexts can have room for"},
}
