package peercred

import (
	"errors"
	"net"
	"syscall"
)

// Of asks the kernel (SO_PEERCRED).
func Of(conn *net.UnixConn) (Cred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Cred{}, err
	}
	var u *syscall.Ucred
	var uerr error
	if err := raw.Control(func(fd uintptr) {
		u, uerr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return Cred{}, err
	}
	if uerr != nil {
		return Cred{}, uerr
	}
	return Cred{int(u.Pid), int(u.Uid), int(u.Gid)}, nil
}

// IsReset reports whether a client left without closing its connection in
// order, which many do.
func IsReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
