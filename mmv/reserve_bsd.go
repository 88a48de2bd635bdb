//go:build freebsd || dragonfly

package mmv

const noReserve = 0 // the system has no such flag
