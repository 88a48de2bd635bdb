package compressed

import (
	"io"
	"os"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/go-pcp/pcp/internal/storage"
)

// xzBlockLimit is the maximum expanded length of blocks that are expanded as
// needed.
const xzBlockLimit = 32 << 20

// Blocks in memory: xzBlocksMost, or as many as have xzMemory bytes, but not
// less than two.
const (
	xzBlocksMost = 3
	xzMemory     = 48 << 20
)

// xzRun is the number of bytes read in one direction, without a gap, from which
// blocks are decoded ahead.
const xzRun = 1 << 20

// An xzFile reads a file in the .xz format at random, by its blocks. A block is
// decoded only as far as it is read, unless the file is read in order: then
// the rest of the block and the next ones are decoded meanwhile.
type xzFile struct {
	*xzIndex
	file storage.File
	mem  *Memory
	most int // blocks in memory
	jobs int // goroutines

	mu      sync.Mutex
	changed sync.Cond
	held    []*xzHeld // the last used first
	busy    int       // of them
	closed  bool

	// The last read, and the number of bytes read in order up to it: below 0
	// backwards.
	from, to int64
	run      int64

	trimmed int  // the block used last when all were dropped, or -1
	again   bool // it was wanted again
}

// An xzHeld is a block in memory. The goroutine that sets busy may use the decoder,
// and the memory behind data.
type xzHeld struct {
	block int
	dec   xzDecoder
	data  []byte // the decoded bytes; its capacity may be that of the block
	err   error
	busy  bool
	stop  bool // the decoding ahead is no longer wanted
}

func newXZ(f storage.File, index *xzIndex, mem *Memory) *xzFile {
	x := &xzFile{xzIndex: index, file: f, mem: mem, trimmed: -1, most: 2, jobs: min(2, runtime.GOMAXPROCS(0))}
	if n := index.largest(); n > 0 {
		x.most = int(min(xzBlocksMost, max(2, xzMemory/n)))
	}
	x.changed.L = &x.mu
	return x
}

func (x *xzFile) Size() (int64, error) { return x.total, nil }

// Close waits for running decoders.
func (x *xzFile) Close() error {
	x.mu.Lock()
	x.closed = true
	for x.busy > 0 {
		x.changed.Wait()
	}
	for _, h := range x.held {
		x.mem.free(h.data)
	}
	x.held = nil
	x.mu.Unlock()
	return x.file.Close()
}

func (x *xzFile) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.order(off, off+int64(len(p)))
	n := 0
	for n < len(p) {
		at := off + int64(n)
		i := x.find(at)
		if i < 0 {
			if x.run >= xzRun {
				x.trim()
			}
			return n, io.EOF
		}
		x.ahead(i, at)
		b := &x.blocks[i]
		upTo := min(at-b.start+int64(len(p)-n), b.length)
		data, err := x.decoded(i, upTo)
		if have := min(upTo, int64(len(data))); have > at-b.start {
			n += copy(p[n:], data[at-b.start:have])
		}
		if err != nil {
			return n, err
		}
	}
	if x.run >= xzRun && x.to >= x.total || x.run <= -xzRun && x.from == 0 {
		x.trim()
	}
	return n, nil
}

// trim drops all blocks: at the end of a file that was read in order, another
// file is probably next. After one wrong guess it keeps the last block.
func (x *xzFile) trim() {
	for k := len(x.held) - 1; k >= 0; k-- {
		h := x.held[k]
		if h.busy || k == 0 && x.again {
			continue
		}
		if k == 0 {
			x.trimmed = h.block
		}
		x.mem.free(h.data)
		x.held = slices.Delete(x.held, k, k+1)
	}
}

// find returns the block that contains an offset, -1 if there is none.
func (x *xzFile) find(at int64) int {
	if at < 0 || at >= x.total {
		return -1
	}
	// Of blocks that start at the same offset all but the last are empty.
	return sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i].start > at }) - 1
}

// order records a read.
func (x *xzFile) order(from, to int64) {
	switch {
	case from >= x.from && from <= x.to && to > x.to:
		x.run = max(x.run, 0) + to - x.to
	case from < x.from && to >= x.from && to <= x.to:
		x.run = min(x.run, 0) - (x.from - from)
	case from < x.from || to > x.to:
		x.run = 0
	default:
		return
	}
	x.from, x.to = from, to
}

// decoded returns the contents of a block, at least upTo bytes if there is no
// error.
func (x *xzFile) decoded(i int, upTo int64) ([]byte, error) {
	h, err := x.hold(i)
	if err != nil {
		return nil, err
	}
	for int64(len(h.data)) < upTo && h.err == nil {
		if x.closed {
			return nil, os.ErrClosed
		}
		if h.busy {
			x.changed.Wait()
			if h.block != i {
				// Another reader needed the memory.
				return x.decoded(i, upTo)
			}
			continue
		}
		x.work(h, upTo)
	}
	if int64(len(h.data)) < upTo {
		return h.data, h.err
	}
	return h.data, nil
}

// hold returns the block, which becomes the most recently used.
func (x *xzFile) hold(i int) (*xzHeld, error) {
	for {
		if h := x.touch(i); h != nil {
			return h, nil
		}
		if x.closed {
			return nil, os.ErrClosed
		}
		if h := x.start(i); h != nil {
			return h, nil
		}
		for _, h := range x.held {
			h.stop = true
		}
		x.changed.Wait()
	}
}

// start reuses the memory of the least recently used block for another block, unless a
// goroutine is at work on it. If all are in use, it returns nil.
func (x *xzFile) start(i int) *xzHeld {
	var h *xzHeld
	if len(x.held) < x.most {
		h = new(xzHeld)
		x.held = append(x.held, h)
	}
	for k := len(x.held) - 1; k >= 0 && h == nil; k-- {
		if !x.held[k].busy {
			h = x.held[k]
		}
	}
	if h == nil {
		return nil
	}
	x.again = x.again || i == x.trimmed
	h.block, h.data, h.stop = i, h.data[:0], false
	h.err = h.dec.open(x.f, &x.blocks[i])
	x.touch(i)
	return h
}

// work decodes a block until it has upTo bytes. The mutex is held when it is
// called and when it returns, but not meanwhile.
func (x *xzFile) work(h *xzHeld, upTo int64) {
	h.busy = true
	x.busy++
	for int64(len(h.data)) < upTo && h.err == nil && !h.stop && !x.closed {
		data := h.data
		x.mu.Unlock()
		data, err := h.step(data, x.mem)
		x.mu.Lock()
		h.data, h.err = data, err
		x.changed.Broadcast()
	}
	h.busy, h.stop = false, false
	x.busy--
	x.changed.Broadcast()
}

func (h *xzHeld) step(data []byte, mem *Memory) ([]byte, error) {
	room, err := h.dec.room()
	if err != nil {
		return data, err
	}
	n := len(data)
	if cap(data) < n+room {
		// Little is read of many files: for those one chunk is enough.
		size := int(h.dec.b.length)
		if n == 0 {
			size = min(size, max(room, xzStep))
		}
		data = append(mem.alloc(size), data...)
	}
	n, err = h.dec.step(data[:n+room], n)
	return data[:n], err
}

// ahead starts to decode the blocks that are probably read soon, when block i is
// read at an offset. The mutex is held.
func (x *xzFile) ahead(i int, at int64) {
	if -xzRun < x.run && x.run < xzRun || x.closed {
		return
	}
	step := 1
	if x.run < 0 {
		step = -1
	}
	// Wanted blocks must not be evicted.
	for k := x.most - 1; k >= 0; k-- {
		x.touch(i + k*step)
	}
	for k := range x.most {
		j := i + k*step
		if j < 0 || j >= len(x.blocks) || x.busy >= x.jobs {
			return
		}
		b := &x.blocks[j]
		// The longer the run, the more.
		if k > 0 && (x.run > 0 && b.start-at > x.run || x.run < 0 && at-b.start-b.length > -x.run) {
			return
		}
		h := x.touch(j)
		if h == nil {
			if h = x.start(j); h == nil {
				return
			}
		}
		if h.busy || h.err != nil || int64(len(h.data)) == b.length {
			continue
		}
		x.busy++ // until it runs
		h.busy = true
		go func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.busy--
			x.work(h, b.length)
		}()
	}
}

// touch makes a block the most recently used, if it is in memory.
func (x *xzFile) touch(i int) *xzHeld {
	for k, h := range x.held {
		if h.block == i {
			copy(x.held[1:k+1], x.held[:k])
			x.held[0] = h
			return h
		}
	}
	return nil
}
