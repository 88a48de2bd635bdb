package linux

import (
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp/internal/procfs"
)

// numTCPStates is one more than the largest number of a state of a TCP
// connection (TCP_MAX_STATES of the kernel's tcp_states.h); columns of
// blockTCP and blockTCP6 are states.
const numTCPStates = 12

// Columns of blockUDP and blockUDP6.
const (
	udpEstablished = iota
	udpListen
	numUDP
)

// Columns of blockUnix.
const (
	unixDatagrams = iota
	unixEstablished
	unixListen
	unixStreams
	numUnix
)

// A connReader reads a file of /proc/net that has a line for each socket. They
// can be long, and are read only when asked for.
type connReader struct {
	file  *procfs.File
	block blockID
	count func(b []byte, out *block)
}

func (r *connReader) read(a *Agent) error {
	b, err := r.file.Read()
	if err != nil {
		a.blocks[r.block].clear()
		return err
	}
	r.count(b, &a.blocks[r.block])
	return nil
}

// eachState calls fn with the fourth field of each line after the header, a
// hexadecimal number.
func eachState(b []byte, fn func(state uint64)) {
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		for range 3 {
			_, line = procfs.Field(line)
		}
		if v, _, ok := procfs.Hex(line); ok {
			fn(v)
		}
	}
}

// zero sets all values of a block without instances to 0.
func (b *block) zero() {
	for i := range b.cells {
		b.cells[i] = cell{0, true}
	}
}

func countTCP(b []byte, out *block) {
	out.zero()
	eachState(b, func(state uint64) {
		if state < numTCPStates {
			out.cells[state].bits++
		}
	})
}

func countUDP(b []byte, out *block) {
	out.zero()
	eachState(b, func(state uint64) {
		switch state {
		case 0x01: // TCP_ESTABLISHED: it is connected
			out.cells[udpEstablished].bits++
		case 0x07: // TCP_CLOSE: it is not
			out.cells[udpListen].bits++
		}
	})
}

func countRaw(b []byte, out *block) {
	out.zero()
	eachState(b, func(uint64) { out.cells[0].bits++ })
}

// countUnix reads lines "ffff888: 00000002 00000000 00010000 0001 01 1234 path",
// with the type of the socket in the fifth field and its state in the sixth.
func countUnix(b []byte, out *block) {
	out.zero()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		for range 4 {
			_, line = procfs.Field(line)
		}
		typ, line, ok1 := procfs.Hex(line)
		state, _, ok2 := procfs.Hex(line)
		switch {
		case !ok1 || !ok2:
		case typ == 2: // SOCK_DGRAM
			out.cells[unixDatagrams].bits++
		case typ == 1: // SOCK_STREAM
			out.cells[unixStreams].bits++
			switch state {
			case 1: // SS_UNCONNECTED
				out.cells[unixListen].bits++
			case 3: // SS_CONNECTED
				out.cells[unixEstablished].bits++
			}
		}
	}
}

// Columns of blockVFS.
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

func newVFSFiles(a *Agent) []vfsFile {
	file := func(name string, cols ...int) vfsFile { return vfsFile{a.wholeFile("proc/sys/fs/" + name), cols} }
	return []vfsFile{
		file("file-nr", vfsFiles, vfsFilesFree, vfsFilesMax),
		file("inode-state", vfsInodes, vfsInodesFree),
		file("dentry-state", vfsDentries, vfsDentriesFree),
		file("aio-nr", vfsAIO),
		file("aio-max-nr", vfsAIOMax),
	}
}

func readVFS(a *Agent) error {
	out := &a.blocks[blockVFS]
	out.clear()
	var last error
	for _, f := range a.vfs {
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
			out.set(0, col, uint64(v))
		}
	}
	if last != nil && !anyValue(out) {
		return last
	}
	return nil
}

// Columns of blockLocks: for each kind of lock, readers, writers, and both.
const (
	locksPosix = iota * 3
	locksFlock
	locksLease
	numLocks
)

func readLocks(a *Agent) error {
	b, err := a.locks.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without it there are no locks
		return err
	}
	countLocks(b, &a.blocks[blockLocks])
	return nil
}

// countLocks reads lines "1: POSIX  ADVISORY  WRITE 1234 08:01:5 0 EOF". Those
// that wait for another, "1: -> POSIX ...", hold none.
func countLocks(b []byte, out *block) {
	out.zero()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
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
			out.cells[col].bits++
		case "WRITE":
			out.cells[col+1].bits++
		case "RW":
			out.cells[col].bits++
			out.cells[col+1].bits++
		}
		out.cells[col+2].bits++
	}
}
