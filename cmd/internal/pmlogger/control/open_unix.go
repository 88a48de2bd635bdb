//go:build unix

package control

import "syscall"

// nonBlock opens a file without waiting for the other end of a FIFO.
const nonBlock = syscall.O_NONBLOCK
