package proc

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// devices are the block devices that groups use, by their numbers.
type devices struct {
	source *column.Source
	file   column.File
	list   []device
	names  map[uint64][]byte
}

type device struct {
	number uint64
	name   []byte
}

func newDevices(m *machine) *devices {
	d := &devices{file: m.keptFile("proc/diskstats"), names: make(map[uint64][]byte)}
	d.source = &column.Source{Name: "/proc/diskstats", Read: func() error {
		b, err := d.file.Read()
		if err != nil {
			b = nil
		}
		d.parse(b)
		return err
	}}
	return d
}

// family has no metrics: other sources use its source.
func (d *devices) family() column.Family {
	return column.Family{Name: "devices of control groups", Sources: []*column.Source{d.source}}
}

// parse reads lines such as "8 0 sda 1 …". Loop devices and RAM disks do not count.
func (d *devices) parse(b []byte) {
	n, changed := 0, false
	for line := range procfs.Lines(b) {
		number, rest, ok := deviceNumber(line, ' ')
		name, rest := procfs.Field(rest)
		if _, _, more := procfs.Uint(rest); !ok || !more || bytes.HasPrefix(name, []byte("loop")) || bytes.HasPrefix(name, []byte("ram")) {
			continue
		}
		if n == len(d.list) || d.list[n].number != number || string(d.list[n].name) != string(name) {
			d.list = append(d.list[:n], device{number, bytes.Clone(name)})
			changed = true
		}
		n++
	}
	if !changed && n == len(d.list) {
		return
	}
	d.list = d.list[:n]
	clear(d.names)
	for _, v := range d.list {
		d.names[v.number] = v.name
	}
}

// deviceNumber reads the number of a device, "8:0" or "8 0".
func deviceNumber(b []byte, sep byte) (number uint64, rest []byte, ok bool) {
	major, rest, ok := procfs.Uint(b)
	if !ok || len(rest) == 0 || rest[0] != sep {
		return 0, rest, false
	}
	minor, rest, ok := procfs.Uint(rest[1:])
	return major<<32 | minor&(1<<32-1), rest, ok && major < 1<<32 && minor < 1<<32
}

// Files of the controller blkio that have their own units.
const (
	blkioSectors = "blkio.sectors"
	blkioTime    = "blkio.time"
)

// A blkioFile is a file of the controller blkio. It has a number for each device, or five.
type blkioFile struct {
	name  string
	first int // column of blkioDeviceMetrics
	cols  int
}

// blkioFiles are those files. The blocks of blkioMetrics are in the same order.
var blkioFiles = [...]blkioFile{
	{"blkio.io_merged", 0, 5},
	{"blkio.io_queued", 5, 5},
	{"blkio.io_service_bytes", 10, 5},
	{"blkio.io_serviced", 15, 5},
	{"blkio.io_service_time", 20, 5},
	{"blkio.io_wait_time", 25, 5},
	{blkioSectors, 30, 1},
	{blkioTime, 31, 1},
	{"blkio.throttle.io_service_bytes", 32, 5},
	{"blkio.throttle.io_serviced", 37, 5},
}

// numBlkio is the number of their columns.
const numBlkio = 42

// blkioKinds are the names of the five numbers.
var blkioKinds = [...]string{"Read", "Write", "Sync", "Async", "Total"}

// A blkio reads the files of the controller blkio.
type blkio struct {
	*groupDomain
	devices *devices
	pairs   *groupPairs
	ops     [len(blkioKinds)]uint64
}

func (g *groups) blkioFamilies(v *devices) []column.Family {
	d := g.newDomain(blkioSerial, "blkio", blkioTime, "Control groups, as the controller blkio has them", `{"device_type":"block"}`)
	x := &blkio{groupDomain: d, devices: v, pairs: newPairs(d, blkioDiskSerial, "Control groups and block devices", "device_name", "")}
	files := make([]groupFile, len(blkioFiles))
	for i := range blkioFiles {
		files[i] = groupFile{name: blkioFiles[i].name, cols: blkioFiles[i].cols}
	}
	all := d.family("blkio groups", blkioMetrics, files...)
	for i := range blkioFiles {
		s, f := all.Sources[i+1], &blkioFiles[i]
		b := s.Blocks[0]
		s.After = append(s.After, v.source)
		s.Row = func(row int) { x.sum(b, row, f) }
	}
	dev := x.pairs.family("blkio.*", blkioDeviceMetrics, numBlkio, v.source, x.read)
	return []column.Family{all, dev}
}

// sum fills a row with the sums over all devices. If the file is absent they are 0, as in C.
func (x *blkio) sum(b *column.Block, row int, f *blkioFile) {
	g := x.find(b.Insts()[row])
	if g == nil {
		return
	}
	sums := g.sums
	if sums == nil {
		sums = make([]uint64, numBlkio)
		g.sums = sums
	}
	if g.summed == 0 || g.summed != x.clock { // no devices were requested
		clear(sums[f.first:][:f.cols])
		if text, err := x.file(g, f.name); err == nil {
			x.parse(text, f, sums, nil)
		}
	}
	for col, v := range sums[f.first:][:f.cols] {
		b.Set(row, col, x.scaled(f, v))
	}
}

// read fills the rows of the devices of a group, from all files.
func (x *blkio) read(g *group) {
	if g.sums == nil {
		g.sums = make([]uint64, numBlkio)
	}
	clear(g.sums)
	for i := range blkioFiles {
		if text, err := x.file(g, blkioFiles[i].name); err == nil {
			x.parse(text, &blkioFiles[i], g.sums, g)
		}
	}
	g.summed = x.clock
}

// parse reads lines such as "8:0 Read 1", of which the line with the total ends a
// device, or "8:0 1". It adds to sums, and fills the row of each device of a group that
// is not nil.
func (x *blkio) parse(text []byte, f *blkioFile, sums []uint64, g *group) {
	current := uint64(noValue)
	for line := range procfs.Lines(text) {
		number, rest, ok := deviceNumber(line, ':')
		name := x.devices.names[number]
		if !ok || name == nil {
			continue
		}
		if number != current {
			current, x.ops = number, [len(blkioKinds)]uint64{}
		}
		if f.cols == 1 {
			if x.ops[0], _, ok = procfs.Uint(rest); ok {
				x.device(f, sums, g, name)
			}
			continue
		}
		kind, rest := procfs.Field(rest)
		v, _, ok := procfs.Uint(rest)
		if !ok {
			continue
		}
		for i, s := range blkioKinds {
			if string(kind) == s {
				x.ops[i] = v
			}
		}
		if string(kind) == "Total" {
			x.device(f, sums, g, name)
		}
	}
}

// scaled converts a number of the kernel to the units of the metric: sectors as kilobytes,
// ticks as milliseconds.
func (x *blkio) scaled(f *blkioFile, v uint64) uint64 {
	switch f.name {
	case blkioSectors:
		return v / 2
	case blkioTime:
		return v * 1000 / x.hz
	}
	return v
}

// device stores the numbers of a device.
func (x *blkio) device(f *blkioFile, sums []uint64, g *group, name []byte) {
	for i, v := range x.ops[:f.cols] {
		sums[f.first+i] += v
	}
	if g == nil {
		return
	}
	row, added := x.pairs.row(g, name)
	if added { // numbers of files without the device are 0, as in C
		for col := range numBlkio {
			x.pairs.block.Set(row, col, 0)
		}
	}
	for i, v := range x.ops[:f.cols] {
		x.pairs.block.Set(row, f.first+i, x.scaled(f, v))
	}
}

// blkioMetrics are the metrics of groups, over all devices.
var blkioMetrics = []column.Metric{
	{Name: "cgroup.blkio.all.io_merged.read", Cluster: 49, Item: 60, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Help: "Requests merged with others: reads; all devices"},
	{Name: "cgroup.blkio.all.io_merged.write", Cluster: 49, Item: 61, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Col: 1, Help: "Requests merged with others: writes; all devices"},
	{Name: "cgroup.blkio.all.io_merged.sync", Cluster: 49, Item: 62, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Col: 2, Help: "Requests merged with others: synchronous; all devices"},
	{Name: "cgroup.blkio.all.io_merged.async", Cluster: 49, Item: 63, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Col: 3, Help: "Requests merged with others: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.io_merged.total", Cluster: 49, Item: 64, Type: pcp.TypeU64, Sem: counter, Units: count, From: 1, Col: 4, Help: "Requests merged with others: all; all devices"},
	{Name: "cgroup.blkio.all.io_queued.read", Cluster: 49, Item: 65, Type: pcp.TypeU64, Sem: counter, Units: count, From: 2, Help: "Requests that wait: reads; all devices"},
	{Name: "cgroup.blkio.all.io_queued.write", Cluster: 49, Item: 66, Type: pcp.TypeU64, Sem: counter, Units: count, From: 2, Col: 1, Help: "Requests that wait: writes; all devices"},
	{Name: "cgroup.blkio.all.io_queued.sync", Cluster: 49, Item: 67, Type: pcp.TypeU64, Sem: counter, Units: count, From: 2, Col: 2, Help: "Requests that wait: synchronous; all devices"},
	{Name: "cgroup.blkio.all.io_queued.async", Cluster: 49, Item: 68, Type: pcp.TypeU64, Sem: counter, Units: count, From: 2, Col: 3, Help: "Requests that wait: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.io_queued.total", Cluster: 49, Item: 69, Type: pcp.TypeU64, Sem: counter, Units: count, From: 2, Col: 4, Help: "Requests that wait: all; all devices"},
	{Name: "cgroup.blkio.all.io_service_bytes.read", Cluster: 49, Item: 70, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 3, Help: "Bytes transferred: reads; all devices"},
	{Name: "cgroup.blkio.all.io_service_bytes.write", Cluster: 49, Item: 71, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 3, Col: 1, Help: "Bytes transferred: writes; all devices"},
	{Name: "cgroup.blkio.all.io_service_bytes.sync", Cluster: 49, Item: 72, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 3, Col: 2, Help: "Bytes transferred: synchronous; all devices"},
	{Name: "cgroup.blkio.all.io_service_bytes.async", Cluster: 49, Item: 73, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 3, Col: 3, Help: "Bytes transferred: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.io_service_bytes.total", Cluster: 49, Item: 74, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 3, Col: 4, Help: "Bytes transferred: all; all devices"},
	{Name: "cgroup.blkio.all.io_serviced.read", Cluster: 49, Item: 75, Type: pcp.TypeU64, Sem: counter, Units: count, From: 4, Help: "Requests served: reads; all devices"},
	{Name: "cgroup.blkio.all.io_serviced.write", Cluster: 49, Item: 76, Type: pcp.TypeU64, Sem: counter, Units: count, From: 4, Col: 1, Help: "Requests served: writes; all devices"},
	{Name: "cgroup.blkio.all.io_serviced.sync", Cluster: 49, Item: 77, Type: pcp.TypeU64, Sem: counter, Units: count, From: 4, Col: 2, Help: "Requests served: synchronous; all devices"},
	{Name: "cgroup.blkio.all.io_serviced.async", Cluster: 49, Item: 78, Type: pcp.TypeU64, Sem: counter, Units: count, From: 4, Col: 3, Help: "Requests served: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.io_serviced.total", Cluster: 49, Item: 79, Type: pcp.TypeU64, Sem: counter, Units: count, From: 4, Col: 4, Help: "Requests served: all; all devices"},
	{Name: "cgroup.blkio.all.io_service_time.read", Cluster: 49, Item: 80, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 5, Help: "Time that devices took for requests: reads; all devices"},
	{Name: "cgroup.blkio.all.io_service_time.write", Cluster: 49, Item: 81, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 5, Col: 1, Help: "Time that devices took for requests: writes; all devices"},
	{Name: "cgroup.blkio.all.io_service_time.sync", Cluster: 49, Item: 82, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 5, Col: 2, Help: "Time that devices took for requests: synchronous; all devices"},
	{Name: "cgroup.blkio.all.io_service_time.async", Cluster: 49, Item: 83, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 5, Col: 3, Help: "Time that devices took for requests: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.io_service_time.total", Cluster: 49, Item: 84, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 5, Col: 4, Help: "Time that devices took for requests: all; all devices"},
	{Name: "cgroup.blkio.all.io_wait_time.read", Cluster: 49, Item: 85, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 6, Help: "Time that requests waited: reads; all devices"},
	{Name: "cgroup.blkio.all.io_wait_time.write", Cluster: 49, Item: 86, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 6, Col: 1, Help: "Time that requests waited: writes; all devices"},
	{Name: "cgroup.blkio.all.io_wait_time.sync", Cluster: 49, Item: 87, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 6, Col: 2, Help: "Time that requests waited: synchronous; all devices"},
	{Name: "cgroup.blkio.all.io_wait_time.async", Cluster: 49, Item: 88, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 6, Col: 3, Help: "Time that requests waited: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.io_wait_time.total", Cluster: 49, Item: 89, Type: pcp.TypeU64, Sem: counter, Units: nsec, From: 6, Col: 4, Help: "Time that requests waited: all; all devices"},
	{Name: "cgroup.blkio.all.sectors", Cluster: 49, Item: 90, Type: pcp.TypeU64, Sem: counter, Units: kbyte, From: 7, Help: "Kilobytes transferred; all devices"},
	{Name: "cgroup.blkio.all.time", Cluster: 49, Item: 91, Type: pcp.TypeU64, Sem: counter, Units: msec, From: 8, Help: "Time that the group had the device to itself; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_service_bytes.read", Cluster: 49, Item: 92, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 9, Help: "Bytes transferred, as throttling counts: reads; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_service_bytes.write", Cluster: 49, Item: 93, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 9, Col: 1, Help: "Bytes transferred, as throttling counts: writes; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_service_bytes.sync", Cluster: 49, Item: 94, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 9, Col: 2, Help: "Bytes transferred, as throttling counts: synchronous; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_service_bytes.async", Cluster: 49, Item: 95, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 9, Col: 3, Help: "Bytes transferred, as throttling counts: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_service_bytes.total", Cluster: 49, Item: 96, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: 9, Col: 4, Help: "Bytes transferred, as throttling counts: all; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_serviced.read", Cluster: 49, Item: 97, Type: pcp.TypeU64, Sem: counter, Units: count, From: 10, Help: "Requests served, as throttling counts: reads; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_serviced.write", Cluster: 49, Item: 98, Type: pcp.TypeU64, Sem: counter, Units: count, From: 10, Col: 1, Help: "Requests served, as throttling counts: writes; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_serviced.sync", Cluster: 49, Item: 99, Type: pcp.TypeU64, Sem: counter, Units: count, From: 10, Col: 2, Help: "Requests served, as throttling counts: synchronous; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_serviced.async", Cluster: 49, Item: 100, Type: pcp.TypeU64, Sem: counter, Units: count, From: 10, Col: 3, Help: "Requests served, as throttling counts: asynchronous; all devices"},
	{Name: "cgroup.blkio.all.throttle.io_serviced.total", Cluster: 49, Item: 101, Type: pcp.TypeU64, Sem: counter, Units: count, From: 10, Col: 4, Help: "Requests served, as throttling counts: all; all devices"},
	{Name: "cgroup.blkio.id.container", Cluster: 49, Item: 42, Type: pcp.TypeString, Sem: discrete, Help: "Identifier of the container that the group is, found in its name"},
}

// blkioDeviceMetrics are those of groups and devices.
var blkioDeviceMetrics = []column.Metric{
	{Name: "cgroup.blkio.dev.io_merged.read", Cluster: 49, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, Help: "Requests merged with others: reads"},
	{Name: "cgroup.blkio.dev.io_merged.write", Cluster: 49, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 1, Help: "Requests merged with others: writes"},
	{Name: "cgroup.blkio.dev.io_merged.sync", Cluster: 49, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 2, Help: "Requests merged with others: synchronous"},
	{Name: "cgroup.blkio.dev.io_merged.async", Cluster: 49, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 3, Help: "Requests merged with others: asynchronous"},
	{Name: "cgroup.blkio.dev.io_merged.total", Cluster: 49, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 4, Help: "Requests merged with others: all"},
	{Name: "cgroup.blkio.dev.io_queued.read", Cluster: 49, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 5, Help: "Requests that wait: reads"},
	{Name: "cgroup.blkio.dev.io_queued.write", Cluster: 49, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 6, Help: "Requests that wait: writes"},
	{Name: "cgroup.blkio.dev.io_queued.sync", Cluster: 49, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 7, Help: "Requests that wait: synchronous"},
	{Name: "cgroup.blkio.dev.io_queued.async", Cluster: 49, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 8, Help: "Requests that wait: asynchronous"},
	{Name: "cgroup.blkio.dev.io_queued.total", Cluster: 49, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 9, Help: "Requests that wait: all"},
	{Name: "cgroup.blkio.dev.io_service_bytes.read", Cluster: 49, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 10, Help: "Bytes transferred: reads"},
	{Name: "cgroup.blkio.dev.io_service_bytes.write", Cluster: 49, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 11, Help: "Bytes transferred: writes"},
	{Name: "cgroup.blkio.dev.io_service_bytes.sync", Cluster: 49, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 12, Help: "Bytes transferred: synchronous"},
	{Name: "cgroup.blkio.dev.io_service_bytes.async", Cluster: 49, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 13, Help: "Bytes transferred: asynchronous"},
	{Name: "cgroup.blkio.dev.io_service_bytes.total", Cluster: 49, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 14, Help: "Bytes transferred: all"},
	{Name: "cgroup.blkio.dev.io_serviced.read", Cluster: 49, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 15, Help: "Requests served: reads"},
	{Name: "cgroup.blkio.dev.io_serviced.write", Cluster: 49, Item: 16, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 16, Help: "Requests served: writes"},
	{Name: "cgroup.blkio.dev.io_serviced.sync", Cluster: 49, Item: 17, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 17, Help: "Requests served: synchronous"},
	{Name: "cgroup.blkio.dev.io_serviced.async", Cluster: 49, Item: 18, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 18, Help: "Requests served: asynchronous"},
	{Name: "cgroup.blkio.dev.io_serviced.total", Cluster: 49, Item: 19, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 19, Help: "Requests served: all"},
	{Name: "cgroup.blkio.dev.io_service_time.read", Cluster: 49, Item: 20, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 20, Help: "Time that devices took for requests: reads"},
	{Name: "cgroup.blkio.dev.io_service_time.write", Cluster: 49, Item: 21, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 21, Help: "Time that devices took for requests: writes"},
	{Name: "cgroup.blkio.dev.io_service_time.sync", Cluster: 49, Item: 22, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 22, Help: "Time that devices took for requests: synchronous"},
	{Name: "cgroup.blkio.dev.io_service_time.async", Cluster: 49, Item: 23, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 23, Help: "Time that devices took for requests: asynchronous"},
	{Name: "cgroup.blkio.dev.io_service_time.total", Cluster: 49, Item: 24, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 24, Help: "Time that devices took for requests: all"},
	{Name: "cgroup.blkio.dev.io_wait_time.read", Cluster: 49, Item: 25, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 25, Help: "Time that requests waited: reads"},
	{Name: "cgroup.blkio.dev.io_wait_time.write", Cluster: 49, Item: 26, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 26, Help: "Time that requests waited: writes"},
	{Name: "cgroup.blkio.dev.io_wait_time.sync", Cluster: 49, Item: 27, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 27, Help: "Time that requests waited: synchronous"},
	{Name: "cgroup.blkio.dev.io_wait_time.async", Cluster: 49, Item: 28, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 28, Help: "Time that requests waited: asynchronous"},
	{Name: "cgroup.blkio.dev.io_wait_time.total", Cluster: 49, Item: 29, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 29, Help: "Time that requests waited: all"},
	{Name: "cgroup.blkio.dev.sectors", Cluster: 49, Item: 30, Type: pcp.TypeU64, Sem: counter, Units: kbyte, Col: 30, Help: "Kilobytes transferred"},
	{Name: "cgroup.blkio.dev.time", Cluster: 49, Item: 31, Type: pcp.TypeU64, Sem: counter, Units: msec, Col: 31, Help: "Time that the group had the device to itself"},
	{Name: "cgroup.blkio.dev.throttle.io_service_bytes.read", Cluster: 49, Item: 32, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 32, Help: "Bytes transferred, as throttling counts: reads"},
	{Name: "cgroup.blkio.dev.throttle.io_service_bytes.write", Cluster: 49, Item: 33, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 33, Help: "Bytes transferred, as throttling counts: writes"},
	{Name: "cgroup.blkio.dev.throttle.io_service_bytes.sync", Cluster: 49, Item: 34, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 34, Help: "Bytes transferred, as throttling counts: synchronous"},
	{Name: "cgroup.blkio.dev.throttle.io_service_bytes.async", Cluster: 49, Item: 35, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 35, Help: "Bytes transferred, as throttling counts: asynchronous"},
	{Name: "cgroup.blkio.dev.throttle.io_service_bytes.total", Cluster: 49, Item: 36, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, Col: 36, Help: "Bytes transferred, as throttling counts: all"},
	{Name: "cgroup.blkio.dev.throttle.io_serviced.read", Cluster: 49, Item: 37, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 37, Help: "Requests served, as throttling counts: reads"},
	{Name: "cgroup.blkio.dev.throttle.io_serviced.write", Cluster: 49, Item: 38, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 38, Help: "Requests served, as throttling counts: writes"},
	{Name: "cgroup.blkio.dev.throttle.io_serviced.sync", Cluster: 49, Item: 39, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 39, Help: "Requests served, as throttling counts: synchronous"},
	{Name: "cgroup.blkio.dev.throttle.io_serviced.async", Cluster: 49, Item: 40, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 40, Help: "Requests served, as throttling counts: asynchronous"},
	{Name: "cgroup.blkio.dev.throttle.io_serviced.total", Cluster: 49, Item: 41, Type: pcp.TypeU64, Sem: counter, Units: count, Col: 41, Help: "Requests served, as throttling counts: all"},
}
