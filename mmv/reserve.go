//go:build unix && !freebsd && !dragonfly

package mmv

import "golang.org/x/sys/unix"

// noReserve keeps memory that nobody may ever touch out of the accounts.
const noReserve = unix.MAP_NORESERVE
