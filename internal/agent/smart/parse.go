package smart

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of blockInfo: the items of their metrics.
const (
	infoHealth = iota
	infoFamily
	infoModel
	infoSerial
	infoCapacity
	infoSector
	infoRotation
	infoFirmware
	infoUUID
	infoDevice
	numInfo
)

// infoColumn returns the column of a line of smartctl -Hi, -1 for lines without a metric.
func infoColumn(key string) int {
	switch key {
	case "SMART overall-health self-assessment test result", "SMART Health Status":
		return infoHealth
	case "Model Family":
		return infoFamily
	case "Device Model", "Model Number":
		return infoModel
	case "Serial Number", "Serial number":
		return infoSerial
	case "User Capacity", "Total NVM Capacity":
		return infoCapacity
	case "Sector Size", "Sector Sizes":
		return infoSector
	case "Rotation Rate":
		return infoRotation
	case "Firmware Version":
		return infoFirmware
	}
	return -1
}

// parseInfo reads the output of smartctl -Hi: lines such as "Serial Number: S2X9".
func parseInfo(b []byte, out *column.Block, row int) {
	for line := range procfs.Lines(b) {
		key, val, ok := procfs.Cut(line, ':')
		col := infoColumn(string(key))
		if !ok || col < 0 || len(val) == 0 {
			continue
		}
		switch col {
		case infoCapacity:
			if v, ok := grouped(val); ok {
				out.Set(row, col, v)
			}
		case infoHealth:
			val, _ = procfs.Field(val)
			out.SetString(row, col, val)
		default:
			out.SetString(row, col, val)
		}
	}
}

// grouped reads a number in which commas or blanks may separate groups of digits:
// "9,351,610 [4.78 TB]", "31 Celsius", "100%".
func grouped(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			d := uint64(c - '0')
			if v > (1<<64-1-d)/10 {
				return 0, false
			}
			v, ok = v*10+d, true
		case c == ',' || c == ' ':
		default:
			return v, ok
		}
	}
	return v, ok
}

// Columns of blockData: five for each attribute of an ATA disk, then those of NVMe.
const (
	numAttributes = 47
	firstNVMe     = 5 * numAttributes
	numNVMe       = 25
	numData       = firstNVMe + numNVMe
)

// The values of each attribute, as items of their metrics.
const (
	attrID = iota
	attrValue
	attrWorst
	attrThresh
	attrRaw
)

// parseATA reads the table of attributes that smartctl -A prints:
//
//	ID# ATTRIBUTE_NAME     FLAG   VALUE WORST THRESH TYPE    UPDATED WHEN_FAILED RAW_VALUE
//	  9 Power_On_Hours     0x0032 099   099   000    Old_age Always  -           2839
func parseATA(b []byte, row []column.Cell) {
	known := attributes()
	for line := range procfs.Lines(b) {
		id, rest, ok := procfs.Uint(line)
		_, rest = procfs.Field(rest) // name
		flag, rest := procfs.Field(rest)
		place := slices.IndexFunc(known[:], func(a attribute) bool { return uint64(a.id) == id })
		if !ok || place < 0 || !bytes.HasPrefix(flag, []byte("0x")) {
			continue
		}
		cells := row[5*place:][:5]
		cells[attrID] = column.Num(id)
		for col := attrValue; col <= attrThresh; col++ {
			var word []byte
			word, rest = procfs.Field(rest)
			if v, tail, ok := procfs.Uint(word); ok && len(tail) == 0 && v <= 255 {
				cells[col] = column.Num(v)
			}
		}
		for range 3 { // type, updated, when failed
			_, rest = procfs.Field(rest)
		}
		if v, _, ok := procfs.Uint(rest); ok {
			cells[attrRaw] = column.Num(v)
		}
	}
}

// nvmeKeys are the lines of smartctl -A about an NVMe disk, in the order of items.
func nvmeKeys() [numNVMe]string {
	return [...]string{
		"Critical Warning", "Temperature", "Available Spare", "Available Spare Threshold", "Percentage Used", "Data Units Read",
		"Data Units Written", "Host Read Commands", "Host Write Commands", "Controller Busy Time", "Power Cycles", "Power On Hours",
		"Unsafe Shutdowns", "Media and Data Integrity Errors", "Error Information Log Entries", "Warning Comp. Temperature Time",
		"Critical Comp. Temperature Time", "Temperature Sensor 1", "Temperature Sensor 2", "Temperature Sensor 3", "Temperature Sensor 4",
		"Temperature Sensor 5", "Temperature Sensor 6", "Temperature Sensor 7", "Temperature Sensor 8",
	}
}

// Items of NVMe disks.
const (
	nvmeWarning     = 0
	nvmeTemperature = 1
	nvmeSensor      = 16 // plus the number of the sensor
)

// parseNVMe reads the output of smartctl -A for an NVMe disk.
func parseNVMe(b []byte, out *column.Block, row int) {
	keys := nvmeKeys()
	for line := range procfs.Lines(b) {
		key, val, ok := procfs.Cut(line, ':')
		if !ok || len(val) == 0 {
			continue
		}
		name := strings.Join(strings.Fields(string(key)), " ")
		for item, k := range keys {
			if k != name {
				continue
			}
			if item == nvmeWarning {
				out.SetString(row, firstNVMe, val)
			} else if v, ok := grouped(val); ok {
				out.Set(row, firstNVMe+item, v)
			}
		}
	}
}

// infoOfKernel reports the data of a disk in /sys.
func (r *reader) infoOfKernel(disk string, out *column.Block, row int) {
	read := func(file string) []byte {
		b, err := procfs.ReadOnce(r.sys(disk, file))
		if err != nil {
			return nil
		}
		return procfs.Trim(b)
	}
	text := func(col int, b []byte) {
		if len(b) > 0 {
			out.SetString(row, col, b)
		}
	}
	const sector = 512 // independent of the disk
	if v, _, ok := procfs.Uint(read("size")); ok && v <= (1<<64-1)/sector {
		out.Set(row, infoCapacity, v*sector)
	}
	logical, _, ok1 := procfs.Uint(read("queue/logical_block_size"))
	physical, _, ok2 := procfs.Uint(read("queue/physical_block_size"))
	switch {
	case !ok1 || !ok2:
	case logical == physical:
		out.SetText(row, infoSector, fmt.Sprintf("%d bytes logical/physical", logical))
	default:
		out.SetText(row, infoSector, fmt.Sprintf("%d bytes logical, %d bytes physical", logical, physical))
	}
	if !strings.HasPrefix(disk, "nvme") {
		return // the kernel has shortened names of ATA disks, and no serial numbers
	}
	text(infoModel, read("device/model"))
	text(infoSerial, read("device/serial"))
	text(infoFirmware, read("device/firmware_rev"))
}

// temperatures reports the kernel's readings of an NVMe disk, in thousandths of a degree.
func (r *reader) temperatures(disk string, row []column.Cell) {
	files, _ := filepath.Glob(r.sys(disk, "device/hwmon*/temp*_input"))
	more, _ := filepath.Glob(r.sys(disk, "device/hwmon/hwmon*/temp*_input"))
	for _, file := range append(files, more...) {
		label, err := procfs.ReadOnce(strings.TrimSuffix(file, "input") + "label")
		if err != nil {
			continue
		}
		item := -1
		if name := string(procfs.Trim(label)); name == "Composite" {
			item = nvmeTemperature
		} else if n, ok := strings.CutPrefix(name, "Sensor "); ok {
			if n, err := strconv.Atoi(n); err == nil && n >= 1 && n <= 8 {
				item = nvmeSensor + n
			}
		}
		if item < 0 {
			continue
		}
		if b, err := procfs.ReadOnce(file); err == nil {
			if v, _, ok := procfs.Uint(b); ok {
				row[firstNVMe+item] = column.Num((v + 500) / 1000)
			}
		}
	}
}
