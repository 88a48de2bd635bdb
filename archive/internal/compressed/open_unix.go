//go:build unix

package compressed

import "syscall"

// nonBlock makes an open return at once instead of waiting for a peer.
const nonBlock = syscall.O_NONBLOCK
