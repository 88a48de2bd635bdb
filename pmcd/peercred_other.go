//go:build !linux

package pmcd

import (
	"errors"
	"net"
)

// A cred identifies the process at the other end of a Unix socket.
type cred struct{ pid, uid, gid int }

func peerCred(*net.UnixConn) (cred, error) {
	return cred{}, errors.ErrUnsupported
}

// isReset reports whether a client left without closing its connection in
// order, which many do.
func isReset(err error) bool { return false }
