// Package nfsclient is the agent for mounted NFS file systems. It serves the values of
// /proc/self/mountstats for each of them: options, bytes, transport, and the number and
// duration of each operation.
//
//	a, err := nfsclient.New(nfsclient.Config{})
//
// An instance is a mount point, as the kernel writes it: a blank is \040. Where two file systems
// are mounted on the same directory, the later one counts. On a machine
// without NFS there are no instances.
package nfsclient
