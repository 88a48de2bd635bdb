//go:build !unix

package pmcd

import (
	"os"
	"syscall"
)

func agentProcAttr() *syscall.SysProcAttr { return nil }

// readable would tell whether a connection has something to read, which cannot
// be asked here.
func readable(syscall.Conn) bool { return false }

// endingOf says how a process ended.
func endingOf(state *os.ProcessState) ending {
	if state == nil {
		return ending{}
	}
	return ending{exited: true, code: state.ExitCode()}
}

func (c child) interrupt() { c.cmd.Process.Signal(os.Interrupt) }
