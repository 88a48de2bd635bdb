//go:build unix && !freebsd && !dragonfly

package mmv

import "golang.org/x/sys/unix"

// noReserve keeps the system from reserving memory that may never be touched.
const noReserve = unix.MAP_NORESERVE
