//go:build !unix

package control

import "net"

// queue does nothing: the system's length of the queue stays.
func queue(net.Listener, int) {}

// alive takes every process for one that exists.
func alive(int) bool { return true }
