//go:build !linux

package pmcd

import (
	"errors"
	"net"
)

// A cred is who is at the other end of a Unix socket.
type cred struct{ pid, uid, gid int }

func peerCred(*net.UnixConn) (cred, error) {
	return cred{}, errors.ErrUnsupported
}

// isReset tells whether a client went without closing its connection in
// order, which many do.
func isReset(err error) bool { return false }
