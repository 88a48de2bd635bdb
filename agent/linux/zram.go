package linux

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// zramFile is a file of numbers about a zram device, of which kinds there are
// three, and its disk size.
type zramFile struct {
	block blockID
	name  string
	scale [8]uint64 // by which to multiply each number; 0 means to divide by 1024
}

// The numbers of mm_stat are bytes, then pages; pages count as 4 Kbytes
// whatever their size, as in proc_partitions.c.
var zramFiles = [...]zramFile{
	{blockZramCap, "disksize", [8]uint64{0}},
	{blockZramIO, "io_stat", [8]uint64{1, 1, 1, 1}},
	{blockZramMM, "mm_stat", [8]uint64{0, 0, 0, 0, 0, 4, 4, 4}},
	{blockZramBD, "bd_stat", [8]uint64{4, 4, 4}},
}

// readZram reads what /sys has about compressed memory devices.
func readZram(a *Agent) error {
	zram := &a.blocks[blockZram]
	for i, f := range zramFiles {
		out := &a.blocks[f.block]
		out.clear()
		for j, inst := range zram.insts {
			file := a.zramFile(i, int(inst), "sys/block/"+zram.names[j]+"/"+f.name)
			b, err := file.Read()
			if err != nil {
				continue
			}
			row := out.row(out.add(inst))
			parseZram(b, row, f.scale)
		}
	}
	return nil
}

// parseZram reads as many numbers as row has columns, or none of them.
func parseZram(b []byte, row []cell, scale [8]uint64) {
	for col := range row {
		v, rest, ok := procfs.Uint(b)
		if !ok {
			clear(row)
			return
		}
		b = rest
		if scale[col] == 0 {
			v >>= 10
		} else {
			v *= scale[col]
		}
		row[col] = cell{v, true}
	}
}

func (a *Agent) zramFile(kind, inst int, path string) *procfs.File {
	files := &a.zram[kind]
	for len(*files) <= inst {
		*files = append(*files, nil)
	}
	if (*files)[inst] == nil {
		(*files)[inst] = a.deviceFile(path)
	}
	return (*files)[inst]
}

// readClasses reads the statistics of tapes and of Fibre Channel hosts. The keys
// of their blocks are names of files.
func readClasses(a *Agent) error {
	tapes, hosts := &a.blocks[blockTape], &a.blocks[blockFC]
	tapes.clear()
	hosts.clear()
	a.tapes.begin()
	for _, name := range procfs.Names(a.path("sys/class/scsi_tape")) {
		// A tape has more directories, one for each of its modes: nst0, st0a.
		if strings.HasPrefix(name, "st") && name[len(name)-1] >= '0' && name[len(name)-1] <= '9' {
			a.readStats(blockTape, &a.tapes, name, "sys/class/scsi_tape/"+name+"/stats/", procfs.Uint)
		}
	}
	a.fcHosts.begin()
	for _, name := range procfs.Names(a.path("sys/class/fc_host")) {
		row := a.readStats(blockFC, &a.fcHosts, name, "sys/class/fc_host/"+name+"/statistics/", procfs.Hex)
		for key, col := range a.keys[blockFC] {
			if row[col].bits == math.MaxUint64 {
				row[col].bits = 0 // so a driver says that it does not know
			}
			if strings.HasSuffix(key, "_words") {
				row[col].bits *= 4 // are reported in bytes
			}
		}
	}
	a.blocks[blockTapeCount].set(0, 0, uint64(tapes.rows()))
	a.blocks[blockFCCount].set(0, 0, uint64(hosts.rows()))
	return nil
}

// readStats adds a device with the numbers in files of dir, which are not kept
// open: few ask for them. It returns the row.
func (a *Agent) readStats(id blockID, names *registry, name, dir string, scan func([]byte) (uint64, []byte, bool)) []cell {
	out := &a.blocks[id]
	row := out.row(out.addNamed(names.id([]byte(name))))
	for key, col := range a.keys[id] {
		if b, err := procfs.ReadOnce(a.path(dir + key)); err == nil {
			if v, _, ok := scan(b); ok {
				row[col] = cell{v, true}
			}
		}
	}
	return row
}

// Columns of blockTTY.
const (
	ttyTx = iota
	ttyRx
	ttyFrame
	ttyParity
	ttyBreak
	ttyOverrun
	ttyIRQ
	numTTY
)

type ttyReader struct {
	file  *procfs.File
	names registry
}

func readTTY(a *Agent) error {
	b, err := a.tty.file.Read()
	if err != nil {
		return err
	}
	a.tty.parse(b, &a.blocks[blockTTY])
	return nil
}

// parse reads lines "0: uart:16550A port:000003F8 irq:4 tx:218 rx:0 fe:1 RTS|CTS"
// of /proc/tty/driver/serial. Errors are only there if there were some.
func (r *ttyReader) parse(b []byte, out *block) {
	out.clear()
	r.names.begin()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		port, line, ok := procfs.Cut(line, ':')
		if _, rest, isNum := procfs.Uint(port); !ok || !isNum || len(rest) > 0 || !bytes.HasPrefix(line, []byte("uart:")) || bytes.HasPrefix(line, []byte("uart:unknown")) {
			continue
		}
		inst, name := r.names.id(port)
		if !r.names.first(inst) {
			continue
		}
		row := out.row(out.addNamed(inst, name))
		for i := range row {
			row[i] = cell{0, true}
		}
		for {
			var word []byte
			if word, line = procfs.Field(line); len(word) == 0 {
				break
			}
			key, val, _ := bytes.Cut(word, []byte(":"))
			col := -1
			switch string(key) {
			case "tx":
				col = ttyTx
			case "rx":
				col = ttyRx
			case "fe":
				col = ttyFrame
			case "pe":
				col = ttyParity
			case "brk":
				col = ttyBreak
			case "oe":
				col = ttyOverrun
			case "irq":
				col = ttyIRQ
			}
			if v, _, ok := procfs.Uint(val); ok && col >= 0 {
				row[col].bits = v
			}
		}
	}
}

type scsiReader struct {
	file  *procfs.File
	names registry
	disks []string // names of block devices by instance
}

func readSCSI(a *Agent) error {
	b, err := a.scsi.file.Read()
	if err != nil {
		return err
	}
	a.scsi.parse(b, &a.blocks[blockSCSI], func(address string) string {
		for _, name := range procfs.Names(a.path("sys/class/scsi_device/" + address + "/device/block")) {
			return name
		}
		return ""
	})
	return nil
}

// parse reads /proc/scsi/scsi, which has for each device "Host: scsi0 Channel:
// 00 Id: 00 Lun: 00", its maker, and "Type:   Direct-Access ...". Devices that
// are not block devices, as disk tells by address, are not reported.
func (r *scsiReader) parse(b []byte, out *block, disk func(address string) string) {
	out.clear()
	r.names.begin()
	var addr [4]uint64
	have := false
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		if host, ok := bytes.CutPrefix(line, []byte("Host: scsi")); ok {
			have = true
			for i, word := range [...]string{"", "Channel:", "Id:", "Lun:"} {
				host = bytes.TrimPrefix(procfs.Skip(host), []byte(word))
				var ok bool
				if addr[i], host, ok = procfs.Uint(host); !ok {
					have = false
					break
				}
			}
			continue
		}
		_, typ, ok := bytes.Cut(line, []byte("Type:"))
		if !ok || !have {
			continue
		}
		have = false
		typ, _ = procfs.Field(typ)
		var address []byte
		for i, n := range addr {
			if i > 0 {
				address = append(address, ':')
			}
			address = strconv.AppendUint(address, n, 10)
		}
		known := len(r.names.names)
		inst, name := r.names.id([]byte("scsi" + string(address) + "_" + string(typ)))
		if len(r.names.names) > known {
			r.disks = append(r.disks, disk(string(address)))
		}
		if r.disks[inst] == "" || hasInst(out, inst) {
			continue
		}
		out.setText(out.addNamed(inst, name), 0, r.disks[inst])
	}
}
