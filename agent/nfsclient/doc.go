// Package nfsclient is the agent for mounted NFS file systems: what the kernel says of each in
// /proc/self/mountstats, such as options, bytes, transport, and how often and for how
// long each operation was asked of the server.
//
//	a, err := nfsclient.New(nfsclient.Config{})
//
// An instance is a mount point, as the kernel writes it: a blank is \040. Where two file systems
// are mounted on the same directory, the later one counts. On a machine
// without NFS there are no instances.
package nfsclient
