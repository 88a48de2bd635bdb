// Package processes asks about other processes, and starts them apart from this one.
//
//	if !processes.Exists(pid) {
//		os.Remove(pidFile) // its process was killed
//	}
package processes
