package smart

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An sgHeader is struct sg_io_hdr of scsi/sg.h.
type sgHeader struct {
	id                                       int32
	direction                                int32
	cdbSize, maxSense                        uint8
	vectors                                  uint16
	size                                     uint32
	data, cdb, sense                         unsafe.Pointer
	timeout                                  uint32 // milliseconds
	flags                                    uint32
	pack                                     int32
	user                                     unsafe.Pointer
	status, maskedStatus, message, senseSize uint8
	hostStatus, driverStatus                 uint16
	residual                                 int32
	duration, info                           uint32
}

const (
	sgIoctl     = 0x2285 // SG_IO
	sgNoData    = -1
	sgFromDisk  = -3
	sgMaxSense  = 64
	driverSense = 8
)

// A sgDevice is the device of a SCSI or ATA disk.
type sgDevice struct{ f *os.File }

// openSCSI opens the device of a disk.
func openSCSI(path string) (scsiDisk, error) {
	f, err := openDevice(path)
	if err != nil {
		return nil, err
	}
	return &sgDevice{f}, nil
}

func (d *sgDevice) Close() error { return d.f.Close() }

func (d *sgDevice) command(cdb, buf []byte) (n int, sense []byte, err error) {
	// The kernel reads and writes all of them: they must not move.
	var pin runtime.Pinner
	defer pin.Unpin()
	sense = make([]byte, sgMaxSense)
	h := &sgHeader{
		id: 'S', direction: sgNoData, cdbSize: uint8(len(cdb)), maxSense: sgMaxSense, cdb: unsafe.Pointer(&cdb[0]), sense: unsafe.Pointer(&sense[0]),
		timeout: uint32(patience.Milliseconds()),
	}
	pin.Pin(h)
	pin.Pin(&cdb[0])
	pin.Pin(&sense[0])
	if len(buf) > 0 {
		pin.Pin(&buf[0])
		h.direction, h.size, h.data = sgFromDisk, uint32(len(buf)), unsafe.Pointer(&buf[0])
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, d.f.Fd(), sgIoctl, uintptr(unsafe.Pointer(h))); errno != 0 {
		return 0, nil, &os.PathError{Op: "ioctl", Path: d.f.Name(), Err: errno}
	}
	if h.hostStatus != 0 || h.driverStatus&0xf != 0 && h.driverStatus&0xf != driverSense {
		return 0, nil, fmt.Errorf("%s: the command did not reach the disk: host status %#x, driver status %#x", d.f.Name(), h.hostStatus, h.driverStatus)
	}
	sense = sense[:min(int(h.senseSize), sgMaxSense)]
	if err := checkSense(h.status, sense); err != nil {
		return 0, nil, err
	}
	return len(buf) - min(max(int(h.residual), 0), len(buf)), sense, nil
}
