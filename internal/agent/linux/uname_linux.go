package linux

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// utsname is the memory that the kernel fills.
type utsname = unix.Utsname

// sysUname asks the kernel. The strings point into room.
func sysUname(room *utsname) (uname, bool) {
	if err := unix.Uname(room); err != nil {
		return uname{}, false
	}
	text := func(b []byte) []byte {
		b, _, _ = bytes.Cut(b, []byte{0})
		return b
	}
	return uname{
		sysname:  text(room.Sysname[:]),
		nodename: text(room.Nodename[:]),
		release:  text(room.Release[:]),
		version:  text(room.Version[:]),
		machine:  text(room.Machine[:]),
	}, true
}
