package oracle

import "syscall"

// ownGroup has a process lead its own group and end with the test.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// EndsWith has a process get sig when the test's process ends.
func EndsWith(sig syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: sig} }
