//go:build !unix

package control

// nonBlock opens a file without waiting for the other end of a FIFO, on systems with FIFOs.
const nonBlock = 0
