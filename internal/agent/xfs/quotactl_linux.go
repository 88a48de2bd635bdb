package xfs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// quotactl calls quotactl(2). The result goes into room, which may be nil if there is no result.
func quotactl(cmd uint32, device string, id uint32, room []byte) error {
	name, err := unix.BytePtrFromString(device)
	if err != nil {
		return err
	}
	_, _, errno := unix.Syscall6(unix.SYS_QUOTACTL, uintptr(cmd), uintptr(unsafe.Pointer(name)), uintptr(id),
		uintptr(unsafe.Pointer(unsafe.SliceData(room))), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
