package pmcd

import (
	"net"
	"syscall"
)

// tcpConfig has connections probed after a while of silence, so that clients
// whose host is gone go too. Linux has them inherit that from the listener,
// which saves four system calls for each that comes.
func tcpConfig() net.ListenConfig {
	return net.ListenConfig{
		KeepAlive: -1, // not for each connection
		Control: func(_, _ string, raw syscall.RawConn) (err error) {
			set := func(fd uintptr) {
				for _, option := range []struct{ level, name, value int }{
					{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
					{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15}, // seconds, as package net has them
					{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 15},
					{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 9},
				} {
					if err = syscall.SetsockoptInt(int(fd), option.level, option.name, option.value); err != nil {
						return
					}
				}
			}
			if cerr := raw.Control(set); cerr != nil {
				return cerr
			}
			return err
		},
	}
}
