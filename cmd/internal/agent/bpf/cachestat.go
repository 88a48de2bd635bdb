package bpf

import (
	"errors"
	"fmt"
	"math/bits"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/go-pcp/pcp/pmda/column"
)

// Counts of pages.
const (
	cacheReads = iota // that reads asked for
	cacheMisses
	cacheAdded
	numCache

	maxReaders = 8192 // pairs of a task and a file with a state
)

// Columns of the metrics.
const (
	colHits = iota
	colMisses
	colAdded
	numCacheColumns
)

// cachestat counts the pages that reads of files find in the page cache, and those that they do not.
func cachestat(cfg Config) *module {
	m := &module{name: "cachestat", write: writeCachestat}
	metric := counters("bpf.cachestat.", clusterCachestat)
	var metrics []column.Metric
	for from, of := range []struct{ prefix, help, long string }{
		{"", "", ""},
		{"cgroup.", ", by control group", " The control group is that of the task that reads. There are 16384 counts at most; if there are more, those that were used longest ago begin again."},
	} {
		metrics = append(
			metrics,
			metric(10*from, from, colHits, of.prefix+"hits", count(), "Pages of files that reads found in the page cache"+of.help, "By read(2), sendfile(2) and others, but not by access to mapped files. Readers that find pages in the cache which another task has read ahead count as well."+of.long),
			metric(10*from+1, from, colMisses, of.prefix+"misses", count(), "Pages of files that reads did not find in the page cache"+of.help, "Pages that the reading task has read ahead count when it reads them."+of.long),
			metric(10*from+2, from, colAdded, of.prefix+"added", count(), "Pages added to the page cache"+of.help, "For any reason: reads, reading ahead, writes, mapped files, and the metadata of file systems."+of.long),
		)
	}
	blocks := column.NewBlocks(metrics, column.Layout{Cols: numCacheColumns}, column.Layout{Cols: numCacheColumns, Lists: true, InDom: &column.InDom{
		Serial: own(clusterCachestat), Help: "Control groups whose tasks use the page cache",
		Long: "The path of the group. A group that was removed before its name was looked for is called cgroup- and its number.",
	}})
	dir, _ := groupDir(cfg.HostRoot)
	names, rows := &groups{dir: dir}, &pairs{block: blocks[1]}
	var all cacheCounts
	byGroup := make(map[string]*cacheCounts)
	m.read = func(o *object) error {
		blocks[0].Clear()
		rows.begin()
		if o == nil {
			return nil
		}
		var perCPU [][numCache]uint64
		if err := o.maps["total"].Lookup(uint32(0), &perCPU); err != nil {
			return err
		}
		var sums [numCache]uint64
		for _, counts := range perCPU {
			for i, n := range counts {
				sums[i] += n
			}
		}
		for col, n := range all.next(sums) {
			blocks[0].Set(0, col, n)
		}
		now := make(map[string]*[numCache]uint64)
		err := each(o.maps["groups"], func(key [2]uint64, n uint64) {
			if key[1] >= numCache {
				return
			}
			name := names.name(key[0])
			if now[name] == nil {
				now[name] = new([numCache]uint64)
			}
			now[name][key[1]] += n
		})
		for name := range byGroup {
			if now[name] == nil {
				delete(byGroup, name)
			}
		}
		for name, sums := range now {
			if byGroup[name] == nil {
				byGroup[name] = new(cacheCounts)
			}
			for col, n := range byGroup[name].next(*sums) {
				rows.addNamed(name, col, n)
			}
		}
		return err
	}
	m.clear = func() {
		all = cacheCounts{}
		clear(byGroup)
	}
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at mm_filemap_get_pages and others", Blocks: blocks}}}
	return m
}

// cacheCounts makes hits of reads and misses. A large read counts when it begins, and the pages that it misses when they are there.
type cacheCounts struct{ reads, hits uint64 }

// next returns the columns. Hits do not fall, unless the counts have begun again.
func (c *cacheCounts) next(sums [numCache]uint64) [numCacheColumns]uint64 {
	hits := sums[cacheReads] - min(sums[cacheReads], sums[cacheMisses])
	if sums[cacheReads] >= c.reads {
		hits = max(hits, c.hits)
	}
	c.reads, c.hits = sums[cacheReads], hits
	return [numCacheColumns]uint64{colHits: hits, colMisses: sums[cacheMisses], colAdded: sums[cacheAdded]}
}

// Offsets in the state of a task that uses a file.
const (
	readerAhead  = 0  // pages that it added and has not read yet
	readerFirst  = 8  // page of the part of a read that it did last
	readerLast   = 16 // page of that read
	readerBudget = 24 // pages of that read that may be misses
	readerFault  = 32 // not 0 while it adds pages for a mapped file
	readerSize   = 40
)

// cacheFields are those that the programs of cachestat read.
type cacheFields struct {
	mapping, flags, order, host, size field
	head                              int32 // the bit in flags of a folio of more than one page
}

func (k *kernel) cache() (f cacheFields, err error) {
	for _, to := range []struct {
		field     *field
		structure string
		names     []string
	}{
		{&f.mapping, "folio", []string{"mapping"}},
		{&f.flags, "folio", []string{"flags.f", "flags"}},
		{&f.order, "folio", []string{"_flags_1"}}, // in its low byte
		{&f.host, "address_space", []string{"host"}},
		{&f.size, "inode", []string{"i_size"}},
	} {
		if err == nil {
			*to.field, err = k.field(to.structure, to.names...)
		}
	}
	if err == nil {
		f.head, err = k.constant("pageflags", "PG_head")
	}
	return f, err
}

// constant returns the value of a constant of an enumeration.
func (k *kernel) constant(enum, name string) (int32, error) {
	spec, err := k.types.Kernel()
	if err != nil {
		return 0, err
	}
	var e *btf.Enum
	if err := spec.TypeByName(enum, &e); err != nil {
		return 0, fmt.Errorf("the kernel's type information: enum %s: %w", enum, err)
	}
	for _, v := range e.Values {
		if v.Name == name {
			return int32(v.Value), nil
		}
	}
	return 0, fmt.Errorf("the kernel's enum %s has no %s", enum, name)
}

// Places on the stack of the programs of cachestat.
const (
	cacheKey   = -16 // the task and the file
	cacheState = cacheKey - readerSize
	cacheGroup = cacheState - 16
	cacheSpare = cacheGroup - 8
	cacheIndex = cacheSpare - 8
)

// reader sets R0 to the state of the task that runs for the file in R1, 0 if there is none.
func (c *code) reader() {
	c.store(cacheKey+8, asm.R1)
	c.add(asm.FnGetCurrentPidTgid.Call())
	c.store(cacheKey, asm.R0)
	c.lookup("readers", cacheKey)
}

// newReader sets one number of the state of the task that runs, and the others to zero.
func (c *code) newReader(at int16, value asm.Register) {
	c.zero(cacheState, readerSize)
	c.store(cacheState+at, value)
	c.update("readers", cacheKey, cacheState, updateAny)
}

// pages sets dst to the number of pages of the folio in src. It changes R1.
func (c *code) pages(dst, src asm.Register, f cacheFields) {
	single := c.label()
	c.load(asm.R1, src, f.flags)
	c.add(asm.Mov.Imm(dst, 1), asm.RSh.Imm(asm.R1, f.head), asm.And.Imm(asm.R1, 1), asm.JEq.Imm(asm.R1, 0, single))
	c.load(asm.R1, src, f.order)
	c.add(asm.And.Imm(asm.R1, 31), asm.LSh.Reg(dst, asm.R1))
	c.mark(single)
}

// countPages adds the number in by, a register from R6 to R9, to a count of the host and of the control group whose number is on the stack.
func (c *code) countPages(what int32, by asm.Register) {
	none := c.label()
	c.add(asm.JEq.Imm(by, 0, none), asm.Mov.Imm(asm.R1, what))
	c.store(cacheGroup+8, asm.R1)
	c.add(asm.Mov.Imm(asm.R1, 0))
	c.store(cacheIndex, asm.R1)
	c.lookup("total", cacheIndex)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(asm.R1, asm.R0, int16(8*what), asm.DWord), asm.Add.Reg(asm.R1, by), asm.StoreMem(asm.R0, int16(8*what), asm.R1, asm.DWord))
	c.bump("groups", cacheGroup, cacheSpare, by)
	c.mark(none)
}

func writeCachestat(k *kernel, o *object) error {
	if !k.isPointer("mm_filemap_get_pages", 0) {
		return errors.New("the kernel has no tracepoint mm_filemap_get_pages (it has from 6.12 on)")
	}
	f, err := k.cache()
	if err != nil {
		return err
	}
	o.table(&ebpf.MapSpec{Name: "readers", Type: ebpf.LRUHash, KeySize: 16, ValueSize: readerSize, MaxEntries: maxReaders})
	o.table(&ebpf.MapSpec{Name: "total", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8 * numCache, MaxEntries: 1})
	o.groupCounts()
	o.on("mm_filemap_get_pages", readPages(k, f))
	o.on("mm_filemap_add_to_page_cache", addPages(k, f))
	o.on("writeback_dirty_folio", dirtyPages(f))
	o.on("mm_filemap_fault", faultPages())
	return nil
}

// readPages counts the pages of a read. The kernel does a large one in parts, for which the first page rises and the last one stays.
func readPages(k *kernel, f cacheFields) *code {
	c := new(code)
	c.arg(asm.R6, asm.R1, 0) // the file
	c.arg(asm.R7, asm.R1, 1) // the first page
	c.arg(asm.R8, asm.R1, 2) // the last page, which may be behind the end of the file
	within := c.label()
	c.load(asm.R1, asm.R6, f.host)
	c.load(asm.R1, asm.R1, f.size)
	c.add(asm.JSLE.Imm(asm.R1, 0, exit), asm.Sub.Imm(asm.R1, 1), asm.RSh.Imm(asm.R1, int32(bits.TrailingZeros(uint(os.Getpagesize())))))
	c.add(asm.JGE.Reg(asm.R1, asm.R8, within), asm.Mov.Reg(asm.R8, asm.R1))
	c.mark(within)
	c.add(asm.JGT.Reg(asm.R7, asm.R8, exit), asm.Mov.Reg(asm.R9, asm.R8), asm.Sub.Reg(asm.R9, asm.R7), asm.Add.Imm(asm.R9, 1))

	known, fresh, missed, counted := c.label(), c.label(), c.label(), c.label()
	c.add(asm.Mov.Reg(asm.R1, asm.R6))
	c.reader()
	c.add(asm.JNE.Imm(asm.R0, 0, known))
	c.zero(cacheState, readerSize)
	c.store(cacheState+readerFirst, asm.R7)
	c.store(cacheState+readerLast, asm.R8)
	c.store(cacheState+readerBudget, asm.R9)
	c.update("readers", cacheKey, cacheState, updateAny)
	c.add(asm.Mov.Imm(asm.R7, 0), asm.Ja.Label(counted))

	c.mark(known)
	c.add(asm.LoadMem(asm.R1, asm.R0, readerLast, asm.DWord), asm.LoadMem(asm.R2, asm.R0, readerFirst, asm.DWord))
	c.add(asm.StoreMem(asm.R0, readerFirst, asm.R7, asm.DWord), asm.StoreMem(asm.R0, readerLast, asm.R8, asm.DWord))
	c.add(asm.LoadMem(asm.R3, asm.R0, readerBudget, asm.DWord), asm.JNE.Reg(asm.R1, asm.R8, fresh), asm.JGE.Reg(asm.R2, asm.R7, fresh))
	part := c.label()
	c.add(asm.Mov.Imm(asm.R9, 0), asm.Ja.Label(part))
	c.mark(fresh)
	c.add(asm.Mov.Reg(asm.R3, asm.R9))
	c.mark(part)
	c.add(asm.LoadMem(asm.R2, asm.R0, readerAhead, asm.DWord), asm.Mov.Reg(asm.R7, asm.R2), asm.JGE.Reg(asm.R3, asm.R2, missed), asm.Mov.Reg(asm.R7, asm.R3))
	c.mark(missed)
	c.add(asm.Sub.Reg(asm.R2, asm.R7), asm.Sub.Reg(asm.R3, asm.R7), asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R0, readerAhead, asm.R2, asm.DWord))
	c.add(asm.StoreMem(asm.R0, readerBudget, asm.R3, asm.DWord), asm.StoreMem(asm.R0, readerFault, asm.R1, asm.DWord))

	c.mark(counted)
	c.ownGroup(k)
	c.store(cacheGroup, asm.R1)
	c.countPages(cacheReads, asm.R9)
	c.countPages(cacheMisses, asm.R7)
	return c
}

// addPages counts pages that are added. They are misses once their task reads them.
func addPages(k *kernel, f cacheFields) *code {
	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.pages(asm.R9, asm.R6, f)
	known, counted := c.label(), c.label()
	c.load(asm.R1, asm.R6, f.mapping)
	c.reader()
	c.add(asm.JNE.Imm(asm.R0, 0, known))
	c.newReader(readerAhead, asm.R9)
	c.add(asm.Ja.Label(counted))
	c.mark(known)
	c.add(asm.LoadMem(asm.R1, asm.R0, readerFault, asm.DWord), asm.JNE.Imm(asm.R1, 0, counted))
	c.add(asm.LoadMem(asm.R1, asm.R0, readerAhead, asm.DWord), asm.Add.Reg(asm.R1, asm.R9), asm.StoreMem(asm.R0, readerAhead, asm.R1, asm.DWord))
	c.mark(counted)
	c.ownGroup(k)
	c.store(cacheGroup, asm.R1)
	c.countPages(cacheAdded, asm.R9)
	return c
}

// dirtyPages notes that pages were added for a write, so that they are not misses.
func dirtyPages(f cacheFields) *code {
	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.arg(asm.R7, asm.R1, 1)
	c.pages(asm.R9, asm.R6, f)
	c.add(asm.Mov.Reg(asm.R1, asm.R7))
	c.reader()
	some := c.label()
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(asm.R1, asm.R0, readerAhead, asm.DWord), asm.JGE.Reg(asm.R1, asm.R9, some), asm.Mov.Reg(asm.R9, asm.R1))
	c.mark(some)
	c.add(asm.Sub.Reg(asm.R1, asm.R9), asm.StoreMem(asm.R0, readerAhead, asm.R1, asm.DWord))
	return c
}

// faultPages notes that the pages which the task adds next are for a mapped file.
func faultPages() *code {
	c := new(code)
	c.arg(asm.R1, asm.R1, 0)
	c.reader()
	known := c.label()
	c.add(asm.JNE.Imm(asm.R0, 0, known), asm.Mov.Imm(asm.R6, 1))
	c.newReader(readerFault, asm.R6)
	c.add(asm.Ja.Label(exit))
	c.mark(known)
	c.add(asm.Mov.Imm(asm.R1, 1), asm.StoreMem(asm.R0, readerFault, asm.R1, asm.DWord))
	return c
}
