//go:build unix

package sendsignal

import (
	"fmt"
	"syscall"
)

// kill sends a signal to a process.
func kill(pid int, name string) error {
	switch name {
	case "HUP":
		return syscall.Kill(pid, syscall.SIGHUP)
	case "USR1":
		return syscall.Kill(pid, syscall.SIGUSR1)
	case "USR2":
		return syscall.Kill(pid, syscall.SIGUSR2)
	case "TERM":
		return syscall.Kill(pid, syscall.SIGTERM)
	case "KILL":
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Errorf("signal %s is not known", name)
}
