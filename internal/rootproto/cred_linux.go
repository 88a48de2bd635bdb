package rootproto

import (
	"net"
	"syscall"
)

const credSize = syscall.SizeofUcred

func parseCred(m *syscall.SocketControlMessage) (*Cred, bool) {
	if m.Header.Type != syscall.SCM_CREDENTIALS {
		return nil, false
	}
	u, err := syscall.ParseUnixCredentials(m)
	if err != nil {
		return nil, false
	}
	return &Cred{PID: int(u.Pid), UID: int(u.Uid), GID: int(u.Gid)}, true
}

// PassCred makes messages from c carry the credentials of their sender
// (SO_PASSCRED), who may differ from the user that connected: a collector
// connects as root and then becomes another user.
func PassCred(c *net.UnixConn) error {
	return control(c, func(fd int) error {
		return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_PASSCRED, 1)
	})
}

// PeerCred returns the credentials of the process that made the connection c
// (SO_PEERCRED).
func PeerCred(c *net.UnixConn) (Cred, error) {
	var u *syscall.Ucred
	err := control(c, func(fd int) (err error) {
		u, err = syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		return err
	})
	if err != nil {
		return Cred{}, err
	}
	return Cred{PID: int(u.Pid), UID: int(u.Uid), GID: int(u.Gid)}, nil
}

func control(c *net.UnixConn, fn func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = fn(int(fd)) }); err != nil {
		return err
	}
	return inner
}
