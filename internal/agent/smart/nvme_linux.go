package smart

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// struct nvme_admin_cmd of linux/nvme_ioctl.h:
//
//	0 opcode  4 namespace  24 address  36 length of data  40 words 10 to 15  64 timeout in milliseconds  68 result
const (
	nvmeAdminSize  = 72
	nvmeAdminIoctl = 3<<30 | nvmeAdminSize<<16 | 'N'<<8 | 0x41 // NVME_IOCTL_ADMIN_CMD
)

// A nvmeDevice is the device of an NVMe disk.
type nvmeDevice struct{ f *os.File }

// openNVMe opens the device of a disk.
func openNVMe(path string) (nvmeDisk, error) {
	f, err := openDevice(path)
	if err != nil {
		return nil, err
	}
	return &nvmeDevice{f}, nil
}

// openDevice opens a device for commands.
func openDevice(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeDevice == 0 {
		f.Close()
		return nil, fmt.Errorf("%s is not a device", path)
	}
	return f, nil
}

func (d *nvmeDevice) Close() error { return d.f.Close() }

func (d *nvmeDevice) admin(c nvmeCommand, buf []byte) (uint32, error) {
	ne := binary.NativeEndian
	// The kernel reads and writes both: they must not move.
	var pin runtime.Pinner
	defer pin.Unpin()
	cmd := new([nvmeAdminSize]byte)
	pin.Pin(cmd)
	cmd[0] = c.opcode
	ne.PutUint32(cmd[4:], c.namespace)
	if len(buf) > 0 {
		pin.Pin(&buf[0])
		ne.PutUint64(cmd[24:], uint64(uintptr(unsafe.Pointer(&buf[0]))))
		ne.PutUint32(cmd[36:], uint32(len(buf)))
	}
	ne.PutUint32(cmd[40:], c.word10)
	ne.PutUint32(cmd[44:], c.word11)
	ne.PutUint32(cmd[64:], uint32(patience.Milliseconds()))
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, d.f.Fd(), nvmeAdminIoctl, uintptr(unsafe.Pointer(cmd)))
	if errno != 0 {
		return 0, &os.PathError{Op: "ioctl", Path: d.f.Name(), Err: errno}
	}
	if status != 0 {
		return 0, nvmeStatus(status)
	}
	return ne.Uint32(cmd[68:]), nil
}
