//go:build !unix

package control

// nonBlock has a file opened without a wait for the other end of a FIFO, where there are some.
const nonBlock = 0
