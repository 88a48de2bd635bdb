package linux

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/procfs"
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

// A diskKind says which instance domain a block device belongs to.
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

// kindBlocks are where devices of each kind are reported.
var kindBlocks = [numDiskKinds]struct{ stats, capacity blockID }{
	diskWhole: {blockDisk, blockDiskCap},
	diskPart:  {blockPart, blockPartCap},
	diskDM:    {blockDM, blockDMCap},
	diskMD:    {blockMD, blockMDCap},
	diskZram:  {blockZram, blockConst},
}

// classify tells the kind of a block device from its name, as
// proc_partitions.c does: the instance domains of existing archives depend on it.
func classify(name string) diskKind {
	last := name[len(name)-1]
	digit := last >= '0' && last <= '9'
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
	case has("sr") && len(name) > 2 && name[2] >= '0' && name[2] <= '9':
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

// A diskReader reads /proc/diskstats and what /sys says about the devices.
type diskReader struct {
	file  *procfs.File
	caps  *procfs.File // /proc/partitions
	insts [numDiskKinds]registry
	wwids registry

	byName map[string]*disk
	lines  []*disk // by line of diskstats at the last reading
	parts  []*disk // by line of partitions

	seen      uint64 // number of the reading
	whole, md []*disk
	dm        []*disk
	paths     []byte // room to join names in
}

// A disk is a block device. It is kept when the device goes, so that the device
// has its instance again if it comes back.
type disk struct {
	kernel string // name in /proc/diskstats
	kind   diskKind
	inst   int32
	name   string // external name of the instance
	seen   uint64

	dmName    *procfs.File // of a dm device: where its name is
	mdMissing *procfs.File // of an md device: how many disks it lacks
	mdState   *procfs.File
	scheduler *procfs.File
	wwid      string // "unknown" if it has none
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

// put stores s in a row. Sectors have 512 bytes whatever the device's are.
func (s *diskStats) put(row []cell, brief bool) {
	set := func(col int, v uint64) { row[col] = cell{v, true} }
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
func addCells(sum, row []cell) {
	for i := range sum {
		if row[i].ok {
			sum[i] = cell{sum[i].bits + row[i].bits, true}
		}
	}
}

func readDiskstats(a *Agent) error {
	b, err := a.disks.file.Read()
	if err != nil {
		return err
	}
	a.parseDiskstats(b)
	return nil
}

// parseDiskstats fills the blocks of devices, their sum, and the sums by WWID.
func (a *Agent) parseDiskstats(b []byte) {
	r := &a.disks
	r.seen++
	r.whole, r.dm, r.md = r.whole[:0], r.dm[:0], r.md[:0]
	for _, k := range kindBlocks[diskWhole:] {
		a.blocks[k.stats].clear()
	}
	all, wwids := &a.blocks[blockDiskAll], &a.blocks[blockWWID]
	all.clear()
	wwids.clear()
	for i := range all.cells {
		all.cells[i].ok = true // without a disk the sums are 0
	}
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
		d := a.disk(&r.lines, n, name)
		if d.kind == diskNone || d.seen == r.seen {
			continue
		}
		stats, brief, ok := parseDiskStats(line)
		if !ok {
			continue
		}
		d.seen = r.seen
		if d.kind == diskDM && !a.nameDM(d) {
			continue
		}
		out := &a.blocks[kindBlocks[d.kind].stats]
		row := out.row(out.addNamed(d.inst, d.name))
		stats.put(row, brief)
		switch d.kind {
		case diskWhole:
			r.whole = append(r.whole, d)
			addCells(all.cells, row)
			a.addWWID(d, row)
		case diskDM:
			r.dm = append(r.dm, d)
		case diskMD:
			r.md = append(r.md, d)
		}
	}
	for _, list := range [...]struct {
		block blockID
		disks []*disk
	}{{blockDMName, r.dm}, {blockMDName, r.md}} {
		out := &a.blocks[list.block]
		out.clear()
		for _, d := range list.disks {
			out.setText(out.add(d.inst), 0, d.kernel)
		}
	}
	a.blocks[blockDiskCount].set(0, 0, uint64(len(r.whole)))
}

// disk returns the device called name, which stood in line n if nothing changed.
func (a *Agent) disk(lines *[]*disk, n int, name []byte) *disk {
	if n < len(*lines) && (*lines)[n] != nil && (*lines)[n].kernel == string(name) {
		return (*lines)[n]
	}
	d, ok := a.disks.byName[string(name)]
	if !ok {
		d = a.newDisk(string(name))
		a.disks.byName[d.kernel] = d
	}
	for len(*lines) <= n {
		*lines = append(*lines, nil)
	}
	(*lines)[n] = d
	return d
}

// newDisk looks at a device that has appeared.
func (a *Agent) newDisk(kernel string) *disk {
	d := &disk{kernel: kernel, kind: classify(kernel)}
	if d.kind == diskNone {
		return d
	}
	dir := "sys/block/" + strings.ReplaceAll(kernel, "/", "!")
	switch d.kind {
	case diskDM:
		d.dmName = a.deviceFile(dir + "/dm/name")
		return d // its instance depends on what it is called by then
	case diskMD:
		d.name = a.mdName(kernel)
		d.mdMissing = a.deviceFile(dir + "/md/degraded")
		d.mdState = a.deviceFile(dir + "/md/array_state")
	case diskWhole:
		d.scheduler = a.deviceFile(dir + "/queue/scheduler")
		d.wwid = a.findWWID(dir)
		d.name = kernel
		if d.wwid != "unknown" {
			a.disks.wwids.begin()
			d.wwidInst, d.wwidName = a.disks.wwids.id([]byte(d.wwid))
		}
	default:
		d.name = kernel
	}
	insts := &a.disks.insts[d.kind]
	insts.begin()
	d.inst, d.name = insts.id([]byte(d.name))
	return d
}

// nameDM brings the name of a device mapper device up to date: that in
// /dev/mapper, which it can change. One without a name is not reported.
func (a *Agent) nameDM(d *disk) bool {
	b, err := d.dmName.Read()
	name := procfs.Trim(b)
	if err != nil || len(name) == 0 {
		return false
	}
	if d.name != string(name) {
		insts := &a.disks.insts[diskDM]
		insts.begin()
		d.inst, d.name = insts.id(name)
	}
	return true
}

// findWWID returns the world wide identifier of a disk, in the numeric form
// that SCSI tools use for the designator's type, or "unknown".
func (a *Agent) findWWID(dir string) string {
	b, err := procfs.ReadOnce(a.path(dir + "/device/wwid"))
	if err != nil {
		b, err = procfs.ReadOnce(a.path(dir + "/wwid"))
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
func (a *Agent) addWWID(d *disk, row []cell) {
	if d.wwidName == "" {
		return
	}
	out := &a.blocks[blockWWID]
	at := -1
	for i, inst := range out.insts {
		if inst == d.wwidInst {
			at = i
		}
	}
	if at < 0 {
		at = out.addNamed(d.wwidInst, d.wwidName)
	}
	addCells(out.row(at), row)
}

// readDiskNames reports what each disk is connected to, and how arrays are.
func readDiskNames(a *Agent) error {
	ids, paths := &a.blocks[blockDiskID], &a.blocks[blockWWIDPaths]
	ids.clear()
	paths.clear()
	status := &a.blocks[blockMDStatus]
	status.clear()
	for _, d := range a.disks.md {
		status.set(status.add(d.inst), 0, uint64(a.arrayStatus(d)))
	}
	for _, d := range a.disks.whole {
		ids.setText(ids.add(d.inst), 0, d.wwid)
	}
	for _, inst := range a.blocks[blockWWID].insts {
		names := a.disks.paths[:0]
		for _, d := range a.disks.whole {
			if d.wwidName != "" && d.wwidInst == inst {
				if len(names) > 0 {
					names = append(names, ' ')
				}
				names = append(names, d.kernel...)
			}
		}
		paths.setString(paths.add(inst), 0, names)
		a.disks.paths = names
	}
	return nil
}

// arrayStatus returns the status of the process mdadm --detail --test, as wait(2)
// gives it and the C agent reports it: 256 times what the program exits with. That
// is 0 for an array in order, 1 if disks are missing, 2 if it cannot be used, and 4
// if nothing is known. Unless Config.MDAdm names a program, the kernel is asked in
// its place.
func (a *Agent) arrayStatus(d *disk) int {
	if a.cfg.MDAdm != "" {
		return runMDAdm(a.cfg.MDAdm, d.kernel)
	}
	return d.kernelStatus() << 8
}

// mdadmTimeout is how long a program may take to report on an array.
const mdadmTimeout = 5 * time.Second

// runMDAdm runs a program for the status of the array called name. The status is
// -1 if it cannot be run.
func runMDAdm(program, name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), mdadmTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--detail", "--test", "/dev/"+name)
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case cmd.ProcessState == nil || err != nil && ctx.Err() != nil:
		return -1
	case cmd.ProcessState.ExitCode() < 0:
		return 4 << 8 // ended by a signal
	}
	return cmd.ProcessState.ExitCode() << 8
}

// kernelStatus is the exit status of mdadm --detail --test, taken from /sys.
func (d *disk) kernelStatus() int {
	b, err := d.mdState.Read()
	if err != nil {
		return 4
	}
	switch string(procfs.Trim(b)) {
	case "clear", "inactive", "suspended", "broken":
		return 2
	}
	// Levels without redundancy have no such file: nothing can be missing.
	if number(d.mdMissing, 0) > 0 {
		return 1
	}
	return 0
}

// readSchedulers reports the I/O scheduler of each disk, the name in brackets
// in "none [mq-deadline] bfq".
func readSchedulers(a *Agent) error {
	out, wwids := &a.blocks[blockDiskSched], &a.blocks[blockWWIDSched]
	out.clear()
	wwids.clear()
	for _, d := range a.disks.whole {
		name := []byte("unknown")
		if b, err := d.scheduler.Read(); err == nil {
			if _, b, ok := bytes.Cut(b, []byte("[")); ok {
				if b, _, ok := bytes.Cut(b, []byte("]")); ok {
					name = b
				}
			}
		}
		out.setString(out.add(d.inst), 0, name)
		if d.wwidName != "" && !hasInst(wwids, d.wwidInst) {
			wwids.setString(wwids.add(d.wwidInst), 0, name)
		}
	}
	return nil
}

func hasInst(b *block, inst int32) bool {
	for _, i := range b.insts {
		if i == inst {
			return true
		}
	}
	return false
}

// readPartitions reports capacities: the third number, in Kbytes, of the lines
// of /proc/partitions.
func readPartitions(a *Agent) error {
	b, err := a.disks.caps.Read()
	if err != nil {
		return err
	}
	r := &a.disks
	for _, k := range kindBlocks[diskWhole:diskZram] {
		a.blocks[k.capacity].clear()
	}
	wwids := &a.blocks[blockWWIDCap]
	wwids.clear()
	for n := 0; ; n++ {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return nil
		}
		b = rest
		_, line, ok1 := procfs.Uint(line)
		_, line, ok2 := procfs.Uint(line)
		kb, line, ok3 := procfs.Uint(line)
		name, _ := procfs.Field(line)
		if !ok1 || !ok2 || !ok3 || len(name) == 0 || kb == 0 {
			continue
		}
		d := a.disk(&r.parts, n, name)
		if d.kind == diskNone || d.kind == diskZram || d.seen != r.seen {
			continue
		}
		out := &a.blocks[kindBlocks[d.kind].capacity]
		out.set(out.add(d.inst), 0, kb)
		if d.wwidName == "" {
			continue
		}
		found := false
		for i, inst := range wwids.insts {
			if inst == d.wwidInst {
				wwids.cells[i].bits += kb
				found = true
			}
		}
		if !found {
			wwids.set(wwids.add(d.wwidInst), 0, kb)
		}
	}
}

// mdName returns what a RAID device is called in /dev/md, else its own name.
// Links that begin with a digit are not names that anybody gave.
func (a *Agent) mdName(kernel string) string {
	dir := a.path("dev/md")
	for _, name := range procfs.Names(dir) {
		if name[0] == '.' || name[0] >= '0' && name[0] <= '9' {
			continue
		}
		if target, err := os.Readlink(filepath.Join(dir, name)); err == nil && filepath.Base(target) == kernel {
			return name
		}
	}
	return kernel
}
