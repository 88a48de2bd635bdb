package sample

import (
	"encoding/binary"
	"syscall"
)

// sysinfo returns the memory filled in by sysinfo(2).
func sysinfo() []byte {
	var si syscall.Sysinfo_t
	if err := syscall.Sysinfo(&si); err != nil {
		return nil
	}
	b, err := binary.Append(nil, binary.NativeEndian, &si)
	if err != nil {
		return nil
	}
	return b
}
