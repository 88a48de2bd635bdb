package smart

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp/pmda/column"
)

// Commands of ATA disks (ACS) in a SCSI command (SAT).
const (
	scsiATA = 0x85 // ATA PASS-THROUGH (16)

	ataIdentify = 0xec
	ataSMART    = 0xb0

	smartReadData       = 0xd0
	smartReadThresholds = 0xd1
	smartReturnStatus   = 0xda

	ataSize = 512 // of each answer
)

// ataRead returns a command that answers with one sector.
func ataRead(command, feature byte) []byte {
	const pioIn, countInSectors = 4 << 1, 0x0e
	cdb := ataRequest(pioIn, countInSectors, command, feature)
	cdb[6] = 1
	return cdb
}

// ataStatus returns the command for the health of a disk, whose answer is in its registers.
func ataStatus() []byte {
	const noData, wantRegisters = 3 << 1, 0x20
	return ataRequest(noData, wantRegisters, ataSMART, smartReturnStatus)
}

func ataRequest(protocol, flags, command, feature byte) []byte {
	cdb := make([]byte, 16)
	cdb[0], cdb[1], cdb[2], cdb[4], cdb[14] = scsiATA, protocol, flags, feature, command
	if command == ataSMART {
		cdb[10], cdb[12] = 0x4f, 0xc2 // the key of all SMART commands
	}
	return cdb
}

// errChecksum is the error of an answer with a wrong checksum.
var errChecksum = errors.New("the checksum is wrong")

// ataPage sends a command and returns its sector.
func ataPage(d scsiDisk, command, feature byte) ([]byte, error) {
	buf := make([]byte, ataSize)
	n, _, err := d.command(ataRead(command, feature), buf)
	if err != nil {
		return nil, err
	}
	if n < ataSize {
		return nil, fmt.Errorf("%d bytes in place of %d", n, ataSize)
	}
	const integrity = 0xa5
	if command == ataSMART || buf[510] == integrity {
		sum := byte(0)
		for _, c := range buf {
			sum += c
		}
		if sum != 0 {
			return nil, errChecksum
		}
	}
	return buf, nil
}

// infoOfATA reports what an ATA disk has about itself.
func infoOfATA(d scsiDisk, out *column.Block, row int) error {
	b, err := ataPage(d, ataIdentify, 0)
	if err != nil {
		return fmt.Errorf("identify: %w", err)
	}
	if !parseIdentify(b, out, row) {
		return nil
	}
	_, sense, err := d.command(ataStatus(), nil)
	if err != nil {
		return fmt.Errorf("SMART return status: %w", err)
	}
	parseStatus(sense, out, row)
	return nil
}

// parseIdentify reads the answer to IDENTIFY DEVICE, and reports whether SMART is on.
func parseIdentify(b []byte, out *column.Block, row int) (smart bool) {
	if len(b) < ataSize {
		return false
	}
	word := func(n int) uint16 { return binary.LittleEndian.Uint16(b[2*n:]) }
	// The characters of a text are in the order of high and low bytes.
	swapped := func(first, words int) []byte {
		s := make([]byte, 0, 2*words)
		for i := range words {
			w := word(first + i)
			s = append(s, byte(w>>8), byte(w))
		}
		return s
	}
	text(out, row, infoSerial, swapped(10, 10))
	text(out, row, infoFirmware, swapped(23, 4))
	text(out, row, infoModel, swapped(27, 20))
	setRotation(word(217), out, row)
	const valid, validMask = 0x4000, 0xc000
	return word(83)&validMask == valid && word(82)&1 != 0 && word(85)&1 != 0
}

// parseStatus reads the registers of a disk after SMART RETURN STATUS.
func parseStatus(sense []byte, out *column.Block, row int) {
	mid, high, ok := registers(sense)
	switch {
	case !ok:
	case mid == 0x4f && high == 0xc2:
		out.SetText(row, infoHealth, "PASSED")
	case mid == 0xf4 && high == 0x2c:
		out.SetText(row, infoHealth, "FAILED!")
	}
}

// registers returns the middle and high bytes of the address in the registers of an ATA disk.
func registers(sense []byte) (mid, high byte, ok bool) {
	const status = 9 // a descriptor of at least 14 bytes, with its header
	if len(sense) == 0 {
		return 0, 0, false
	}
	switch sense[0] & senseCodeMask {
	case fixedSense:
		// The disk has set registers in its place only with this code.
		if len(sense) >= fixedSenseLeast && sense[12] == 0 && sense[13] == 0x1d {
			return sense[10], sense[11], true
		}
	case descriptorSense:
		if len(sense) < descriptorHeader {
			return 0, 0, false
		}
		for rest := sense[descriptorHeader:]; len(rest) >= 2; {
			size := int(rest[1]) + 2
			if size > len(rest) {
				break
			}
			if rest[0] == status && size >= 14 {
				return rest[9], rest[11], true
			}
			rest = rest[size:]
		}
	}
	return 0, 0, false
}

// dataOfATA reports the attributes of an ATA disk.
func dataOfATA(d scsiDisk, cells []column.Cell) error {
	data, err := ataPage(d, ataSMART, smartReadData)
	if err != nil {
		return fmt.Errorf("SMART read data: %w", err)
	}
	thresholds, err := ataPage(d, ataSMART, smartReadThresholds)
	if err != nil && !refused(err) && !errors.Is(err, errChecksum) { // a disk may not have them
		return fmt.Errorf("SMART read thresholds: %w", err)
	}
	parseAttributes(data, thresholds, cells)
	return nil
}

// parseAttributes reads the tables of a disk: after the version 30 entries of 12 bytes, whose first is the number of the attribute.
//
//	data:       1 flags  3 value  4 worst  5 raw value
//	thresholds: 1 threshold
func parseAttributes(data, thresholds []byte, cells []column.Cell) {
	const first, size, entries = 2, 12, 30
	if len(data) < first+size*entries {
		return
	}
	for i := range entries {
		e := data[first+size*i:][:size]
		place := placeOf(int(e[0]))
		if e[0] == 0 || place < 0 {
			continue
		}
		row := cells[5*place:][:5]
		row[attrID] = column.Num(uint64(e[0]))
		row[attrValue], row[attrWorst] = column.Num(uint64(e[3])), column.Num(uint64(e[4]))
		if v, ok := rawValue(e[0], e[5:11]); ok {
			row[attrRaw] = column.Num(v)
		}
	}
	if len(thresholds) < first+size*entries {
		return
	}
	for i := range entries {
		e := thresholds[first+size*i:][:size]
		if place := placeOf(int(e[0])); e[0] != 0 && place >= 0 && cells[5*place+attrID].OK {
			cells[5*place+attrThresh] = column.Num(uint64(e[1]))
		}
	}
}

// rawValue returns the first number of a raw value of 6 bytes. Disks put several into those of some attributes, as smartctl assumes for models
// that it does not know.
func rawValue(id byte, b []byte) (v uint64, ok bool) {
	for i := range 6 {
		v |= uint64(b[i]) << (8 * i)
	}
	switch id {
	case 3, 5, 196: // two other numbers follow
		return v & 0xffff, true
	case 9, 240: // fractions of an hour follow
		return v & 0xffffff, true
	case 190, 194: // the lowest and the highest temperature follow
		return v & 0xff, v&0x80 == 0
	}
	return v, true
}
