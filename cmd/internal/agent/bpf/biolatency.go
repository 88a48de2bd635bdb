package bpf

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

const (
	maxRequests    = 10240 // that devices have at one time
	maxBlockCounts = 16384 // counts of devices, operations, sizes and ranges
)

// Operations of requests (REQ_OP_READ and others).
const (
	opRead    = 0
	opWrite   = 1
	opFlush   = 2
	opDiscard = 3
	numOps    = 4
)

// biolatency measures how long devices take for requests: from the issue to the driver until the completion.
func biolatency(hostRoot string) *module {
	m := &module{name: "biolatency", on: true, write: writeBiolatency}
	metrics := []column.Metric{
		{
			Name: "bpf.disk.all.latency", Cluster: clusterBiolatency, Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: microseconds(),
			Help: "Number of requests to all block devices, by range of microseconds",
			Long: "The time is that from the issue of a request to the driver until its completion. The value counts requests; as in PCP's agent of the same name its unit is that of the ranges.",
		},
	}
	ops := [numOps]string{opRead: "read", opWrite: "write", opFlush: "flush", opDiscard: "discard"}
	for op, name := range ops {
		metrics = append(metrics, column.Metric{
			Name: "bpf.disk.all." + name + ".latency", Cluster: own(clusterBiolatency), Item: op, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count(), Col: 1 + op,
			Help: "Number of " + name + " requests to all block devices, by range of microseconds",
			Long: "As bpf.disk.all.latency, for one operation.",
		}, column.Metric{
			Name: "bpf.disk.dev." + name + ".latency", Cluster: own(clusterBiolatency), Item: 10 + op, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count(), From: 1, Col: op,
			Help: "Number of " + name + " requests to a block device, by range of microseconds",
			Long: "As bpf.disk.all.latency, for one operation and each device.",
		})
	}
	for op, name := range ops[:opWrite+1] {
		metrics = append(metrics, column.Metric{
			Name: "bpf.disk.size." + name + ".latency", Cluster: own(clusterBiolatency), Item: 20 + op, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count(), From: 2, Col: op,
			Help: "Number of " + name + " requests of a size to all block devices, by range of microseconds",
			Long: "As bpf.disk.all.latency, for one operation and each range of sizes in bytes.",
		})
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: 1 + numOps, InDom: buckets(clusterBiolatency, "times for requests, in microseconds"), Lists: true},
		column.Layout{Cols: numOps, Lists: true, InDom: &column.InDom{
			Serial: own(clusterBiolatency), Help: "Block devices, with ranges of microseconds",
			Long: "The name of the device, and a range, as in sda::64-127.",
		}},
		column.Layout{Cols: 2, Lists: true, InDom: &column.InDom{
			Serial: own(clusterBiolatency) + 200, Help: "Sizes of requests, with ranges of microseconds",
			Long: "A range of bytes and one of microseconds, as in 4096-8191::64-127.",
		}},
	)
	all, devices, sizes := &histogram{block: blocks[0]}, &pairs{block: blocks[1]}, &pairs{block: blocks[2]}
	names := make(map[uint32]string)
	m.read = func(o *object) error {
		all.list()
		devices.begin()
		sizes.begin()
		if o == nil {
			return nil
		}
		var sums [1 + numOps][numBuckets]uint64
		err := each(o.maps["hist"], func(key, n uint64) {
			dev, op, size, slot := uint32(key>>32), int(key>>24&0xff), int(key>>16&0xff), int(key&0xff)
			if slot >= numBuckets || size >= numBuckets {
				return
			}
			sums[0][slot] += n
			if op >= numOps {
				return
			}
			sums[1+op][slot] += n
			name, ok := names[dev]
			if !ok {
				name = deviceName(hostRoot, dev)
				names[dev] = name
			}
			devices.add(name, slot, op, n)
			if op <= opWrite {
				sizes.add(bucketName(size), slot, op, n)
			}
		})
		for col := range sums {
			all.set(col, sums[col][:])
		}
		return err
	}
	m.clear = func() { clear(names) }
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at block_rq_issue and block_rq_complete", Blocks: blocks}}}
	return m
}

// deviceName returns the name of a device, or its numbers if it has gone.
func deviceName(hostRoot string, dev uint32) string {
	numbers := fmt.Sprintf("%d:%d", dev>>minorBits, dev&(1<<minorBits-1))
	target, err := os.Readlink(filepath.Join(hostRoot, "sys/dev/block", numbers))
	if err != nil {
		return numbers
	}
	return filepath.Base(target)
}

// minorBits is the number of bits of a minor number in the kernel (MINORBITS).
const minorBits = 20

func writeBiolatency(k *kernel, o *object) error {
	var queue, disk, major, minor, flags field
	var err error
	find := func(to *field, structure string, names ...string) {
		if err == nil {
			*to, err = k.field(structure, names...)
		}
	}
	find(&queue, "request", "q")
	find(&flags, "request", "cmd_flags")
	find(&major, "gendisk", "major")
	find(&minor, "gendisk", "first_minor")
	ofQueue := true
	if find(&disk, "request_queue", "disk"); err != nil {
		ofQueue = false // before 5.16
		disk, err = k.field("request", "rq_disk")
	}
	if err != nil {
		return err
	}
	o.table(&ebpf.MapSpec{Name: "start", Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: maxRequests})
	o.counts("hist", 8, maxBlockCounts)

	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.store(-8, asm.R6)
	c.now()
	c.store(-16, asm.R0)
	c.update("start", -8, -16, updateAny)
	o.on("block_rq_issue", c)

	c = new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.arg(asm.R7, asm.R1, 2) // bytes
	c.store(-8, asm.R6)
	c.lookup("start", -8)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(asm.R8, asm.R0, 0, asm.DWord))
	c.now()
	c.add(asm.Mov.Reg(asm.R9, asm.R0))
	c.remove("start", -8)
	c.add(asm.JGT.Reg(asm.R8, asm.R9, exit), asm.Sub.Reg(asm.R9, asm.R8), asm.Div.Imm(asm.R9, 1000))
	c.log2(asm.R8, asm.R9, asm.R2)
	c.add(asm.LSh.Imm(asm.R7, 32), asm.RSh.Imm(asm.R7, 32))
	c.log2(asm.R9, asm.R7, asm.R2)
	c.add(asm.LSh.Imm(asm.R9, 16), asm.Or.Reg(asm.R8, asm.R9))
	c.load(asm.R1, asm.R6, flags)
	c.add(asm.And.Imm(asm.R1, 0xff), asm.LSh.Imm(asm.R1, 24), asm.Or.Reg(asm.R8, asm.R1))
	if ofQueue {
		c.load(asm.R1, asm.R6, queue)
		c.load(asm.R1, asm.R1, disk)
	} else {
		c.load(asm.R1, asm.R6, disk)
	}
	c.load(asm.R2, asm.R1, major)
	c.load(asm.R3, asm.R1, minor)
	c.add(asm.LSh.Imm(asm.R2, minorBits), asm.Or.Reg(asm.R2, asm.R3), asm.LSh.Imm(asm.R2, 32), asm.Or.Reg(asm.R8, asm.R2))
	c.store(-16, asm.R8)
	c.bump("hist", -16, -24, asm.R0)
	o.on("block_rq_complete", c)
	return nil
}
