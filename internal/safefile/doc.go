// Package safefile creates, replaces and opens files in directories that other
// users may write to, for a process with more rights than theirs.
//
// A daemon that root starts writes below directories that PCP's user owns. There
// a name may be a symbolic link to a file of the system, a device, or a FIFO
// without a reader. So every function here
//
//   - follows a symbolic link, at the end of a path or within, only where
//     only root and the process's user can have put it;
//   - works below the directory that it opened, even if the path has changed by
//     then;
//   - creates with O_EXCL, or replaces a name in one step, and gives a file its
//     mode and owner before the name appears;
//   - never waits for a FIFO.
//
// A directory is trusted if root or the process's user owns it and no other user
// may write to it. A link is followed if its directory is trusted, or root or
// the process's user owns the link.
package safefile
