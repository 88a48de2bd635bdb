package sockets

import (
	"fmt"
	"syscall"
)

// A kernel lists sockets through netlink.
type kernel struct {
	buf []byte
	req []byte
}

// receiveBuffer holds the largest message that the kernel makes, of 32 KiB.
const receiveBuffer = 64 << 10

// netlinkSockDiag is NETLINK_SOCK_DIAG.
const netlinkSockDiag = 4

// dump calls fn for each socket. Its argument is valid until fn returns.
func (k *kernel) dump(family, protocol uint8, states uint32, fn func(msg []byte) error) error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return fmt.Errorf("netlink: socket: %w", err)
	}
	defer syscall.Close(fd)
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: 5}); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	k.req = request(k.req[:0], family, protocol, states)
	if _, err := syscall.Write(fd, k.req); err != nil {
		return fmt.Errorf("netlink: send: %w", err)
	}
	if k.buf == nil {
		k.buf = make([]byte, receiveBuffer)
	}
	for {
		n, err := syscall.Read(fd, k.buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("netlink: receive: %w", err)
		}
		done, err := messages(k.buf[:n], fn)
		if err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		if done || n == 0 {
			return nil
		}
	}
}
