package bpf

import (
	"fmt"
	"os"
	"path/filepath"

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
	metric := counters("bpf.disk.", clusterBiolatency)
	ops := [numOps]string{opRead: "read", opWrite: "write", opFlush: "flush", opDiscard: "discard"}
	for op, name := range ops {
		metrics = append(
			metrics,
			metric(op, 0, 1+op, "all."+name+".latency", count(), "Number of "+name+" requests to all block devices, by range of microseconds", "As bpf.disk.all.latency, for one operation."),
			metric(10+op, 1, op, "dev."+name+".latency", count(), "Number of "+name+" requests to a block device, by range of microseconds", "As bpf.disk.all.latency, for one operation and each device."),
		)
	}
	for op, name := range ops[:opWrite+1] {
		metrics = append(metrics, metric(
			20+op, 2, op, "size."+name+".latency", count(), "Number of "+name+" requests of a size to all block devices, by range of microseconds",
			"As bpf.disk.all.latency, for one operation and each range of sizes in bytes.",
		))
	}
	for op, name := range ops {
		metrics = append(metrics, metric(
			30+op, 3, op, "cgroup."+name+".latency", count(), "Number of "+name+" requests of a control group to all block devices, by range of microseconds",
			"As bpf.disk.all.latency, for one operation and the control group to which the kernel charges the request, which for data that was written to the page cache is that of the pages. Time for which a limit of the group delays data before a request is issued is not included.",
		))
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
		column.Layout{Cols: numOps, Lists: true, InDom: groupInDom(own(clusterBiolatency)+400, "microseconds")},
	)
	all, devices, sizes := &histogram{block: blocks[0]}, &pairs{block: blocks[1]}, &pairs{block: blocks[2]}
	byGroup := newGroupRanges(blockGroupDir(hostRoot), blocks[3])
	names := make(map[uint32]string)
	m.read = func(o *object) error {
		all.list()
		devices.begin()
		sizes.begin()
		if err := byGroup.read(o); o == nil || err != nil {
			return err
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
	o.begins(maxRequests)
	o.counts("hist", 8, maxBlockCounts)
	o.groupCounts()

	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.now()
	c.begin(asm.R6, asm.R0)
	o.on("block_rq_issue", c)

	c = new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.arg(asm.R7, asm.R1, 2) // bytes
	c.take(asm.R8, asm.R6)
	c.now()
	c.add(asm.Mov.Reg(asm.R9, asm.R0))
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
	if group, ok := k.requestGroup(); ok {
		c.add(asm.Mov.Reg(asm.R1, asm.R8), asm.And.Imm(asm.R1, 0xff), asm.RSh.Imm(asm.R8, 24), asm.And.Imm(asm.R8, 0xff), asm.JGE.Imm(asm.R8, numOps, exit))
		c.add(asm.LSh.Imm(asm.R8, 8), asm.Or.Reg(asm.R8, asm.R1), asm.Mov.Reg(asm.R1, asm.R6))
		for _, f := range group {
			c.load(asm.R1, asm.R1, f)
		}
		c.add(asm.JEq.Imm(asm.R1, 0, exit)) // a request without data
		c.countGroup(-40, asm.R8)
	}
	o.on("block_rq_complete", c)
	return nil
}

// requestGroup returns the path from a request to the identifier of its control group. ok is false if the kernel does not charge requests to groups.
func (k *kernel) requestGroup() (path []field, ok bool) {
	for _, p := range [][2]string{{"request", "bio"}, {"bio", "bi_blkg"}, {"blkcg_gq", "blkcg"}, {"blkcg", "css.cgroup"}, {"cgroup", "kn"}, {"kernfs_node", "id"}} {
		f, err := k.field(p[0], p[1])
		if err != nil {
			return nil, false
		}
		path = append(path, f)
	}
	return path, true
}
