package linux

import (
	"os"
	"path/filepath"
	"testing"
)

// fuzz feeds a parser, seeded with a file of each fixture. It must survive
// anything, twice, and leave its blocks in order.
func fuzz(f *testing.F, file string, parse func(a *Agent, b []byte), blocks ...blockID) {
	for _, tree := range []string{"vm", "old", "odd"} {
		if b, err := os.ReadFile(filepath.Join("testdata", tree, file)); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte("\n\n 1 :\x00\n18446744073709551616"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		a := New(Config{Root: dir, PageSize: 4096})
		a.stat.survey(dir)
		for range 2 {
			parse(a, b)
			for _, id := range blocks {
				a.blocks[id].sort()
				check(t, id, &a.blocks[id])
			}
		}
	})
}

// check wants a block to be in order.
func check(t *testing.T, id blockID, b *block) {
	t.Helper()
	if !blockSpecs[id].multi {
		if len(b.cells) != b.cols || b.insts != nil {
			t.Errorf("block %d: %d cells of %d, instances %v", id, len(b.cells), b.cols, b.insts)
		}
		return
	}
	if len(b.cells) != len(b.insts)*b.cols || b.names != nil && len(b.names) != len(b.insts) {
		t.Errorf("block %d: %d instances, %d names, %d cells in %d columns", id, len(b.insts), len(b.names), len(b.cells), b.cols)
	}
	seen := make(map[int32]bool)
	for _, inst := range b.insts {
		if inst < 0 || seen[inst] {
			t.Errorf("block %d: instances %v", id, b.insts)
		}
		seen[inst] = true
	}
	names := make(map[string]bool)
	for _, name := range b.names {
		if name == "" || names[name] {
			t.Errorf("block %d: names %q", id, b.names)
		}
		names[name] = true
	}
}

func FuzzStat(f *testing.F) {
	fuzz(f, "proc/stat", (*Agent).parseStat, blockStat, blockCPU, blockNodeCPU)
}

func FuzzLoadavg(f *testing.F) {
	fuzz(f, "proc/loadavg", func(a *Agent, b []byte) { parseLoadavg(b, &a.blocks[blockLoad], &a.blocks[blockLoadInfo]) }, blockLoad, blockLoadInfo)
}

func FuzzMeminfo(f *testing.F) {
	fuzz(f, "proc/meminfo", func(a *Agent, b []byte) { a.meminfo.parse(b, &a.blocks[blockMeminfo]) }, blockMeminfo)
}

func FuzzVmstat(f *testing.F) {
	fuzz(f, "proc/vmstat", func(a *Agent, b []byte) { a.vmstat.parse(b, &a.blocks[blockVmstat]) }, blockVmstat)
}

func FuzzInterrupts(f *testing.F) {
	fuzz(f, "proc/interrupts", func(a *Agent, b []byte) {
		a.interrupts.parse(b, &a.blocks[blockIRQ], &a.blocks[blockCPUIRQ], &a.blocks[blockIntrByCPU], &a.blocks[blockIRQMisc])
		a.interrupts.texts()
	}, blockIRQ, blockCPUIRQ, blockIntrByCPU, blockIRQMisc)
}

func FuzzPressure(f *testing.F) {
	fuzz(f, "proc/pressure/memory", func(a *Agent, b []byte) {
		a.blocks[blockMemSome].clear()
		parsePressure(b, "some", &a.blocks[blockMemSome], &a.blocks[blockMemSomeTotal])
	}, blockMemSome, blockMemSomeTotal)
}

func FuzzZoneinfo(f *testing.F) {
	fuzz(f, "proc/zoneinfo", func(a *Agent, b []byte) { a.zones.parse(b, 4, &a.blocks[blockZone], &a.blocks[blockZoneProt]) }, blockZone, blockZoneProt)
}

func FuzzBuddyinfo(f *testing.F) {
	fuzz(f, "proc/buddyinfo", func(a *Agent, b []byte) { a.buddy.parse(b, 4, &a.blocks[blockBuddy]) }, blockBuddy)
}

func FuzzSlabinfo(f *testing.F) {
	fuzz(f, "proc/slabinfo", func(a *Agent, b []byte) { a.slabs.parse(b, 4096, &a.blocks[blockSlab]) }, blockSlab)
}

func FuzzSwaps(f *testing.F) {
	fuzz(f, "proc/swaps", func(a *Agent, b []byte) { a.swaps.parse(b, &a.blocks[blockSwap]) }, blockSwap)
}

func FuzzDiskstats(f *testing.F) {
	fuzz(f, "proc/diskstats", (*Agent).parseDiskstats, blockDisk, blockPart, blockMD, blockZram, blockWWID, blockDiskAll)
}

func FuzzNetDev(f *testing.F) {
	fuzz(f, "proc/net/dev", func(a *Agent, b []byte) { a.net.parse(b, &a.blocks[blockNet]) }, blockNet)
}

func FuzzInet6(f *testing.F) {
	fuzz(f, "proc/net/if_inet6", func(a *Agent, b []byte) { a.netAddr.parseInet6(b, &a.blocks[blockNetInet6]) }, blockNetInet6)
}

func FuzzMounts(f *testing.F) {
	fuzz(f, "proc/self/mounts", func(a *Agent, b []byte) {
		a.mounts.parse(b, func(name string) string { return name })
	}, blockMount)
}

func FuzzCPUInfo(f *testing.F) {
	fuzz(f, "proc/cpuinfo", func(a *Agent, b []byte) {
		a.cpuinfo.parse(b)
		out := &a.blocks[blockCPUInfo]
		out.clear()
		for i := range a.cpuinfo.cpus {
			a.cpuinfo.cpus[i].put(out, out.add(int32(i)))
		}
	}, blockCPUInfo)
}

func FuzzSCSI(f *testing.F) {
	fuzz(f, "proc/scsi/scsi", func(a *Agent, b []byte) {
		a.scsi.parse(b, &a.blocks[blockSCSI], func(address string) string { return "sd" })
	}, blockSCSI)
}

func FuzzUtmp(f *testing.F) {
	record := make([]byte, 400)
	record[0] = 7
	copy(record[44:], "root")
	f.Add(record)
	fuzz(f, "var/run/utmp", func(a *Agent, b []byte) { parseUtmp(b, &a.blocks[blockUtmp]) }, blockUtmp)
}

func FuzzTimeInState(f *testing.F) {
	f.Add([]byte("2400000 100\n1200000 50\n"))
	fuzz(f, "none", func(a *Agent, b []byte) {
		out := &a.blocks[blockFreq]
		out.clear()
		parseTimeInState(b, out.row(out.add(0)))
	}, blockFreq)
}

func FuzzSNMP(f *testing.F) {
	fuzz(f, "proc/net/snmp", func(a *Agent, b []byte) {
		a.snmp.parse(b, &a.blocks[blockSNMP], &a.blocks[blockICMPMsg])
		a.netstat.parse(b, &a.blocks[blockNetstat], nil)
	}, blockSNMP, blockICMPMsg, blockNetstat)
}

func FuzzSockstat(f *testing.F) {
	fuzz(f, "proc/net/sockstat", func(a *Agent, b []byte) { a.sockstat.parse(b, a.keys[blockSockstat], &a.blocks[blockSockstat]) }, blockSockstat)
}

func FuzzSoftnet(f *testing.F) {
	fuzz(f, "proc/net/softnet_stat", func(a *Agent, b []byte) {
		parseSoftnet(b, []int32{0, 1, 7}, &a.blocks[blockSoftnet], &a.blocks[blockSoftnetCPU])
	}, blockSoftnet, blockSoftnetCPU)
}

func FuzzSockets(f *testing.F) {
	fuzz(f, "proc/net/tcp", func(a *Agent, b []byte) {
		countTCP(b, &a.blocks[blockTCP])
		countUDP(b, &a.blocks[blockUDP])
		countRaw(b, &a.blocks[blockRaw])
		countUnix(b, &a.blocks[blockUnix])
		countLocks(b, &a.blocks[blockLocks])
	}, blockTCP, blockUDP, blockRaw, blockUnix, blockLocks)
}

func FuzzShm(f *testing.F) {
	fuzz(f, "proc/sysvipc/shm", (*Agent).parseShm, blockShm, blockShmInfo)
}

func FuzzMsg(f *testing.F) {
	fuzz(f, "proc/sysvipc/msg", (*Agent).parseMsg, blockMsg, blockMsgInfo)
}

func FuzzSem(f *testing.F) {
	fuzz(f, "proc/sysvipc/sem", (*Agent).parseSem, blockSem, blockSemInfo)
}

func FuzzNFS(f *testing.F) {
	fuzz(f, "proc/net/rpc/nfsd", func(a *Agent, b []byte) {
		if err := readNFS(a); err != nil {
			panic(err)
		}
		a.parseNFS(b)
		a.parseNFSD(b)
		a.parsePools(b, b)
	}, blockNFSClient, blockNFSServer, blockNFSAhead, blockNFSPools, blockNFS2Client, blockNFS3Server, blockNFS4Server)
}

func FuzzTTY(f *testing.F) {
	fuzz(f, "proc/tty/driver/serial", func(a *Agent, b []byte) { a.tty.parse(b, &a.blocks[blockTTY]) }, blockTTY)
}
