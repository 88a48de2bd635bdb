package pmcd

import (
	"errors"
	"net"
	"syscall"
)

// A cred identifies the process at the other end of a Unix socket.
type cred struct{ pid, uid, gid int }

// peerCred asks the kernel (SO_PEERCRED).
func peerCred(conn *net.UnixConn) (cred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return cred{}, err
	}
	var u *syscall.Ucred
	var uerr error
	if err := raw.Control(func(fd uintptr) {
		u, uerr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return cred{}, err
	}
	if uerr != nil {
		return cred{}, uerr
	}
	return cred{int(u.Pid), int(u.Uid), int(u.Gid)}, nil
}

// isReset reports whether a client left without closing its connection in
// order, which many do.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
