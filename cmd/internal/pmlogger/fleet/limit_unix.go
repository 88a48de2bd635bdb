//go:build unix

package fleet

import (
	"fmt"
	"syscall"
)

// Files that a host has open: a connection, three of an archive, and now and then one more.
const (
	filesPerHost = 5
	filesBeside  = 50
)

// enoughFiles returns an error if the process may not open the files that so many hosts need.
func enoughFiles(hosts int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return nil // it will show
	}
	if need := uint64(hosts*filesPerHost + filesBeside); need > uint64(l.Cur) {
		return fmt.Errorf("%d hosts need about %d open files, but the limit is %d; raise it (ulimit -n %d)", hosts, need, uint64(l.Cur), need)
	}
	return nil
}
