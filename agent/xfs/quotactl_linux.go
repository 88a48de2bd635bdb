package xfs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// quotactl calls quotactl(2). What it says goes into room, which may be nil where it says nothing.
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
