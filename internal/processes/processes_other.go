//go:build !unix

package processes

import "syscall"

// Exists returns true for each positive number.
func Exists(pid int) bool { return pid > 0 }

// Apart returns nil: there are no sessions.
func Apart() *syscall.SysProcAttr { return nil }
