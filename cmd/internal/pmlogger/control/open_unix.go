//go:build unix

package control

import "syscall"

// nonBlock has a file opened without a wait for the other end of a FIFO.
const nonBlock = syscall.O_NONBLOCK
