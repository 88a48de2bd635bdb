//go:build unix

package fleet

import (
	"fmt"
	"syscall"
)

// Open files of a host: a connection, three of an archive, and sometimes one more.
const (
	filesPerHost = 5
	filesBeside  = 50
)

// enoughFiles returns an error if the process may not open enough files for a number of hosts.
func enoughFiles(hosts int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return nil // failures will show it
	}
	if need := uint64(hosts*filesPerHost + filesBeside); need > uint64(l.Cur) {
		return fmt.Errorf("%d hosts need about %d open files, but the limit is %d; raise it (ulimit -n %d)", hosts, need, uint64(l.Cur), need)
	}
	return nil
}
