package linux

import "github.com/go-pcp/pcp/internal/procfs"

func readMeminfo(a *Agent) error {
	b, err := a.meminfo.file.Read()
	if err != nil {
		return err
	}
	a.meminfo.parse(b, &a.blocks[blockMeminfo])
	return nil
}

// A meminfoReader reads /proc/meminfo. The columns of its block are the keys of
// the file and, below, what PCP computes from them.
type meminfoReader struct {
	file  *procfs.File
	keyed *procfs.Keyed

	total, free, buffers, cached, dirty, writeback int // columns of the file
	swapTotal, swapFree                            int
	hugeSize                                       int

	used, other, clean, physMB       int // computed
	swapLen, swapUsed, swapFreeBytes int
	hugeSizeBytes                    int
	hugeBytes, hugePages             [4]int
}

func newMeminfoReader(a *Agent) meminfoReader {
	k := func(key string) int { return a.column(blockMeminfo, key) }
	r := meminfoReader{
		file:  a.wholeFile("proc/meminfo"),
		keyed: procfs.NewKeyed(a.keys[blockMeminfo]),
		total: k("MemTotal"), free: k("MemFree"), buffers: k("Buffers"), cached: k("Cached"),
		dirty: k("Dirty"), writeback: k("Writeback"),
		swapTotal: k("SwapTotal"), swapFree: k("SwapFree"), hugeSize: k("Hugepagesize"),
		used: k("=used"), other: k("=other"), clean: k("=clean"), physMB: k("=physMB"),
		swapLen: k("=swapLength"), swapUsed: k("=swapUsed"), swapFreeBytes: k("=swapFree"),
		hugeSizeBytes: k("=hugeSize"),
	}
	for i, name := range [...]string{"Total", "Free", "Rsvd", "Surp"} {
		r.hugePages[i], r.hugeBytes[i] = k("HugePages_"+name), k("=HugePages_"+name)
	}
	return r
}

// parse fills a block from /proc/meminfo. A computed value is there if all
// that it is made of are.
func (r *meminfoReader) parse(b []byte, out *block) {
	out.clear()
	c := out.cells
	r.keyed.Parse(b, nil, func(col int, v uint64) { c[col] = cell{v, true} })

	total, free, swapTotal, swapFree := c[r.total], c[r.free], c[r.swapTotal], c[r.swapFree]
	if total.ok {
		c[r.physMB] = cell{total.bits >> 10, true}
	}
	if total.ok && free.ok {
		c[r.used] = cell{atLeast0(total.bits, free.bits), true}
		if c[r.cached].ok && c[r.buffers].ok {
			c[r.other] = cell{atLeast0(total.bits, free.bits+c[r.cached].bits+c[r.buffers].bits), true}
		}
	}
	if c[r.cached].ok && c[r.dirty].ok && c[r.writeback].ok {
		c[r.clean] = cell{atLeast0(c[r.cached].bits, c[r.dirty].bits+c[r.writeback].bits), true}
	}
	if swapTotal.ok {
		c[r.swapLen] = cell{swapTotal.bits << 10, true}
		if swapFree.ok {
			c[r.swapUsed] = cell{atLeast0(swapTotal.bits, swapFree.bits) << 10, true}
		}
	}
	if swapFree.ok {
		c[r.swapFreeBytes] = cell{swapFree.bits << 10, true}
	}
	if size := c[r.hugeSize]; size.ok {
		c[r.hugeSizeBytes] = cell{size.bits << 10, true}
		for i, col := range r.hugePages {
			if c[col].ok {
				c[r.hugeBytes[i]] = cell{c[col].bits * size.bits << 10, true}
			}
		}
	}
}

// atLeast0 returns a-b, or 0 if that is negative: the kernel does not take all
// numbers of a file at the same moment.
func atLeast0(a, b uint64) uint64 {
	if a > b {
		return a - b
	}
	return 0
}
