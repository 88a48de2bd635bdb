package oracle

import "syscall"

// ownGroup has a process lead a group of its own and end with the test.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
