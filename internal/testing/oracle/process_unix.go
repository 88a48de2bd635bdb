//go:build unix

package oracle

import (
	"os"
	"syscall"
)

// pause stops a process where it is.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// resume lets a stopped process continue.
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// killGroup kills the process group that pid leads.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// lockFile locks f until it is closed, or fails at once.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
