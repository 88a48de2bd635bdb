package sample

import (
	"encoding/binary"
	"syscall"
)

// sysinfo returns what sysinfo(2) fills in, as it is in memory.
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
