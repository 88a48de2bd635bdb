package smart

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A scsiDisk takes SCSI commands. Only those that read are sent.
type scsiDisk interface {
	// command sends a command and fills buf with its answer, of which it returns the size. sense is what the disk
	// adds to a command that it has completed. An error of the disk is a senseError.
	command(cdb, buf []byte) (n int, sense []byte, err error)
	Close() error
}

// A patientDisk waits for one command of a disk that does not answer, and sends no more.
type patientDisk struct {
	scsiDisk
	err error // of a command that the disk has not answered
}

func (d *patientDisk) command(cdb, buf []byte) (n int, sense []byte, err error) {
	if d.err != nil {
		return 0, nil, d.err
	}
	n, sense, err = d.scsiDisk.command(cdb, buf)
	if err != nil && !refused(err) {
		d.err = err
	}
	return n, sense, err
}

// Commands and their pages (SPC, SBC).
const (
	scsiInquiry  = 0x12
	scsiLogSense = 0x4d

	inquirySize  = 96
	inquiryLeast = 36 // bytes of a standard answer
	maxPage      = 512
	spc3         = 5 // the version from which on disks have pages about themselves

	vpdPages    = 0x00
	vpdSerial   = 0x80
	vpdATA      = 0x89 // of an ATA disk behind a bridge
	vpdRotation = 0xb1

	logPages         = 0x00
	logWriteErrors   = 0x02
	logReadErrors    = 0x03
	logVerifyErrors  = 0x05
	logTemperature   = 0x0d
	logStarts        = 0x0e
	logBackground    = 0x15
	logExceptions    = 0x2f
	logCumulative    = 0x40 // as a bit of the page
	logPageMask      = 0x3f
	unknownCelsius   = 0xff
	ascFailure       = 0x5d // failure predicted
	ascWarning       = 0x0b
	minutesInHour    = 60
	solidState       = 1
	slowest          = 0x401 // rotations a minute
	statusGood       = 0
	statusCheck      = 2
	senseNone        = 0
	senseRecovered   = 1
	fixedSense       = 0x70
	descriptorSense  = 0x72
	senseCodeMask    = 0x7f
	fixedSenseLeast  = 14
	descriptorHeader = 8
)

// A senseError is the reason for which a disk refuses a command.
type senseError struct{ status, key, asc, ascq byte }

func (e senseError) Error() string {
	return fmt.Sprintf("the disk answers with status %#x, sense %#x/%#02x/%#02x", e.status, e.key, e.asc, e.ascq)
}

// checkSense returns an error unless the disk has completed the command.
func checkSense(status byte, sense []byte) error {
	if status == statusGood {
		return nil
	}
	e := senseError{status: status}
	if status == statusCheck && len(sense) > 0 {
		switch sense[0] & senseCodeMask {
		case fixedSense:
			if len(sense) < fixedSenseLeast {
				return e
			}
			e.key, e.asc, e.ascq = sense[2]&0xf, sense[12], sense[13]
		case descriptorSense:
			if len(sense) < descriptorHeader {
				return e
			}
			e.key, e.asc, e.ascq = sense[1]&0xf, sense[2], sense[3]
		default:
			return e
		}
		if e.key == senseNone || e.key == senseRecovered {
			return nil
		}
	}
	return e
}

// refused reports whether err is the answer of a disk that does not have a command.
func refused(err error) bool {
	_, ok := errors.AsType[senseError](err)
	return ok
}

// errNoDisk is the error of a device other than a disk.
var errNoDisk = errors.New("the device is not a disk")

// inquiry returns what a disk has about itself, and whether it is an ATA disk behind a translation.
func inquiry(d scsiDisk) (b []byte, ata bool, err error) {
	buf := make([]byte, inquirySize)
	n, _, err := d.command([]byte{scsiInquiry, 0, 0, 0, inquirySize, 0}, buf)
	if err != nil {
		return nil, false, fmt.Errorf("inquiry: %w", err)
	}
	const disk, zoned = 0x00, 0x14
	if b = buf[:min(n, len(buf))]; len(b) < inquiryLeast || b[0] != disk && b[0] != zoned {
		return nil, false, fmt.Errorf("inquiry: %w", errNoDisk)
	}
	if string(b[8:16]) == "ATA     " {
		return b, true, nil
	}
	return b, b[2]&7 >= spc3 && slices.Contains(vpd(d, vpdPages), vpdATA), nil
}

// vpd returns a page of vital product data, nil if the disk does not have it.
func vpd(d scsiDisk, page byte) []byte {
	const size = 252
	buf := make([]byte, size)
	n, _, err := d.command([]byte{scsiInquiry, 1, page, 0, size, 0}, buf)
	if err != nil {
		return nil
	}
	return pageOf(buf[:min(n, size)], page)
}

// pageOf returns the contents of a page, up to where the answer ends.
func pageOf(b []byte, page byte) []byte {
	const header = 4
	if len(b) < header || b[1] != page {
		return nil
	}
	return b[header:][:min(len(b)-header, int(binary.BigEndian.Uint16(b[2:])))]
}

// logSense returns a page of a log, nil if the disk does not have it.
func logSense(d scsiDisk, page byte) []byte {
	buf := make([]byte, maxPage)
	n, _, err := d.command([]byte{scsiLogSense, 0, logCumulative | page, 0, 0, 0, 0, maxPage >> 8, maxPage & 0xff, 0}, buf)
	if err != nil {
		return nil
	}
	return logPage(buf[:min(n, maxPage)], page)
}

// logPage returns the parameters of a page of a log.
func logPage(b []byte, page byte) []byte {
	const header = 4
	if len(b) < header || b[0]&logPageMask != page || b[0]&logCumulative != 0 { // a subpage
		return nil
	}
	return b[header:][:min(len(b)-header, int(binary.BigEndian.Uint16(b[2:])))]
}

// parameter returns the value of a parameter of a page, nil if it is missing or damaged.
func parameter(page []byte, code uint16) []byte {
	const header = 4
	for len(page) >= header {
		size := int(page[3])
		if size > len(page)-header {
			return nil
		}
		if binary.BigEndian.Uint16(page) == code {
			return page[header:][:size]
		}
		page = page[header+size:]
	}
	return nil
}

// number returns a number of up to 8 bytes.
func number(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 8 {
		return 0, false
	}
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v, true
}

// infoOfSCSI reports what a SCSI disk has about itself.
func infoOfSCSI(d scsiDisk, answer []byte, out *column.Block, row int) {
	parseInquiry(answer, out, row)
	if answer[2]&7 >= spc3 {
		pages := vpd(d, vpdPages)
		if slices.Contains(pages, vpdSerial) {
			text(out, row, infoSerial, vpd(d, vpdSerial))
		}
		if slices.Contains(pages, vpdRotation) {
			if b := vpd(d, vpdRotation); len(b) >= 2 {
				setRotation(binary.BigEndian.Uint16(b), out, row)
			}
		}
	}
	if slices.Contains(logSense(d, logPages), logExceptions) {
		parseExceptions(logSense(d, logExceptions), out, row)
	}
}

// parseInquiry reads the manufacturer, model and firmware of a SCSI disk.
func parseInquiry(b []byte, out *column.Block, row int) {
	if len(b) < inquiryLeast {
		return
	}
	vendor, product := string(procfs.Trim(b[8:16])), string(procfs.Trim(b[16:32]))
	text(out, row, infoModel, []byte(strings.TrimSpace(vendor+" "+product)))
	text(out, row, infoFirmware, b[32:36])
}

// setRotation sets the speed of rotation, which is coded in the same way for ATA and SCSI.
func setRotation(v uint16, out *column.Block, row int) {
	switch {
	case v == solidState:
		out.SetText(row, infoRotation, "Solid State Device")
	case v >= slowest && v < math.MaxUint16:
		out.SetText(row, infoRotation, fmt.Sprintf("%d rpm", v))
	}
}

// parseExceptions reads whether a SCSI disk expects to fail.
func parseExceptions(page []byte, out *column.Block, row int) {
	b := parameter(page, 0)
	if len(b) < 2 {
		return
	}
	switch b[0] {
	case 0:
		out.SetText(row, infoHealth, "OK")
	case ascFailure:
		out.SetText(row, infoHealth, "FAILED!")
	case ascWarning:
		out.SetText(row, infoHealth, "WARNING")
	}
}

// dataOfSCSI reports the counters in the logs of a SCSI disk as the attributes of ATA disks that count the same.
func dataOfSCSI(d scsiDisk, cells []column.Cell) {
	pages := logSense(d, logPages)
	read := func(page byte) []byte {
		if !slices.Contains(pages, page) {
			return nil
		}
		return logSense(d, page)
	}
	parseLogs(read, cells)
}

// parseLogs reads the logs that a disk has.
func parseLogs(read func(page byte) []byte, cells []column.Cell) {
	set := func(id int, v uint64) {
		if place := placeOf(id); place >= 0 {
			cells[5*place+attrRaw] = column.Num(v)
		}
	}
	const current = 0
	if b := parameter(read(logTemperature), current); len(b) >= 2 && b[1] != unknownCelsius {
		set(194, uint64(b[1]))
	}
	const starts, loads = 4, 6
	cycles := read(logStarts)
	if v, ok := number(parameter(cycles, starts)); ok && v != math.MaxUint32 {
		set(4, v)
	}
	if v, ok := number(parameter(cycles, loads)); ok && v != math.MaxUint32 {
		set(193, v)
	}
	const status = 0
	if b := parameter(read(logBackground), status); len(b) >= 4 {
		set(9, uint64(binary.BigEndian.Uint32(b))/minutesInHour)
	}
	const uncorrected = 6
	var errs uint64
	known := false
	for _, page := range [...]byte{logReadErrors, logWriteErrors, logVerifyErrors} {
		if v, ok := number(parameter(read(page), uncorrected)); ok {
			errs, known = errs+v, true
		}
	}
	if known {
		set(187, errs)
	}
}

// placeOf returns the place of an attribute, -1 if it has no metrics.
func placeOf(id int) int {
	known := attributes()
	return slices.IndexFunc(known[:], func(a attribute) bool { return a.id == id })
}
