package dm

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The interface of the device mapper, as linux/dm-ioctl.h has it. Numbers are in the order of the machine.
//
//	 0 version (3)  12 data_size  16 data_start  20 target_count  24 open_count  28 flags  32 event_nr
//	40 dev  48 name (128)  176 uuid (129)  305 padding                                        dm_ioctl
//	 0 dev  8 next  12 name                                                                   dm_name_list
//	 0 sector_start  8 length  16 status  20 next  24 target_type (16)                        dm_target_spec
//	 0 sector  8 message                                                                      dm_target_msg
const (
	dmHeader     = 312
	dmNameAt     = 48
	dmNameLen    = 128
	dmSpec       = 40
	dmListDevs   = 2
	dmStatus     = 12
	dmTargetMsg  = 14
	flagFull     = 1 << 8
	flagNoFlush  = 1 << 11
	flagDataOut  = 1 << 16
	firstBuffer  = 16 << 10
	maxBuffer    = 16 << 20
	dmIoctlType  = 0xfd
	dmMajor      = 4
	ioctlReadWri = 0xc0000000
)

// ioctlNumber returns the number of a command for ioctl(2).
func ioctlNumber(command int) uintptr {
	return ioctlReadWri | dmHeader<<16 | dmIoctlType<<8 | uintptr(command)
}

// header writes a dm_ioctl and the text after it into b, and clears the rest.
func header(b []byte, device string, flags uint32, data []byte) error {
	if len(device) >= dmNameLen {
		return fmt.Errorf("device %q: the name is too long", device)
	}
	clear(b)
	ne := binary.NativeEndian
	ne.PutUint32(b[0:], dmMajor)
	ne.PutUint32(b[12:], uint32(len(b)))
	ne.PutUint32(b[16:], dmHeader)
	ne.PutUint32(b[28:], flags)
	copy(b[dmNameAt:], device)
	copy(b[dmHeader:], data)
	return nil
}

// answer returns the data that the kernel put into b, and the number of targets.
func answer(b []byte) (data []byte, targets int, flags uint32, err error) {
	if len(b) < dmHeader {
		return nil, 0, 0, errFormat
	}
	ne := binary.NativeEndian
	size, start := uint64(ne.Uint32(b[12:])), uint64(ne.Uint32(b[16:]))
	if size > uint64(len(b)) {
		size = uint64(len(b))
	}
	if start > size {
		return nil, 0, 0, fmt.Errorf("%w: data at %d of %d bytes", errFormat, start, size)
	}
	return b[start:size], int(min(ne.Uint32(b[20:]), maxDevices)), ne.Uint32(b[28:]), nil
}

// parseNames reads a list of dm_name_list.
func parseNames(b []byte) ([]string, error) {
	var names []string
	for {
		if len(b) < 12 {
			if len(names) == 0 {
				return nil, nil
			}
			return nil, errFormat
		}
		ne := binary.NativeEndian
		if ne.Uint64(b) == 0 {
			return names, nil // there are no devices
		}
		if len(names) == maxDevices {
			return nil, fmt.Errorf("%w: more than %d devices", errFormat, maxDevices)
		}
		next := ne.Uint32(b[8:])
		if name := cString(b[12:min(len(b), 12+dmNameLen)]); name != "" {
			names = append(names, name)
		}
		if next == 0 {
			return names, nil
		}
		if next < 12 || uint64(next) > uint64(len(b)) {
			return nil, fmt.Errorf("%w: the next device is at %d of %d bytes", errFormat, next, len(b))
		}
		b = b[next:]
	}
}

// appendStatus appends the status of the targets of a type, as dmsetup prints it.
func appendStatus(text []byte, device, kind string, b []byte, targets int) ([]byte, error) {
	ne := binary.NativeEndian
	at := uint64(0)
	for range targets {
		if uint64(len(b))-at < dmSpec {
			return text, errFormat
		}
		spec := b[at:]
		next := uint64(ne.Uint32(spec[20:]))
		if next < at+dmSpec || next > uint64(len(b)) {
			return text, fmt.Errorf("%w: the next target is at %d of %d bytes", errFormat, next, len(b))
		}
		if cString(spec[24:dmSpec]) == kind {
			status, _, _ := bytes.Cut(b[at+dmSpec:next], []byte{0})
			status, _, _ = bytes.Cut(status, []byte{'\n'})
			text = fmt.Appendf(text, "%s: %d %d %s %s\n", device, ne.Uint64(spec), ne.Uint64(spec[8:]), kind, status)
		}
		at = next
	}
	return text, nil
}
