// Package peercred returns the kernel's credentials of the process at the other
// end of a connection.
package peercred

// A Cred identifies the process at the other end of a Unix socket.
type Cred struct{ PID, UID, GID int }
