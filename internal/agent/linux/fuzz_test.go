package linux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/pmda/column"
)

// fuzz feeds a parser, seeded with a file of each fixture. It must survive
// any input, twice, and leave valid blocks. start makes the parser.
func fuzz(f *testing.F, file string, start func(h *host) (parse func(b []byte), blocks []*column.Block)) {
	for _, tree := range []string{"vm", "old", "odd", "new"} {
		if b, err := os.ReadFile(filepath.Join("testdata", tree, file)); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte("\n\n 1 :\x00\n18446744073709551616"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		parse, blocks := start(newHost(Config{Root: dir, PageSize: 4096}))
		for range 2 {
			parse(b)
			for i, block := range blocks {
				block.Sort()
				check(t, i, block)
			}
		}
	})
}

// fuzzFamily is fuzz for the parser of the nth source of a family, which is one file.
func fuzzFamily(f *testing.F, file string, n int, family func(h *host) column.Family) {
	fuzz(f, file, func(h *host) (func(b []byte), []*column.Block) {
		s := family(h).Sources[n]
		return s.Parse, s.Blocks
	})
}

// check checks that a block is valid.
func check(t *testing.T, i int, b *column.Block) {
	t.Helper()
	insts, names, cells := b.Insts(), b.Names(), len(b.Cells())
	if b.InDom() == nil {
		if cells != b.Cols() || insts != nil {
			t.Errorf("block %d: %d cells of %d, instances %v", i, cells, b.Cols(), insts)
		}
		return
	}
	if cells != len(insts)*b.Cols() || names != nil && len(names) != len(insts) {
		t.Errorf("block %d: %d instances, %d names, %d cells in %d columns", i, len(insts), len(names), cells, b.Cols())
	}
	seen := make(map[int32]bool)
	for _, inst := range insts {
		if inst < 0 || seen[inst] {
			t.Errorf("block %d: instances %v", i, insts)
		}
		seen[inst] = true
	}
	known := make(map[string]bool)
	for _, name := range names {
		if name == "" || known[name] {
			t.Errorf("block %d: names %q", i, names)
		}
		known[name] = true
	}
}

func FuzzStat(f *testing.F) {
	fuzzFamily(f, "proc/stat", 0, func(h *host) column.Family { return newCPUReader(h).family() })
}

func FuzzLoadavg(f *testing.F) { fuzzFamily(f, "proc/loadavg", 0, loadFamily) }

func FuzzUptime(f *testing.F) { fuzzFamily(f, "proc/uptime", 1, loadFamily) }

func FuzzMeminfo(f *testing.F) {
	fuzzFamily(f, "proc/meminfo", 0, func(h *host) column.Family { return newMeminfoReader(h).family() })
}

func FuzzVmstat(f *testing.F) {
	fuzzFamily(f, "proc/vmstat", 0, func(h *host) column.Family { return newVmstatReader(h).family() })
}

func FuzzInterrupts(f *testing.F) {
	fuzzFamily(f, "proc/interrupts", 0, func(h *host) column.Family { return interruptsFamily(h, newCPUReader(h).cpuInDom) })
}

func FuzzPressure(f *testing.F) { fuzzFamily(f, "proc/pressure/memory", 2, pressureFamily) }

func FuzzZoneinfo(f *testing.F) {
	fuzzFamily(f, "proc/zoneinfo", 0, func(h *host) column.Family { return newZoneReader(h).family() })
}

func FuzzBuddyinfo(f *testing.F) { fuzzFamily(f, "proc/buddyinfo", 0, buddyFamily) }

func FuzzSlabinfo(f *testing.F) { fuzzFamily(f, "proc/slabinfo", 0, slabFamily) }

func FuzzSwaps(f *testing.F) { fuzzFamily(f, "proc/swaps", 0, swapFamily) }

func FuzzDiskstats(f *testing.F) {
	fuzzFamily(f, "proc/diskstats", 0, func(h *host) column.Family { return newDiskReader(h).family() })
}

func FuzzNetDev(f *testing.F) {
	fuzzFamily(f, "proc/net/dev", 0, func(h *host) column.Family { return newNetReader(h).family() })
}

func FuzzInet6(f *testing.F) { fuzzFamily(f, "proc/net/if_inet6", 2, netAddrFamily) }

func FuzzMounts(f *testing.F) {
	fuzzFamily(f, "proc/self/mounts", 0, func(h *host) column.Family { return newMountReader(h).family() })
}

func FuzzCPUInfo(f *testing.F) {
	fuzz(f, "proc/cpuinfo", func(h *host) (func(b []byte), []*column.Block) {
		cpus := newCPUReader(h)
		cpus.parse([]byte("cpu0 1 2 3 4\ncpu1 5 6 7 8\n"))
		blocks, r := cpuInfoFamily(h, cpus).Sources[0].Blocks, new(cpuInfoReader)
		return func(b []byte) { r.parse(b); r.fill(cpus, blocks[0]) }, blocks
	})
}

func FuzzSCSI(f *testing.F) {
	fuzz(f, "proc/scsi/scsi", func(*host) (func(b []byte), []*column.Block) {
		r := newSCSIReader(func(string) string { return "sd" })
		return r.parse, r.blocks
	})
}

func FuzzUtmp(f *testing.F) {
	record := make([]byte, 400)
	record[0] = 7
	copy(record[44:], "root")
	f.Add(record)
	fuzz(f, "var/run/utmp", func(h *host) (func(b []byte), []*column.Block) {
		blocks := utmpFamily(h).Sources[0].Blocks
		return func(b []byte) { parseUtmp(b, blocks[0]) }, blocks
	})
}

func FuzzTimeInState(f *testing.F) {
	f.Add([]byte("2400000 100\n1200000 50\n"))
	fuzz(f, "none", func(h *host) (func(b []byte), []*column.Block) {
		out := column.NewBlocks(nil, column.Layout{Cols: numFreq, InDom: newCPUReader(h).cpuInDom})
		return func(b []byte) {
			out[0].Clear()
			parseTimeInState(b, out[0].Row(out[0].Add(0)))
		}, out
	})
}

func FuzzSNMP(f *testing.F) {
	fuzz(f, "proc/net/snmp", func(h *host) (func(b []byte), []*column.Block) {
		snmp, netstat := newSNMPReader(h), newNetstatReader(h)
		return func(b []byte) { snmp.parse(b); netstat.parse(b) }, append(snmp.source.Blocks, netstat.source.Blocks...)
	})
}

func FuzzSNMP6(f *testing.F) { fuzzFamily(f, "proc/net/snmp6", 0, snmp6Family) }

func FuzzSockstat(f *testing.F) {
	fuzz(f, "proc/net/sockstat", func(h *host) (func(b []byte), []*column.Block) {
		r := &sockstatReader{out: sockstatFamily(h).Sources[0].Blocks[0]}
		return r.parse, []*column.Block{r.out}
	})
}

func FuzzSoftnet(f *testing.F) {
	fuzz(f, "proc/net/softnet_stat", func(h *host) (func(b []byte), []*column.Block) {
		blocks := softnetFamily(h, newCPUReader(h)).Sources[0].Blocks
		return func(b []byte) { parseSoftnet(b, []int32{0, 1, 7}, blocks[blockSoftnet], blocks[blockSoftnetCPU]) }, blocks
	})
}

func FuzzSockets(f *testing.F) {
	fuzz(f, "proc/net/tcp", func(h *host) (func(b []byte), []*column.Block) {
		locks := lockFamily(h).Sources[0].Blocks
		b := column.NewBlocks(nil, column.Layout{Cols: numTCPStates}, column.Layout{Cols: numUDP}, column.Layout{Cols: 1}, column.Layout{Cols: numUnix})
		return func(text []byte) {
			countTCP(text, b[0])
			countUDP(text, b[1])
			countRaw(text, b[2])
			countUnix(text, b[3])
			countLocks(text, locks[0])
		}, append(b, locks...)
	})
}

// fuzzIPC is fuzz for one of the tables of /proc/sysvipc.
func fuzzIPC(f *testing.F, file string, parse func(r *ipcReader, b []byte), from, to int) {
	fuzz(f, file, func(h *host) (func(b []byte), []*column.Block) {
		r := newIPCReader(h)
		return func(b []byte) { parse(r, b) }, r.blocks[from:to]
	})
}

func FuzzShm(f *testing.F) { fuzzIPC(f, "proc/sysvipc/shm", (*ipcReader).parseShm, blockShm, blockMsg) }

func FuzzMsg(f *testing.F) { fuzzIPC(f, "proc/sysvipc/msg", (*ipcReader).parseMsg, blockMsg, blockSem) }

func FuzzSem(f *testing.F) {
	fuzzIPC(f, "proc/sysvipc/sem", (*ipcReader).parseSem, blockSem, blockSemInfo+1)
}

func FuzzNFS(f *testing.F) {
	fuzz(f, "proc/net/rpc/nfsd", func(h *host) (func(b []byte), []*column.Block) {
		r := newNFSReader(h)
		return func(b []byte) {
			if err := r.read(); err != nil {
				panic(err)
			}
			r.parseClient(b)
			r.parseServer(b)
			r.parsePools(b, b)
		}, r.blocks
	})
}

func FuzzTTY(f *testing.F) { fuzzFamily(f, "proc/tty/driver/serial", 0, ttyFamily) }

func FuzzBalloon(f *testing.F) {
	fuzzFamily(f, "sys/kernel/debug/hv-balloon", 1, balloonFamily)
}

func FuzzNFSStates(f *testing.F) {
	for _, name := range []string{"info", "states"} {
		b, err := os.ReadFile("testdata/new/proc/fs/nfsd/clients/4/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	fuzz(f, "proc/fs/nfsd/clients/4/states", func(h *host) (func(b []byte), []*column.Block) {
		r := newNFSClientReader(h)
		return func(b []byte) {
			r.blocks[blockNFSOpens].Clear()
			r.openInst.Begin()
			r.parseStates(b, parseNFSClient(b), make(map[int32]int))
		}, r.blocks[blockNFSOpens:]
	})
}
