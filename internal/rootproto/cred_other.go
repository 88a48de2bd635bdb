//go:build unix && !linux

package rootproto

import (
	"errors"
	"net"
	"syscall"
)

const credSize = 0

func parseCred(*syscall.SocketControlMessage) (*Cred, bool) { return nil, false }

// PassCred is of Linux alone.
func PassCred(*net.UnixConn) error { return errors.ErrUnsupported }

// PeerCred is of Linux alone.
func PeerCred(*net.UnixConn) (Cred, error) { return Cred{}, errors.ErrUnsupported }
