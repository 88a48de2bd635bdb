// Package sockets is the agent for single TCP and UDP sockets: their addresses and states,
// queues, memory, timers, and TCP's measurements of each connection.
//
//	a, err := sockets.New(sockets.Config{})
//
// It asks the kernel through netlink (sock_diag(7)), as ss(8) does, for each request. An
// instance is the protocol and the address of this side, such as "tcp/127.0.0.1:22". Sockets
// can share these, as a listener and the connections that it accepted do; one instance then
// has the values of the last that the kernel listed. The numbers of instances that have gone
// are kept for ten minutes.
//
// A filter selects the sockets that are reported, in the language of ss(8); see
// [ParseFilter].
package sockets
