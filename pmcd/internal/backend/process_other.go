//go:build !unix

package backend

import (
	"os"
	"syscall"
)

func agentProcAttr() *syscall.SysProcAttr { return nil }

// readable returns false: this system cannot check whether a connection has
// something to read.
func readable(syscall.Conn) bool { return false }

// endingOf returns how a process ended.
func endingOf(state *os.ProcessState) ending {
	if state == nil {
		return ending{}
	}
	return ending{exited: true, code: state.ExitCode()}
}

func (c child) interrupt() { c.cmd.Process.Signal(os.Interrupt) }
