package linux

import (
	"bytes"
	"os"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of diskMetrics.
const (
	blockDiskCount = iota
	blockDiskAll
	blockDisk
	blockPart
	blockDM
	blockMD
	blockZram
	blockWWID
	blockDMName
	blockMDName
	blockDiskCap
	blockPartCap
	blockDMCap
	blockMDCap
	blockWWIDCap
	blockMDStatus
	blockDiskID
	blockWWIDPaths
	blockDiskSched
	blockWWIDSched
	blockDiskHardware
)

// Columns of blockDiskHardware.
const (
	diskController = iota
	diskModel
	numDiskHardware
)

// Columns of the blocks of devices, and of blockDiskAll.
const (
	diskRead = iota
	diskWrite
	diskTotal
	diskBlkRead
	diskBlkWrite
	diskBlkTotal
	diskReadKB
	diskWriteKB
	diskTotalKB
	diskReadMerge
	diskWriteMerge
	diskActive
	diskReadActive
	diskWriteActive
	diskTotalActive
	diskQueue
	diskDiscard
	diskBlkDiscard
	diskDiscardKB
	diskDiscardMerge
	diskDiscardActive
	diskFlush
	diskFlushActive
	diskInflight
	numDisk
)

// A diskKind is the instance domain that a block device belongs to.
type diskKind int

const (
	diskNone diskKind = iota // in none: loop, ram, CD-ROM
	diskWhole
	diskPart
	diskDM
	diskMD
	diskZram
	numDiskKinds
)

// kindBlocks are the blocks of devices of each kind.
var kindBlocks = [numDiskKinds]struct{ stats, capacity int }{
	diskWhole: {blockDisk, blockDiskCap},
	diskPart:  {blockPart, blockPartCap},
	diskDM:    {blockDM, blockDMCap},
	diskMD:    {blockMD, blockMDCap},
	diskZram:  {blockZram, -1},
}

// classify returns the kind of a block device by its name, as
// proc_partitions.c does: the instance domains of existing archives depend on it.
func classify(name string) diskKind {
	last := name[len(name)-1]
	digit := ctext.IsDigit(last)
	has := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case has("dm-"):
		return diskDM
	case has("md"):
		return diskMD
	case strings.Contains(name, "/"):
		// Such as cciss/c0d0p1. Without any digit at the end it counts as
		// a partition.
		base := strings.TrimRight(name, "0123456789")
		if !digit || strings.HasSuffix(base, "p") {
			return diskPart
		}
	case has("zram"):
		return diskZram
	case has("loop"), has("ram"):
		return diskNone
	case has("sr") && len(name) > 2 && ctext.IsDigit(name[2]):
		return diskNone
	case has("mmcblk"), has("nvme"), has("rbd"), has("nbd"):
		// These end in a digit themselves; a partition has a p before its number.
		n := 3
		switch {
		case has("mmcblk"):
			n = 6
		case has("nvme"):
			n = 4
		}
		if digit && strings.Contains(name[n:], "p") {
			return diskPart
		}
	case digit:
		return diskPart
	}
	if strings.Contains(name, "xvm") || len(name) == 18 && name[0] >= '1' && name[0] <= '3' {
		return diskNone
	}
	return diskWhole
}

// A diskReader reads /proc/diskstats and the files of the devices in /sys.
type diskReader struct {
	blocks []*column.Block
	stats  *column.Source // /proc/diskstats
	host   *host
	insts  [numDiskKinds]column.Names
	wwids  column.Names

	byName map[string]*disk
	lines  []*disk // by line of diskstats at the last reading
	parts  []*disk // by line of partitions

	seen      uint64 // number of the reading
	whole, md []*disk
	dm        []*disk
	paths     []byte // room to join names in
}

// A disk is a block device. It is kept when the device goes, so that the device
// gets the same instance if it comes back.
type disk struct {
	kernel string // name in /proc/diskstats
	kind   diskKind
	inst   int32
	name   string // external name of the instance
	seen   uint64

	dmName    *procfs.File // of a dm device: the file with its name
	mdMissing *procfs.File // of an md device: the number of missing disks
	mdState   *procfs.File
	scheduler *procfs.File
	wwid      string // "unknown" if there is no such name
	wwidInst  int32
	wwidName  string
}

// diskStats are the numbers of a line of /proc/diskstats, in its order.
type diskStats [17]uint64

const (
	rdIOs = iota
	rdMerges
	rdSectors
	rdTicks
	wrIOs
	wrMerges
	wrSectors
	wrTicks
	inFlight
	ioTicks
	queueTicks
	dsIOs
	dsMerges
	dsSectors
	dsTicks
	flIOs
	flTicks
)

// parseDiskStats reads the numbers after the name. A line of four numbers is a
// partition of an old kernel, which counts less; brief is then true.
func parseDiskStats(b []byte) (s diskStats, brief, ok bool) {
	n := 0
	for n < len(s) {
		v, rest, ok := procfs.Uint(b)
		if !ok {
			break
		}
		s[n], b = v, rest
		n++
	}
	switch {
	case n >= 11:
		return s, false, true
	case n >= 4:
		return diskStats{rdIOs: s[0], rdSectors: s[1], wrIOs: s[2], wrSectors: s[3]}, true, true
	}
	return s, false, false
}

// put stores s in a row. Sectors have 512 bytes, independent of the device.
func (s *diskStats) put(row []column.Cell, brief bool) {
	set := func(col int, v uint64) { row[col] = column.Num(v) }
	set(diskRead, s[rdIOs])
	set(diskWrite, s[wrIOs])
	set(diskTotal, s[rdIOs]+s[wrIOs])
	set(diskBlkRead, s[rdSectors])
	set(diskBlkWrite, s[wrSectors])
	set(diskBlkTotal, s[rdSectors]+s[wrSectors])
	set(diskReadKB, s[rdSectors]/2)
	set(diskWriteKB, s[wrSectors]/2)
	set(diskTotalKB, (s[rdSectors]+s[wrSectors])/2)
	set(diskDiscard, s[dsIOs])
	set(diskBlkDiscard, s[dsSectors])
	set(diskDiscardKB, s[dsSectors]/2)
	set(diskDiscardMerge, s[dsMerges])
	set(diskDiscardActive, s[dsTicks])
	set(diskFlush, s[flIOs])
	set(diskFlushActive, s[flTicks])
	set(diskInflight, s[inFlight])
	if brief {
		return
	}
	set(diskReadMerge, s[rdMerges])
	set(diskWriteMerge, s[wrMerges])
	set(diskActive, s[ioTicks])
	set(diskReadActive, s[rdTicks])
	set(diskWriteActive, s[wrTicks])
	set(diskTotalActive, s[rdTicks]+s[wrTicks])
	set(diskQueue, s[queueTicks])
}

// addCells adds the values of row to those of sum.
func addCells(sum, row []column.Cell) {
	for i := range sum {
		if row[i].OK {
			sum[i] = column.Num(sum[i].Bits + row[i].Bits)
		}
	}
}

// newDiskReader makes the reader, and the source of devices that other sources use.
func newDiskReader(h *host) *diskReader {
	r := &diskReader{host: h, byName: make(map[string]*disk)}
	named := func(_ int32, name string) map[string]any { return map[string]any{"device_name": name} }
	indom := func(serial int, what, help string) *column.InDom {
		return &column.InDom{
			Serial: serial, Help: help, InstanceLabels: named,
			Labels: `{"device_type":"block","indom_name":"per ` + what + `"}`,
		}
	}
	whole := indom(1, "disk", "Disks")
	parts := indom(10, "partition", "Partitions of disks")
	dm := indom(24, "dm device", "Device mapper volumes")
	md := indom(25, "md device", "Software RAID devices")
	zram := &column.InDom{Serial: 38, Help: "Compressed memory devices"}
	wwid := &column.InDom{Serial: 42, Help: "Multipath devices, by world wide identifier"}
	each := func(d *column.InDom) column.Layout { return column.Layout{Cols: numDisk, InDom: d, Lists: true} }
	one := func(d *column.InDom) column.Layout { return column.Layout{Cols: 1, InDom: d} }
	r.blocks = column.NewBlocks(diskMetrics, []column.Layout{
		blockDiskCount:    {Cols: 1},
		blockDiskAll:      {Cols: numDisk},
		blockDisk:         each(whole),
		blockPart:         each(parts),
		blockDM:           each(dm),
		blockMD:           each(md),
		blockZram:         each(zram),
		blockWWID:         each(wwid),
		blockDMName:       one(dm),
		blockMDName:       one(md),
		blockDiskCap:      one(whole),
		blockPartCap:      one(parts),
		blockDMCap:        one(dm),
		blockMDCap:        one(md),
		blockWWIDCap:      one(wwid),
		blockMDStatus:     one(md),
		blockDiskID:       one(whole),
		blockWWIDPaths:    one(wwid),
		blockDiskSched:    one(whole),
		blockWWIDSched:    one(wwid),
		blockDiskHardware: {Cols: numDiskHardware, InDom: whole},
	}...)
	r.stats = &column.Source{
		Name: "/proc/diskstats", File: h.file("proc/diskstats"), Parse: r.parse, Blocks: r.blocks[:blockDiskCap],
	}
	return r
}

func (r *diskReader) family() column.Family {
	after := []*column.Source{r.stats}
	return column.Family{Name: "disk", Metrics: diskMetrics, Sources: []*column.Source{
		r.stats,
		{Name: "/proc/partitions", File: r.host.file("proc/partitions"), Parse: r.parsePartitions, Blocks: r.blocks[blockDiskCap:blockMDStatus], After: after},
		{Name: "/sys/block: names", Read: r.readNames, Blocks: r.blocks[blockMDStatus:blockDiskSched], After: after},
		{Name: "/sys/block: schedulers", Read: r.readSchedulers, Blocks: r.blocks[blockDiskSched:blockDiskHardware], After: after},
		{Name: "/sys/block: hardware", Read: r.readHardware, Blocks: r.blocks[blockDiskHardware:], After: after},
	}}
}

// parse fills the blocks of devices, their sum, and the sums by WWID from
// /proc/diskstats.
func (r *diskReader) parse(b []byte) {
	r.seen++
	r.whole, r.dm, r.md = r.whole[:0], r.dm[:0], r.md[:0]
	for _, k := range kindBlocks[diskWhole:] {
		r.blocks[k.stats].Clear()
	}
	all, wwids := r.blocks[blockDiskAll], r.blocks[blockWWID]
	wwids.Clear()
	all.Zero() // without a disk the sums are 0
	for n := 0; ; n++ {
		line, rest, ok := procfs.Line(b)
		if !ok {
			break
		}
		b = rest
		_, line, ok1 := procfs.Uint(line)
		_, line, ok2 := procfs.Uint(line)
		name, line := procfs.Field(line)
		if !ok1 || !ok2 || len(name) == 0 {
			continue
		}
		d := r.disk(&r.lines, n, name)
		if d.kind == diskNone || d.seen == r.seen {
			continue
		}
		stats, brief, ok := parseDiskStats(line)
		if !ok {
			continue
		}
		if d.kind == diskDM && !r.nameDM(d) {
			continue
		}
		d.seen = r.seen
		out := r.blocks[kindBlocks[d.kind].stats]
		row := out.Row(out.AddNamed(d.inst, d.name))
		stats.put(row, brief)
		switch d.kind {
		case diskWhole:
			r.whole = append(r.whole, d)
			addCells(all.Row(0), row)
			r.addWWID(d, row)
		case diskDM:
			r.dm = append(r.dm, d)
		case diskMD:
			r.md = append(r.md, d)
		}
	}
	for _, list := range [...]struct {
		block int
		disks []*disk
	}{{blockDMName, r.dm}, {blockMDName, r.md}} {
		out := r.blocks[list.block]
		out.Clear()
		for _, d := range list.disks {
			out.SetText(out.Add(d.inst), 0, d.kernel)
		}
	}
	r.blocks[blockDiskCount].Set(0, 0, uint64(len(r.whole)))
}

// disk returns the device called name, which was in line n if nothing changed.
func (r *diskReader) disk(lines *[]*disk, n int, name []byte) *disk {
	if n < len(*lines) && (*lines)[n] != nil && (*lines)[n].kernel == string(name) {
		return (*lines)[n]
	}
	d, ok := r.byName[string(name)]
	if !ok {
		d = r.newDisk(string(name))
		r.byName[d.kernel] = d
	}
	for len(*lines) <= n {
		*lines = append(*lines, nil)
	}
	(*lines)[n] = d
	return d
}

// newDisk adds a new device.
func (r *diskReader) newDisk(kernel string) *disk {
	d := &disk{kernel: kernel, kind: classify(kernel)}
	if d.kind == diskNone {
		return d
	}
	dir := "sys/block/" + strings.ReplaceAll(kernel, "/", "!")
	switch d.kind {
	case diskDM:
		d.dmName = r.host.deviceFile(dir + "/dm/name")
		return d // its instance depends on its name by then
	case diskMD:
		d.name = r.mdName(kernel)
		d.mdMissing = r.host.deviceFile(dir + "/md/degraded")
		d.mdState = r.host.deviceFile(dir + "/md/array_state")
	case diskWhole:
		d.scheduler = r.host.deviceFile(dir + "/queue/scheduler")
		d.wwid = r.findWWID(dir)
		d.name = kernel
		if d.wwid != "unknown" {
			r.wwids.Begin()
			d.wwidInst, d.wwidName = r.wwids.ID([]byte(d.wwid))
		}
	default:
		d.name = kernel
	}
	insts := &r.insts[d.kind]
	insts.Begin()
	d.inst, d.name = insts.ID([]byte(d.name))
	return d
}

// nameDM updates the name of a device mapper device in /dev/mapper, which can
// change. A device without a name is not reported.
func (r *diskReader) nameDM(d *disk) bool {
	b, err := d.dmName.Read()
	name := procfs.Trim(b)
	if err != nil || len(name) == 0 {
		return false
	}
	if d.name != string(name) {
		insts := &r.insts[diskDM]
		insts.Begin()
		d.inst, d.name = insts.ID(name)
	}
	return true
}

// findWWID returns the world wide identifier of a disk, in the numeric form
// that SCSI tools use for the designator's type, or "unknown".
func (r *diskReader) findWWID(dir string) string {
	b, err := procfs.ReadOnce(r.host.path(dir + "/device/wwid"))
	if err != nil {
		b, err = procfs.ReadOnce(r.host.path(dir + "/wwid"))
	}
	b = procfs.Trim(b)
	if err != nil || len(b) == 0 {
		return "unknown"
	}
	for prefix, digit := range map[string]string{"t10.": "1", "eui.": "2", "naa.": "3"} {
		if id, ok := bytes.CutPrefix(b, []byte(prefix)); ok {
			return digit + string(id)
		}
	}
	return string(b)
}

// addWWID adds the numbers of a disk to those of the device that it is a path to.
func (r *diskReader) addWWID(d *disk, row []column.Cell) {
	if d.wwidName == "" {
		return
	}
	out := r.blocks[blockWWID]
	at := -1
	for i, inst := range out.Insts() {
		if inst == d.wwidInst {
			at = i
		}
	}
	if at < 0 {
		at = out.AddNamed(d.wwidInst, d.wwidName)
	}
	addCells(out.Row(at), row)
}

// readNames reports the connection of each disk, and the state of arrays.
func (r *diskReader) readNames() error {
	ids, paths := r.blocks[blockDiskID], r.blocks[blockWWIDPaths]
	ids.Clear()
	paths.Clear()
	status := r.blocks[blockMDStatus]
	status.Clear()
	for _, d := range r.md {
		status.Set(status.Add(d.inst), 0, uint64(r.arrayStatus(d)))
	}
	for _, d := range r.whole {
		ids.SetText(ids.Add(d.inst), 0, d.wwid)
	}
	for _, inst := range r.blocks[blockWWID].Insts() {
		names := r.paths[:0]
		for _, d := range r.whole {
			if d.wwidName != "" && d.wwidInst == inst {
				if len(names) > 0 {
					names = append(names, ' ')
				}
				names = append(names, d.kernel...)
			}
		}
		paths.SetString(paths.Add(inst), 0, names)
		r.paths = names
	}
	return nil
}

// readSchedulers reports the I/O scheduler of each disk, the name in brackets
// in "none [mq-deadline] bfq".
func (r *diskReader) readSchedulers() error {
	out, wwids := r.blocks[blockDiskSched], r.blocks[blockWWIDSched]
	out.Clear()
	wwids.Clear()
	for _, d := range r.whole {
		name := []byte("unknown")
		if b, err := d.scheduler.Read(); err == nil {
			if _, b, ok := bytes.Cut(b, []byte("[")); ok {
				if b, _, ok := bytes.Cut(b, []byte("]")); ok {
					name = b
				}
			}
		}
		out.SetString(out.Add(d.inst), 0, name)
		if d.wwidName != "" && !wwids.Has(d.wwidInst) {
			wwids.SetString(wwids.Add(d.wwidInst), 0, name)
		}
	}
	return nil
}

// readHardware reports the controller and the model of each disk. It reads them each
// time: a disk that takes the name of another is not the same.
func (r *diskReader) readHardware() error {
	out := r.blocks[blockDiskHardware]
	out.Clear()
	for _, d := range r.whole {
		row := out.Add(d.inst)
		dir := r.host.path("sys/block/" + strings.ReplaceAll(d.kernel, "/", "!"))
		if link, err := os.Readlink(dir); err == nil {
			if c := controller(link); c != "" {
				out.SetText(row, diskController, c)
			}
		}
		if b, err := procfs.ReadOnce(dir + "/device/model"); err == nil {
			if b = procfs.Trim(b); len(b) > 0 {
				out.SetString(row, diskModel, b)
			}
		}
	}
	return nil
}

// controller returns the first PCI device on the way to a disk, as lspci calls it, "" if
// there is none: 00:1f.2 of ../devices/pci0000:00/0000:00:1f.2/ata1/.../block/sda.
func controller(link string) string {
	bus := false
	for part := range strings.SplitSeq(link, "/") {
		if bus && strings.Contains(part, ":") {
			return strings.TrimPrefix(part, "0000:")
		}
		bus = strings.HasPrefix(part, "pci") && strings.Contains(part, ":")
	}
	return ""
}

// parsePartitions reports capacities: the third number, in Kbytes, of the lines
// of /proc/partitions.
func (r *diskReader) parsePartitions(b []byte) {
	for _, k := range kindBlocks[diskWhole:diskZram] {
		r.blocks[k.capacity].Clear()
	}
	wwids := r.blocks[blockWWIDCap]
	wwids.Clear()
	for n := 0; ; n++ {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		_, line, ok1 := procfs.Uint(line)
		_, line, ok2 := procfs.Uint(line)
		kb, line, ok3 := procfs.Uint(line)
		name, _ := procfs.Field(line)
		if !ok1 || !ok2 || !ok3 || len(name) == 0 || kb == 0 {
			continue
		}
		d := r.disk(&r.parts, n, name)
		if d.kind == diskNone || d.kind == diskZram || d.seen != r.seen {
			continue
		}
		out := r.blocks[kindBlocks[d.kind].capacity]
		out.Set(out.Add(d.inst), 0, kb)
		if d.wwidName == "" {
			continue
		}
		found := false
		for i, inst := range wwids.Insts() {
			if inst == d.wwidInst {
				wwids.Row(i)[0].Bits += kb
				found = true
			}
		}
		if !found {
			wwids.Set(wwids.Add(d.wwidInst), 0, kb)
		}
	}
}
