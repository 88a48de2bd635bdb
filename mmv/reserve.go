//go:build unix && !freebsd && !dragonfly

package mmv

import "golang.org/x/sys/unix"

// noReserve keeps memory that may never be touched out of the system's accounts.
const noReserve = unix.MAP_NORESERVE
