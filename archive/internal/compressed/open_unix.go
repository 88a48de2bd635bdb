//go:build unix

package compressed

import "syscall"

// nonBlock has an open return at once where it would wait for a peer.
const nonBlock = syscall.O_NONBLOCK
