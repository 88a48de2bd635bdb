package smart

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// An nvmeDisk takes administration commands. Only those that read are sent.
type nvmeDisk interface {
	// admin sends a command and fills buf with its answer. result is the number that completes the command. An error
	// of the disk is an nvmeStatus.
	admin(c nvmeCommand, buf []byte) (result uint32, err error)
	Close() error
}

// An nvmeCommand has the fields of a command that differ.
type nvmeCommand struct {
	opcode         uint8
	namespace      uint32
	word10, word11 uint32
}

// An nvmeStatus is the status of a command that failed: bits 8 to 10 are its type.
type nvmeStatus uint16

func (s nvmeStatus) Error() string { return fmt.Sprintf("the disk answers with status %#x", uint16(s)) }

// Commands (NVM Express, base specification).
const (
	nvmeGetLog      = 0x02
	nvmeIdentify    = 0x06
	nvmeGetFeatures = 0x0a

	allNamespaces = 1<<32 - 1

	identifyNamespace  = 0
	identifyController = 1
	identifySize       = 4096

	healthLog     = 0x02
	healthLogSize = 512

	featurePower      = 0x02 // bits 0 to 4 are the power state
	featureQueues     = 0x07 // bits 0 to 15: submission queues less 1; 16 to 31: completion queues less 1
	featureAutonomous = 0x0c // bit 0 is set if it changes power states by itself
	autonomousSize    = 256
)

// healthCommand asks for the log of health.
func healthCommand() nvmeCommand {
	return nvmeCommand{opcode: nvmeGetLog, namespace: allNamespaces, word10: healthLog | (healthLogSize/4-1)<<16}
}

// Columns of blockNVMe: items of smart.nvme_info, then those of each power state.
const (
	nvmeModel = iota
	nvmeSerial
	nvmeFirmware
	nvmePCI
	nvmeIEEE
	nvmeCapacity
	nvmeUnallocated
	nvmeController
	nvmeVersion
	nvmeNamespaces
	nvmeUpdates
	nvmeTransfer
	nvmeWarnTemp
	nvmeCritTemp
	nvmePower
	nvmeAutonomous
	nvmeCompletion
	nvmeSubmission
	nvmeSize1
	nvmeUsed1
	nvmeSector1
	nvmeEUI1
	numNVMeInfo
)

// Items of a power state.
const (
	powerState = iota
	powerMax
	powerNonOperational
	powerActive
	powerIdle
	powerReadLatency
	powerReadThroughput
	powerWriteLatency
	powerWriteThroughput
	powerEntry
	powerExit
	numPower
)

const (
	powerStates = 6  // with metrics
	maxStates   = 32 // of a disk
	numNVMeCols = numNVMeInfo + powerStates*numPower
)

// fillNVMe fills a row with the data that an NVMe disk has about itself.
func (v *view) fillNVMe(row int) {
	out := v.nvme
	v.r.ask(v.disk(out.Insts()[row]), func(d nvmeDisk) error {
		var buf [identifySize]byte
		if _, err := d.admin(nvmeCommand{opcode: nvmeIdentify, word10: identifyController}, buf[:]); err != nil {
			return fmt.Errorf("identify: %w", err)
		}
		parseController(buf[:], out, row)
		cells := out.Row(row)
		// The rest is not there on all disks.
		clear(buf[:])
		if _, err := d.admin(nvmeCommand{opcode: nvmeIdentify, namespace: 1, word10: identifyNamespace}, buf[:]); err == nil {
			parseNamespace(buf[:], out, row)
		}
		if v, err := d.admin(nvmeCommand{opcode: nvmeGetFeatures, word10: featurePower}, nil); err == nil {
			cells[nvmePower] = column.Num(uint64(v & 0x1f))
		}
		if v, err := d.admin(nvmeCommand{opcode: nvmeGetFeatures, word10: featureQueues}, nil); err == nil {
			cells[nvmeSubmission], cells[nvmeCompletion] = column.Num(uint64(v&0xffff)+1), column.Num(uint64(v>>16)+1)
		}
		if v, err := d.admin(nvmeCommand{opcode: nvmeGetFeatures, word10: featureAutonomous}, buf[:autonomousSize]); err == nil {
			text := "Disabled"
			if v&1 != 0 {
				text = "Enabled"
			}
			out.SetText(row, nvmeAutonomous, text)
		}
		return nil
	})
}

// healthOfNVMe returns the log of the health of a disk, nil if it does not answer.
func (r *reader) healthOfNVMe(disk string) (log []byte) {
	r.ask(disk, func(d nvmeDisk) error {
		buf := make([]byte, healthLogSize)
		if _, err := d.admin(healthCommand(), buf); err != nil {
			return fmt.Errorf("log of health: %w", err)
		}
		log = buf
		return nil
	})
	return log
}

// ask calls fn with a disk, if it is an NVMe disk. A disk that does not answer is left alone for a while.
func (r *reader) ask(disk string, fn func(nvmeDisk) error) {
	if !strings.HasPrefix(disk, "nvme") || strings.Contains(disk, "/") {
		return
	}
	r.attempt("nvme "+disk, disk, "SYS_ADMIN", func() error {
		d, err := r.open(filepath.Join(r.cfg.Root, "dev", disk))
		if err != nil {
			return err
		}
		return errors.Join(fn(d), d.Close())
	})
}

// askSCSI calls fn with a disk, its answer to INQUIRY, and whether it is an ATA disk, if it is a SCSI or ATA disk. A disk that does not answer is
// left alone for a while. A disk that refuses a command has no values for it.
func (r *reader) askSCSI(disk string, fn func(d scsiDisk, inquiry []byte, ata bool) error) {
	if !strings.HasPrefix(disk, "sd") || strings.Contains(disk, "/") || r.openSCSI == nil {
		return
	}
	r.attempt("scsi "+disk, disk, "SYS_RAWIO", func() error {
		dev, err := r.openSCSI(filepath.Join(r.cfg.Root, "dev", disk))
		if err != nil {
			return err
		}
		d := &patientDisk{scsiDisk: dev}
		answer, ata, err := inquiry(d)
		if err == nil {
			err = fn(d, answer, ata)
		}
		switch {
		case d.err != nil:
			err = d.err
		case refused(err) || errors.Is(err, errNoDisk):
			err = nil
		}
		return errors.Join(err, dev.Close())
	})
}

// attempt calls fn, which sends commands to a disk, unless the last call failed a short time ago. key is the name of the disk, apart from that for smartctl.
func (r *reader) attempt(key, disk, capability string, fn func() error) {
	if time.Now().Before(r.asleep[key]) {
		return
	}
	err := fn()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		delete(r.asleep, key)
		delete(r.logged, disk)
		return
	}
	r.asleep[key] = time.Now().Add(sleep)
	if r.logged[disk] == err.Error() {
		return
	}
	if r.logged == nil {
		r.logged = make(map[string]string)
	}
	r.logged[disk] = err.Error()
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("the kernel requires the capability %s and access to the device: %w", capability, err)
	}
	r.cfg.Log.Warn("disk does not answer", "disk", disk, "err", err)
}

// wide returns a number of 128 bits, or the highest one of 64 bits if it is higher.
func wide(b []byte) uint64 {
	if binary.LittleEndian.Uint64(b[8:]) != 0 {
		return math.MaxUint64
	}
	return binary.LittleEndian.Uint64(b)
}

// celsius returns a temperature in kelvin, which is not known if it is 0, in degrees Celsius.
func celsius(kelvin uint16) (v uint64, ok bool) {
	const zero = 273
	if kelvin == 0 {
		return 0, false
	}
	return uint64(max(int(kelvin), zero) - zero), true
}

// text sets a string that blanks fill up to its size.
func text(out *column.Block, row, col int, b []byte) {
	if b = procfs.Trim(b); len(b) > 0 && b[0] != 0 {
		out.SetString(row, col, []byte(strings.TrimRight(strings.ToValidUTF8(string(b), "?"), "\x00 ")))
	}
}

// parseController reads the answer of a controller to identifyController.
func parseController(b []byte, out *column.Block, row int) {
	if len(b) < identifySize {
		return
	}
	le := binary.LittleEndian
	text(out, row, nvmeSerial, b[4:24])
	text(out, row, nvmeModel, b[24:64])
	text(out, row, nvmeFirmware, b[64:72])
	pci := fmt.Sprintf("%#04x", le.Uint16(b))
	if le.Uint16(b) != le.Uint16(b[2:]) {
		pci += fmt.Sprintf("/%#04x", le.Uint16(b[2:]))
	}
	out.SetText(row, nvmePCI, pci)
	out.SetText(row, nvmeIEEE, fmt.Sprintf("0x%02x%02x%02x", b[75], b[74], b[73]))
	out.Set(row, nvmeCapacity, wide(b[280:]))
	out.Set(row, nvmeUnallocated, wide(b[296:]))
	out.Set(row, nvmeController, uint64(le.Uint16(b[78:])))
	if v := le.Uint32(b[80:]); v == 0 {
		out.SetText(row, nvmeVersion, "<1.2")
	} else if version := fmt.Sprintf("%d.%d", v>>16, v>>8&0xff); v&0xff == 0 {
		out.SetText(row, nvmeVersion, version)
	} else {
		out.SetText(row, nvmeVersion, fmt.Sprintf("%s.%d", version, v&0xff))
	}
	out.Set(row, nvmeNamespaces, uint64(le.Uint32(b[516:])))
	if slots := b[260] >> 1 & 7; slots > 0 {
		updates := fmt.Sprintf("%d Slots", slots)
		if slots == 1 {
			updates = "1 Slot"
		}
		if b[260]&1 != 0 {
			updates += ", Slot 1 R/O"
		}
		if b[260]&0x10 != 0 {
			updates += ", no Reset required"
		}
		out.SetText(row, nvmeUpdates, updates)
	}
	if b[77] > 0 && b[77] < 32 { // otherwise there is no limit
		out.Set(row, nvmeTransfer, 1<<b[77])
	}
	if v, ok := celsius(le.Uint16(b[266:])); ok {
		out.Set(row, nvmeWarnTemp, v)
	}
	if v, ok := celsius(le.Uint16(b[268:])); ok {
		out.Set(row, nvmeCritTemp, v)
	}
	states := min(int(b[263])+1, maxStates)
	for i := range min(states, powerStates) {
		d, first := b[2048+32*i:][:32], numNVMeInfo+i*numPower
		scale := 0.01
		if d[3]&1 != 0 {
			scale = 0.0001
		}
		out.Set(row, first+powerState, uint64(i))
		out.Set(row, first+powerMax, math.Float64bits(float64(le.Uint16(d))*scale))
		out.Set(row, first+powerNonOperational, uint64(d[3]>>1&1))
		if w, ok := watts(le.Uint16(d[20:]), d[22]>>6); ok {
			out.Set(row, first+powerActive, math.Float64bits(w))
		}
		if w, ok := watts(le.Uint16(d[16:]), d[18]>>6); ok {
			out.Set(row, first+powerIdle, math.Float64bits(w))
		}
		out.Set(row, first+powerReadThroughput, uint64(d[12]&0x1f))
		out.Set(row, first+powerReadLatency, uint64(d[13]&0x1f))
		out.Set(row, first+powerWriteThroughput, uint64(d[14]&0x1f))
		out.Set(row, first+powerWriteLatency, uint64(d[15]&0x1f))
		out.Set(row, first+powerEntry, uint64(le.Uint32(d[4:])))
		out.Set(row, first+powerExit, uint64(le.Uint32(d[8:])))
	}
}

// watts returns a power with its scale, if the disk reports it.
func watts(v uint16, scale byte) (w float64, ok bool) {
	switch scale {
	case 1:
		return float64(v) * 0.0001, true
	case 2:
		return float64(v) * 0.01, true
	}
	return 0, false
}

// parseNamespace reads the answer to identifyNamespace.
func parseNamespace(b []byte, out *column.Block, row int) {
	if len(b) < identifySize {
		return
	}
	le := binary.LittleEndian
	if format := b[128+4*int(b[26]&0xf):]; format[2] >= 9 && format[2] < 32 {
		shift := format[2]
		out.Set(row, nvmeSector1, 1<<shift)
		for col, at := range map[int]int{nvmeSize1: 0, nvmeUsed1: 16} {
			if v := le.Uint64(b[at:]); v <= math.MaxUint64>>shift {
				out.Set(row, col, v<<shift)
			}
		}
	}
	if eui := b[120:128]; le.Uint64(eui) != 0 {
		out.SetText(row, nvmeEUI1, fmt.Sprintf("%x %x", eui[:3], eui[3:]))
	}
}

// parseHealth reads the log of health: the attributes of an NVMe disk.
func parseHealth(b []byte, out *column.Block, row int) {
	if len(b) < healthLogSize {
		return
	}
	le := binary.LittleEndian
	out.SetText(row, firstNVMe+nvmeWarning, fmt.Sprintf("0x%02x", b[0]))
	cells := out.Row(row)[firstNVMe:]
	temperature := func(item int, kelvin uint16) {
		if v, ok := celsius(kelvin); ok {
			cells[item] = column.Num(v)
		}
	}
	temperature(nvmeTemperature, le.Uint16(b[1:]))
	for i := range 3 { // spare, its threshold, percentage used
		cells[2+i] = column.Num(uint64(b[3+i]))
	}
	const firstWide, firstU32, lastWide = 5, 9, 14
	for item := firstWide; item <= lastWide; item++ {
		v := wide(b[32+16*(item-firstWide):])
		if item >= firstU32 {
			v = min(v, math.MaxUint32)
		}
		cells[item] = column.Num(v)
	}
	cells[15] = column.Num(uint64(le.Uint32(b[192:])))
	cells[16] = column.Num(uint64(le.Uint32(b[196:])))
	for n := 1; n <= 8; n++ {
		temperature(nvmeSensor+n, le.Uint16(b[198+2*n:]))
	}
}

// nvmeMetrics returns the metrics of blockNVMe, with the units of the C agent. They are newer than PCP 6.0.3.
func nvmeMetrics() []column.Metric {
	const (
		u32, u64, double, str = pcp.TypeU32, pcp.TypeU64, pcp.TypeDouble, pcp.TypeString
		instant               = pcp.SemInstant
	)
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	var table []column.Metric
	for item, m := range [numNVMeInfo]struct {
		name       string
		typ        pcp.Type
		help, long string
	}{
		nvmeModel:       {"model_number", str, "Model (NVMe)", "The model that the controller reports."},
		nvmeSerial:      {"serial_number", str, "Serial number (NVMe)", "The serial number that the controller reports."},
		nvmeFirmware:    {"firmware_version", str, "Version of the firmware (NVMe)", "The version that the controller reports, in the format of its manufacturer."},
		nvmePCI:         {"pci_vendor_subsystem_id", str, "PCI vendor, and vendor of the subsystem if it is another (NVMe)", "Such as 0x144d, or 0x144d/0x1028."},
		nvmeIEEE:        {"ieee_oui_identifier", str, "Number of the manufacturer at the IEEE (NVMe)", "Such as 0x002538."},
		nvmeCapacity:    {"total_nvm_capacity", u64, "Size of the disk in bytes (NVMe)", "The capacity of all namespaces and of unallocated memory. It is 0 for disks\nthat do not manage namespaces."},
		nvmeUnallocated: {"unallocated_nvm_capacity", u64, "Bytes that are in no namespace (NVMe)", "It is 0 for disks that do not manage namespaces."},
		nvmeController:  {"controller_id", u32, "Number of the controller (NVMe)", "The number is unique in the subsystem."},
		nvmeVersion:     {"nvme_version", str, "Version of the NVM Express specification (NVMe)", "Such as 1.4, or <1.2 for a disk that does not report it."},
		nvmeNamespaces:  {"namespaces", u32, "Highest number of a namespace (NVMe)", "The disk may have fewer namespaces."},
		nvmeUpdates:     {"firware_updates", str, "Slots for firmware (NVMe)", "The number of slots, whether the first can be written, and whether new firmware\ncan be used without a reset. The name is that of the C agent."},
		nvmeTransfer:    {"maximum_data_transfer_size", u32, "Largest transfer of data, in pages (NVMe)", "A page is the smallest that the controller supports, mostly of 4096 bytes.\nThere is no value if the size has no limit."},
		nvmeWarnTemp:    {"warning_temp_threshold", u32, "Temperature of warning in degrees Celsius (NVMe)", "At this temperature the disk sets a bit of critical_warning and may slow down."},
		nvmeCritTemp:    {"critical_temp_thresold", u32, "Critical temperature in degrees Celsius (NVMe)", "At this temperature the disk may stop working. The name is that of the C agent."},
		nvmePower:       {"active_power_state", u32, "Number of the present power state (NVMe)", "See smart.nvme_power_states."},
		nvmeAutonomous:  {"apst_state", str, "Whether the disk changes power states by itself (NVMe)", "Enabled or Disabled."},
		nvmeCompletion:  {"completion_queue_length_completion", u32, "Completion queues (NVMe)", "Queues that the controller has allocated, without that of administration."},
		nvmeSubmission:  {"completion_queue_length_submission", u32, "Submission queues (NVMe)", "Queues that the controller has allocated, without that of administration."},
		nvmeSize1:       {"namespace_1_capacity", u64, "Size of namespace 1 in bytes (NVMe)", "Its number of blocks times their size."},
		nvmeUsed1:       {"namespace_1_utilization", u64, "Bytes of namespace 1 in use (NVMe)", "Blocks that were written and not discarded. Many disks report the whole size."},
		nvmeSector1:     {"namespace_1_formatted_lba_size", u32, "Size of a block of namespace 1 in bytes (NVMe)", "The namespace was formatted with it."},
		nvmeEUI1:        {"namespace_1_ieee_eui_64", str, "Identifier of namespace 1 (NVMe)", "Sixteen hexadecimal digits, with a blank after the number of the manufacturer."},
	} {
		m := column.Metric{
			Name: "smart.nvme_info." + m.name, Cluster: 256, Item: item, Type: m.typ, Sem: instant, Units: bytes, From: blockNVMe, Col: item,
			Help: m.help, Long: m.long,
		}
		table = append(table, m)
	}
	for i := range powerStates {
		for item, m := range [numPower]struct {
			name       string
			typ        pcp.Type
			help, long string
		}{
			powerState:           {"state", u32, "Number of power state", "There are no values for a state that the disk does not have."},
			powerMax:             {"max_power", double, "Watts at most in power state", "The manufacturer sets it."},
			powerNonOperational:  {"non_operational_state", u32, "1 if the disk executes no commands of the host in power state", "It leaves the state for a command."},
			powerActive:          {"active_power", double, "Watts under load in power state", "The load is defined by the specification. Many disks report none."},
			powerIdle:            {"idle_power", double, "Watts without load in power state", "Many disks report none."},
			powerReadLatency:     {"relative_read_latency", u32, "Rank of the latency of reads in power state", "Less is better."},
			powerReadThroughput:  {"relative_read_throughput", u32, "Rank of the throughput of reads in power state", "Less is better."},
			powerWriteLatency:    {"relative_write_latency", u32, "Rank of the latency of writes in power state", "Less is better."},
			powerWriteThroughput: {"relative_write_throughput", u32, "Rank of the throughput of writes in power state", "Less is better."},
			powerEntry:           {"entry_latency", u32, "Microseconds to enter power state", "0 means that the disk does not report it."},
			powerExit:            {"exit_latency", u32, "Microseconds to leave power state", "0 means that the disk does not report it."},
		} {
			table = append(table, column.Metric{
				Name: fmt.Sprintf("smart.nvme_power_states.power_state_%d.%s", i, m.name), Cluster: 257 + i, Item: item, Type: m.typ, Sem: instant,
				Units: bytes, From: blockNVMe, Col: numNVMeInfo + i*numPower + item, Help: fmt.Sprintf("%s %d (NVMe)", m.help, i), Long: m.long,
			})
		}
	}
	return table
}
