//go:build !linux

package pmcd

import "net"

// tcpConfig has connections probed after a while of silence, as is the default.
func tcpConfig() net.ListenConfig { return net.ListenConfig{} }
