package main

import (
	"fmt"
	"syscall"
)

// leastSpace is the address space without which no command starts: the Go runtime reserves about 700 MB of it when it
// begins, of which it uses little, and 64 MB at a time after that.
const leastSpace = 1 << 30

// enoughSpace returns an error if the limit on address space is below leastSpace. The runtime would end the
// program with a trace at the next moment it needs some.
func enoughSpace() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &l); err != nil || l.Cur >= leastSpace {
		return nil
	}
	return fmt.Errorf("the limit on address space is %d KB (ulimit -v); at least %d are needed, most of which are only reserved: bound memory by a control group, or by GOMEMLIMIT",
		l.Cur>>10, leastSpace>>10)
}
