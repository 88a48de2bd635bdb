package root

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/nsenter"
)

// hostName returns the host name that a process sees.
func hostName(pid int) (string, error) {
	var u unix.Utsname
	if err := nsenter.Run(pid, nsenter.UTS, func() error { return unix.Uname(&u) }); err != nil {
		return "", err
	}
	b, _, _ := bytes.Cut(u.Nodename[:], []byte{0})
	return string(b), nil
}
